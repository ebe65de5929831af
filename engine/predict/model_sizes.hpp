// What must be known of a model to plan the memory of a prediction, before the model itself is loaded.
#pragma once

#include <blco/model.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/ingest/input/open_input.hpp"

namespace blco {

struct ModelSizes {
  std::uint64_t bytes = 0;         // of the whole model in memory
  std::vector<LabelSizes> labels;  // one per mode
};

ModelSizes sizes_of(const CpdModel& model);

// Of a model's file: reads no factors and no labels. Throws Error as load_model() does.
ModelSizes read_model_sizes(const std::filesystem::path& file);

// Per mode, "mode0" and so on where the model has no names.
std::vector<std::string> names_of_modes(std::vector<std::string> names, std::size_t order);

}  // namespace blco
