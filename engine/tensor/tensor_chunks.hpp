// The chunks behind a tensor, which the library sees and its users do not.
#pragma once

#include <blco/tensor.hpp>

#include "io/container/chunk_source.hpp"

namespace blco {

struct TensorChunks {
  // Throws as summary() does.
  static const ChunkSource& of(const Tensor& tensor) {
    static_cast<void>(tensor.summary());
    return *tensor.chunks_;
  }
};

}  // namespace blco
