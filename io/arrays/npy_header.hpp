// The header of a NumPy array file (.npy): type, order and shape of its numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace blco {

inline constexpr std::size_t npy_prefix_bytes = 12;  // at least as many as magic, version and length take
inline constexpr std::size_t max_npy_header_bytes = std::size_t{1} << 20;

struct NpyHeader {
  std::string descr;  // such as "<i8"
  bool is_fortran_order = false;
  std::vector<std::uint64_t> shape;
};

// Offset of the numbers in the file, found in its first npy_prefix_bytes. Here and below: throws
// Error{invalid_argument} for anything but an array file; the caller adds the place.
std::size_t npy_data_offset(std::string_view prefix);

// Parses the header's dictionary, as numpy.lib.format describes it. Refuses structured types, whose descr is not a
// string.
NpyHeader parse_npy_header(std::string_view dictionary);

}  // namespace blco
