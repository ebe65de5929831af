// Arrays of doubles as files that other programs read: NumPy's .npy, or text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

namespace blco {

// `extents` (1 or 2 of them) multiply to the number of values, which are row-major. `shown` is the name that errors
// bear where `path` is a temporary one. Throw Error{io}, a full disk included.
void write_npy(const std::filesystem::path& path, const std::filesystem::path& shown,
               std::span<const std::uint64_t> extents, std::span<const double> values);

// A row a line, blanks between; every number in the shortest form that reads back as the same double.
void write_text_array(const std::filesystem::path& path, const std::filesystem::path& shown,
                      std::span<const std::uint64_t> extents, std::span<const double> values);

}  // namespace blco
