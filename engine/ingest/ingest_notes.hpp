// What is to be said of the modes of a tensor when it has been made.
#pragma once

#include <blco/ingest.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "blco/labels.hpp"
#include "io/coordinate_reader.hpp"

namespace blco {

// Modes without labels most of whose indices have no entry: a model has a row for each.
std::vector<std::string> notes_on_empty_modes(const std::vector<std::uint64_t>& shape,
                                              const std::vector<std::string>& names, const std::vector<Labels>& labels,
                                              std::uint64_t entries);

// Modes of which a model may say little, or that are not what was asked for.
void report_modes(const std::vector<KeyedMode>& modes, IngestReport& report);

}  // namespace blco
