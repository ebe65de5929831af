// Opens a container as a tensor.
#include <blco/tensor_file.hpp>
#include <memory>

#include "io/container/container_reader.hpp"

namespace blco {

TensorFile::TensorFile(const std::filesystem::path& path) : Tensor(std::make_unique<ContainerReader>(path)) {}

// Safe: no other constructor sets the chunks, and a handle is only assigned from its own type.
const ContainerReader& TensorFile::reader() const { return static_cast<const ContainerReader&>(chunks()); }

}  // namespace blco
