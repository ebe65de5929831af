// A container's metadata in the public form.
#include <blco/tensor_file.hpp>

#include "blco/layout.hpp"
#include "io/container_reader.hpp"

namespace blco {
namespace {

TensorSummary summarize(const ContainerReader& reader) {
  const ContainerInfo& info = reader.info();
  TensorSummary summary;
  summary.shape = info.shape;
  summary.mode_names = info.mode_names;
  summary.nnz = info.nnz;
  summary.line_bits = TensorLayout(info.shape).line_bits();
  summary.chunk_nnz = info.chunk_nnz;
  summary.chunk_count = info.chunk_count();
  summary.sum_of_squares = info.sum_of_squares;
  summary.file_bytes = reader.file_bytes();
  for (std::uint64_t chunk = 0; chunk < info.chunk_count(); ++chunk) {
    const StoredExtents& extents = reader.extents(chunk);
    const auto add = [&](TensorColumn& column, Column which) {
      column.stored_bytes += extents[static_cast<std::size_t>(which)].stored_bytes;
      column.streamed_bytes += extents[static_cast<std::size_t>(which)].payload_bytes;
    };
    add(summary.index, Column::index);
    add(summary.key, Column::key);
    add(summary.value, Column::value);
  }
  return summary;
}

}  // namespace

TensorFile::TensorFile(const std::filesystem::path& path)
    : reader_(std::make_unique<ContainerReader>(path)), summary_(summarize(*reader_)) {}
TensorFile::~TensorFile() = default;
TensorFile::TensorFile(TensorFile&&) noexcept = default;
TensorFile& TensorFile::operator=(TensorFile&&) noexcept = default;

const TensorSummary& TensorFile::summary() const { return summary_; }
const ContainerReader& TensorFile::reader() const { return *reader_; }

}  // namespace blco
