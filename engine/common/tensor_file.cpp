// A container as a tensor.
#include <blco/tensor_file.hpp>
#include <memory>

#include "io/container/container_reader.hpp"

namespace blco {

TensorFile::TensorFile(const std::filesystem::path& path) : Tensor(std::make_unique<ContainerReader>(path)) {}

// No other constructor gives chunks, and a handle is assigned from one of its own kind only.
const ContainerReader& TensorFile::reader() const { return static_cast<const ContainerReader&>(chunks()); }

}  // namespace blco
