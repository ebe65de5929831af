// A Tucker model as what is written of it, and back; numbers and labels are moved.
#pragma once

#include <blco/tucker.hpp>

#include "io/container/tucker_file.hpp"

namespace blco {

TuckerFile to_file(TuckerModel model);
TuckerModel to_model(TuckerFile file);

}  // namespace blco
