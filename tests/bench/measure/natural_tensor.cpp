#include "tests/bench/measure/natural_tensor.hpp"

#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "blco/error.hpp"
#include "engine/tensor/frame_reader.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "io/container/chunk_source.hpp"
#include "kernels/aligned_buffer.hpp"
#include "tests/bench/rivals/natural_sort.hpp"

namespace blco {
namespace {

class Decoder {
 public:
  explicit Decoder(const Tensor& tensor) : chunks_(TensorChunks::of(tensor)), layout_(tensor.summary().shape) {
    result_.shape = tensor.summary().shape;
    result_.coordinates.resize(result_.shape.size());
    for (std::size_t n = 0; n < result_.shape.size(); ++n) originals_.push_back(chunks_.reordering(n));
    for (auto& of_mode : result_.coordinates) of_mode.reserve(tensor.summary().nnz);
    result_.values.reserve(tensor.summary().nnz);
  }

  NaturalTensor decode() {
    for (std::uint64_t chunk = 0; chunk < chunks_.info().chunk_count(); ++chunk) {
      AlignedBuffer<std::byte> buffer(chunks_.buffer_bytes(chunk));
      std::vector<std::byte> scratch(chunks_.scratch_bytes(chunk));
      add_chunk(chunks_.read_chunk(chunk, buffer.span(), scratch));
    }
    return std::move(result_);
  }

 private:
  void add_chunk(const ChunkView& chunk) {
    FrameReader reader(chunk);
    FrameColumn column;
    for (std::uint64_t frame = 0; frame < reader.frames(); ++frame) {
      reader.read_lines(frame);
      reader.read_values(frame);
      const std::size_t entries = reader.entries(frame);
      for (std::size_t n = 0; n < result_.shape.size(); ++n) {
        reader.coordinates(layout_.mode(static_cast<int>(n)), entries, column);
        for (std::size_t i = 0; i < entries; ++i) add_coordinate(n, column[i], chunk.number);
      }
      result_.values.insert(result_.values.end(), reader.values.begin(),
                            reader.values.begin() + static_cast<std::ptrdiff_t>(entries));
    }
  }

  void add_coordinate(std::size_t mode, std::uint64_t stored, std::uint64_t chunk) {
    if (stored >= result_.shape[mode]) {
      throw Error(ErrorKind::corrupt, "chunk " + std::to_string(chunk) + " has coordinates outside the shape");
    }
    const std::uint64_t own = originals_[mode].empty() ? stored : originals_[mode][stored];
    result_.coordinates[mode].push_back(static_cast<std::uint32_t>(own));
  }

  const ChunkSource& chunks_;
  TensorLayout layout_;
  std::vector<std::vector<std::uint32_t>> originals_;  // per mode; empty: stored indices are the tensor's own
  NaturalTensor result_;
};

template <class Number>
void reorder(std::span<const std::uint32_t> order, std::vector<Number>& numbers) {
  std::vector<Number> sorted(numbers.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) sorted[i] = numbers[order[i]];
  numbers = std::move(sorted);
}

}  // namespace

RivalTensor NaturalTensor::view() const {
  RivalTensor tensor{shape, {}, values};
  for (const auto& of_mode : coordinates) tensor.coordinates.emplace_back(of_mode);
  return tensor;
}

std::uint64_t natural_bytes(std::uint64_t order, std::uint64_t nnz) {
  const std::uint64_t sorting = 2 * sizeof(std::uint32_t) + sizeof(double);
  return nnz * (order * sizeof(std::uint32_t) + sizeof(double) + sorting);
}

NaturalTensor read_natural(const Tensor& tensor, Executor& executor) {
  NaturalTensor natural = Decoder(tensor).decode();
  std::vector<int> modes(natural.shape.size());
  std::iota(modes.begin(), modes.end(), 0);
  const std::vector<std::uint32_t> order = sorted_by(natural.view(), modes, executor);
  for (auto& of_mode : natural.coordinates) reorder(std::span(order), of_mode);
  reorder(std::span(order), natural.values);
  return natural;
}

}  // namespace blco
