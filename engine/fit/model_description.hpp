// A model's file header, for writers that keep the factors elsewhere.
#pragma once

#include <blco/model.hpp>

#include "io/container/model_file.hpp"

namespace blco {

ModelFile describe_model(const CpdModel& model);

}  // namespace blco
