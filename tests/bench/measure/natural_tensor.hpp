// A tensor decoded to coordinates: what formats of others are built from.
#pragma once

#include <blco/tensor.hpp>
#include <cstdint>
#include <vector>

#include "blco/executor.hpp"
#include "tests/bench/rivals/rival.hpp"

namespace blco {

// The tensor's own indices, in natural order: sorted by mode 0, then mode 1, and so on, as files mostly are.
struct NaturalTensor {
  std::vector<std::uint64_t> shape;
  std::vector<std::vector<std::uint32_t>> coordinates;  // per mode
  std::vector<double> values;

  // Points into this.
  RivalTensor view() const;
};

// Memory of a NaturalTensor while it is made.
std::uint64_t natural_bytes(std::uint64_t order, std::uint64_t nnz);

// Reads all chunks. Requires fewer than 2^32 nonzeros, and modes of up to 2^32. Throws Error: io, corrupt.
NaturalTensor read_natural(const Tensor& tensor, Executor& executor);

}  // namespace blco
