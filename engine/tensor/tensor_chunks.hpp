// The chunks behind a tensor, which the library sees and its users do not.
#pragma once

#include <blco/tensor.hpp>
#include <filesystem>
#include <initializer_list>

#include "io/container/chunk_source.hpp"

namespace blco {

struct TensorChunks {
  static const ChunkSource& of(const Tensor& tensor) { return *tensor.chunks_; }
};

// Throws Error{invalid_argument} if one of these outputs is the tensor's own file, which it would replace.
void refuse_own_file(const Tensor& tensor, std::initializer_list<std::filesystem::path> outputs);

}  // namespace blco
