// A BLCO container on disk, opened for reading.
#pragma once

#include <blco/error.hpp>
#include <blco/tensor.hpp>
#include <filesystem>

namespace blco {

class ContainerReader;

class TensorFile final : public Tensor {
 public:
  // Reads and checks the metadata. Throws Error: io (cannot be read), invalid_argument (not a BLCO container), corrupt
  // (damaged).
  explicit TensorFile(const std::filesystem::path& path);

  // Internal: for the library only.
  const ContainerReader& reader() const;
};

}  // namespace blco
