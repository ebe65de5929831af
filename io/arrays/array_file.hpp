// Writes arrays of doubles as files that other programs read: NumPy's .npy, or text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

namespace blco {

// Write row-major `values`; their number is the product of `extents` (1 or 2 of them). Errors name `shown`, because
// `path` may be a temporary file. Throw Error{io}, also on a full disk.
void write_npy(const std::filesystem::path& path, const std::filesystem::path& shown,
               std::span<const std::uint64_t> extents, std::span<const double> values);

// One row per line, blanks between; every number in the shortest form that reads back as the same double.
void write_text_array(const std::filesystem::path& path, const std::filesystem::path& shown,
                      std::span<const std::uint64_t> extents, std::span<const double> values);

}  // namespace blco
