// Writes the factor of a mode as a table (CSV).
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "blco/labels.hpp"

namespace blco {

struct FactorTable {
  std::string_view name;  // of the mode; empty: "index"
  const Labels& labels;   // of the rows; empty: their coordinates
  int index_base = 1;     // of these coordinates
  std::uint64_t rank = 0;
  std::span<const double> factor;  // row-major I x rank
  std::string_view column = "component_";
};

// The header has the mode's name, with underscores appended if a column has that name, then component_0,
// component_1, ... or the like by `column`. A row has the label or the coordinate, then the numbers, each in the
// shortest form that reads back as the same double. Fields are quoted where needed (RFC 4180), and lines end in LF.
// Errors name `shown`, because `path` may be a temporary file. Takes less than 1 MiB of memory. Throws Error{io}, also
// on a full disk.
void write_factor_table(const std::filesystem::path& path, const std::filesystem::path& shown,
                        const FactorTable& table);

}  // namespace blco
