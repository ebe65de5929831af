// A BLCO container on disk, opened for reading.
#pragma once

#include <blco/error.hpp>
#include <blco/tensor.hpp>
#include <filesystem>

namespace blco {

class ContainerReader;

class TensorFile final : public Tensor {
 public:
  // Reads and checks the metadata. Throws Error: io if it cannot be read, invalid_argument if it is no BLCO
  // container, corrupt if it is damaged.
  explicit TensorFile(const std::filesystem::path& path);

  // For the library itself.
  const ContainerReader& reader() const;
};

}  // namespace blco
