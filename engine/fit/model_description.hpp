// A model's file without its factors, for writers that have them elsewhere.
#pragma once

#include <blco/model.hpp>

#include "io/container/model_file.hpp"

namespace blco {

ModelFile describe_model(const CpdModel& model);

}  // namespace blco
