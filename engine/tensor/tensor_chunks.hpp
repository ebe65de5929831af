// The chunks behind a tensor, which the library sees and its users do not.
#pragma once

#include <blco/tensor.hpp>

#include "io/container/chunk_source.hpp"

namespace blco {

struct TensorChunks {
  static const ChunkSource& of(const Tensor& tensor) { return *tensor.chunks_; }
};

}  // namespace blco
