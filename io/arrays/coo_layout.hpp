// Which arrays of a file are the coordinates and the values of a tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "io/arrays/coo_source.hpp"
#include "io/arrays/number_type.hpp"

namespace blco {

// Arrays by name: a NumPy archive, or a group of an HDF5 file.
class NamedArrays {
 public:
  virtual ~NamedArrays() = default;

  // The file, and the group in it, for messages.
  virtual std::string place() const = 0;
  virtual bool has(const std::string& name) const = 0;

  // Throws Error{invalid_argument} for numbers that are of no NumberType.
  struct Description {
    std::vector<std::uint64_t> extents;
    NumberType type;
  };
  virtual Description describe(const std::string& name) = 0;

  // All numbers of an array that is known to be small, in order.
  virtual std::vector<std::byte> read_small(const std::string& name) = 0;
};

struct CooLayout {
  std::vector<CooPart> parts;  // one per array; is_entry_major says how a matrix of coordinates lies: nnz x order
  std::vector<std::uint64_t> shape;
  std::uint64_t entry_count = 0;
};

// The values are the array "values" or "data". The coordinates, from 0, are a matrix "coords" or "indices", nnz x order
// or order x nnz, told apart by the number of values (where both fit, "coords" is order x nnz, as in pydata/sparse, and
// "indices" nnz x order); or one list per mode: "row" and "col", or "0", "1", ... behind "coords/", "indices/",
// "coords_", "indices_" or "mode". "shape" and "fill_value" (only 0) may be there too. Throws
// Error{invalid_argument} where that is not so, with what to do: compressed rows, other types, lengths that disagree.
CooLayout find_coo_layout(NamedArrays& arrays);

}  // namespace blco
