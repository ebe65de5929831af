// Converts the metadata of chunks to the public summary.
#include <algorithm>
#include <blco/tensor.hpp>
#include <blco/tensor_file.hpp>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "blco/layout.hpp"
#include "blco/refuse.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "io/container/chunk_source.hpp"
#include "io/container/container_reader.hpp"

namespace blco {
namespace {

// Sizes of all chunks.
template <class Columns>
void add_sizes(const ChunkSource& chunks, Columns& to) {
  for (std::uint64_t chunk = 0; chunk < chunks.info().chunk_count(); ++chunk) {
    const StoredExtents& extents = chunks.extents(chunk);
    const auto add = [&](TensorColumn& column, Column which) {
      column.stored_bytes += extents[static_cast<std::size_t>(which)].stored_bytes;
      column.streamed_bytes += extents[static_cast<std::size_t>(which)].payload_bytes;
    };
    add(to.index, Column::index);
    add(to.high_word, Column::high_word);
    add(to.value, Column::value);
  }
}

// The mode whose bits are the lowest ones, all of them; not that of the order.
std::optional<std::uint64_t> lowest_mode(const BitModes& bits) {
  const std::uint8_t mode = bits.front();
  const auto count = std::ranges::count(bits, mode);
  const bool together = std::all_of(bits.begin(), bits.begin() + count, [&](std::uint8_t of) { return of == mode; });
  return together && mode != bits.back() ? std::optional<std::uint64_t>(mode) : std::nullopt;
}

TensorSummary summarize(const ChunkSource& chunks) {
  const ContainerInfo& info = chunks.info();
  TensorSummary summary;
  summary.shape = info.shape;
  summary.mode_names = info.mode_names;
  summary.value_name = info.value_name;
  summary.reading = info.reading;
  for (const ReorderedMode& reordered : info.reordered) summary.reordered_modes.push_back(reordered.mode);
  summary.nnz = info.nnz;
  summary.line_bits = TensorLayout(info.shape).line_bits();
  summary.chunk_nnz = info.chunk_nnz;
  summary.chunk_count = info.chunk_count();
  summary.sum_of_squares = info.sum_of_squares;
  summary.file_bytes = chunks.file_bytes();
  if (summary.file_bytes > 0) summary.file = chunks.name();
  const std::vector<std::uint64_t> label_bytes = chunks.label_bytes();
  if (std::ranges::any_of(label_bytes, [](std::uint64_t bytes) { return bytes > 0; })) {
    summary.label_bytes = label_bytes;
  }
  add_sizes(chunks, summary);
  for (std::uint64_t mode = 0; mode < info.shape.size(); ++mode) {
    const ChunkSource* const copy = chunks.ordered_copy(mode);
    if (copy == nullptr) continue;
    OrderedCopy& of_mode = summary.copies.emplace_back();
    of_mode.mode = mode;
    of_mode.along = lowest_mode(copy->info().bit_modes);
    add_sizes(*copy, of_mode);
  }
  return summary;
}

}  // namespace

Tensor::Tensor(std::unique_ptr<ChunkSource> chunks) : chunks_(std::move(chunks)), summary_(summarize(*chunks_)) {}

const TensorSummary& Tensor::summary() const {
  if (!chunks_) refuse("the tensor has been moved from and holds nothing; use the one that it went to");
  return summary_;
}

std::vector<Labels> Tensor::labels() const { return TensorChunks::of(*this).labels(); }
Tensor::~Tensor() = default;
Tensor::Tensor(Tensor&&) noexcept = default;
Tensor& Tensor::operator=(Tensor&&) noexcept = default;

std::size_t find_mode(const TensorSummary& tensor, const std::string& word) {
  std::string list;
  for (std::size_t n = 0; n < tensor.shape.size(); ++n) {
    const std::string name = n < tensor.mode_names.size() ? tensor.mode_names[n] : "";
    if (!name.empty() && name == word) return n;
    list += (list.empty() ? "" : ", ") + std::to_string(n) + (name.empty() ? "" : " (" + name + ")");
  }
  std::size_t number = 0;
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (failure == std::errc() && end == word.data() + word.size() && number < tensor.shape.size()) return number;
  // "when:day" of a table is a mode called "when", unless another mode is made of that column too.
  for (std::string name = word; name.find(':') != std::string::npos;) {
    name.resize(name.rfind(':'));
    const auto mode = std::ranges::find(tensor.mode_names, name);
    if (!name.empty() && mode != tensor.mode_names.end())
      return static_cast<std::size_t>(mode - tensor.mode_names.begin());
  }
  refuse("'" + word + "' is not a mode of the tensor; its modes are " + list);
}

TensorFile::TensorFile(const std::filesystem::path& path) : Tensor(std::make_unique<ContainerReader>(path)) {}

}  // namespace blco
