// The chunks behind a tensor, which the library sees and its users do not.
#pragma once

#include <blco/tensor.hpp>
#include <filesystem>
#include <vector>

#include "io/container/chunk_source.hpp"

namespace blco {

struct TensorChunks {
  static const ChunkSource& of(const Tensor& tensor) { return *tensor.chunks_; }
};

// Throws Error{invalid_argument} if one of the outputs is an input, which it would replace.
void refuse_inputs_as_outputs(const std::vector<std::filesystem::path>& inputs,
                              const std::vector<std::filesystem::path>& outputs);

}  // namespace blco
