// A model's file header, for writers that keep the factors elsewhere.
#pragma once

#include <blco/model.hpp>

#include "io/container/model_file.hpp"

namespace blco {

ModelFile describe_model(const CpdModel& model);
StopReason stop_reason_of(const ModelFile& file);
// As a model file has them: one per mode, empty where no mode has a constraint.
std::vector<std::string> to_strings(const std::vector<RowConstraint>& constraints);

}  // namespace blco
