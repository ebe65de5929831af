// Finds which arrays of a file hold the coordinates and the values of a tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "io/arrays/coo_source.hpp"

namespace blco {

inline constexpr std::uint64_t max_small_numbers = 64;

// Arrays found by name: those of a NumPy archive or of an HDF5 group.
class NamedArrays {
 public:
  virtual ~NamedArrays() = default;

  // File and group, for messages.
  virtual std::string place() const = 0;
  virtual bool has(const std::string& name) const = 0;

  // Throws Error{invalid_argument} if the numbers are of no NumberType.
  struct Description {
    std::vector<std::uint64_t> extents;
    NumberType type;
  };
  virtual Description describe(const std::string& name) = 0;

  // All numbers of an array, in order. Throws Error{invalid_argument} if there are more than max_small_numbers.
  virtual std::vector<std::byte> read_small(const std::string& name) = 0;
};

struct CooLayout {
  std::vector<CooPart> parts;  // one per array, that of values last; is_entry_major tells a matrix of nnz x order from
                               // one of order x nnz
  std::vector<std::uint64_t> shape;
  std::uint64_t entry_count = 0;
};

// Values: the array "values" or "data". Coordinates, from 0: a matrix "coords" or "indices", nnz x order or order x
// nnz, told apart by the number of values (where both fit, "coords" is order x nnz, as in pydata/sparse, and "indices"
// is nnz x order); or one list per mode, "row" and "col", or "0", "1", ... prefixed by "coords/", "indices/",
// "coords_", "indices_" or "mode". Optional: "shape", "fill_value" (only 0). Throws Error{invalid_argument} with a
// remedy for anything else: compressed rows, other types, lengths that disagree. With an `order` above 0 the values may
// be absent, and so many modes tell the extents of a matrix apart.
CooLayout find_coo_layout(NamedArrays& arrays, std::size_t order = 0);

}  // namespace blco
