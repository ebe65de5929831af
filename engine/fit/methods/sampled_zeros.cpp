#include "engine/fit/methods/sampled_zeros.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "blco/payload.hpp"
#include "engine/tensor/frame_reader.hpp"
#include "engine/tensor/nonzero_reader.hpp"
#include "engine/tensor/tensor_sizes.hpp"

namespace blco {
namespace {

constexpr std::uint64_t buffer_alignment = 64;

std::uint64_t slots_of(const TensorLayout& layout, std::uint64_t nnz) {
  return (layout.has_high_word() ? 3 : 2) * payload_slot_bytes(max_payload_bytes(nnz));
}

// Random coordinates pack worse than those of a tensor, and a device has room for the tensor's chunks only.
std::uint64_t nnz_of_piece(const ChunkSource& tensor, const TensorLayout& layout) {
  const TensorSizes sizes = measure_tensor(tensor);
  std::uint64_t frames = 1;
  std::uint64_t too_many = tensor.info().chunk_nnz / frame_entries + 1;
  while (frames + 1 < too_many) {
    const std::uint64_t middle = (frames + too_many) / 2;
    (slots_of(layout, middle * frame_entries) <= sizes.largest_buffer() ? frames : too_many) = middle;
  }
  return frames * frame_entries;
}

std::uint64_t buffer_bytes(const TensorLayout& layout, std::uint64_t count, std::uint64_t piece_nnz) {
  return count / piece_nnz * slots_of(layout, piece_nnz) + slots_of(layout, count % piece_nnz) + buffer_alignment;
}

}  // namespace

SampledZeros::SampledZeros(const ChunkSource& tensor, WorkerGroup& workers, std::uint64_t count)
    : layout_(tensor.info().shape), workers_(&workers), count_(count), piece_nnz_(nnz_of_piece(tensor, layout_)) {
  buffer_ = workers.allocate_host(buffer_bytes(layout_, count, piece_nnz_));
}

std::uint64_t SampledZeros::least_slot_bytes(const TensorLayout& layout) { return slots_of(layout, frame_entries); }

std::uint64_t SampledZeros::bytes(const TensorLayout& layout, std::uint64_t count) {
  return buffer_bytes(layout, count, frame_entries) + max_payload_bytes(count) +
         count * (sizeof(Sample) + sizeof(std::uint64_t) + sizeof(double)) +
         (count / frame_entries + 1) * sizeof(ChunkView);
}

void SampledZeros::draw(const RandomStream& random, const IndexCounts& counts) {
  std::array<std::uint64_t, max_order> coordinates{};
  const auto order = static_cast<std::size_t>(layout_.order());
  samples_.resize(count_);
  std::uint64_t at = 0;
  for (Sample& sample : samples_) {
    sample.value = 1;
    for (std::size_t n = 0; n < order; ++n) {
      const std::vector<double>& sums = counts[n];
      const std::uint64_t bits = random.bits(at++);
      std::uint64_t& index = coordinates[n];
      if (bits % 2 == 0) {
        index = (bits >> 1) % sums.size();
      } else {
        const double place = static_cast<double>(bits >> 11) * 0x1p-53 * sums.back();
        index = static_cast<std::uint64_t>(std::ranges::upper_bound(sums, place) - sums.begin());
      }
      const double share = (sums[index] - (index == 0 ? 0 : sums[index - 1])) / sums.back();
      sample.value *= 2 / (1 + share * static_cast<double>(sums.size()));
    }
    sample.line = layout_.linearize(std::span(coordinates).first(order));
  }
  pack();
}

void SampledZeros::take_all() {
  std::array<std::uint64_t, max_order> coordinates{};
  const auto order = static_cast<std::size_t>(layout_.order());
  samples_.resize(count_);
  for (Sample& sample : samples_) {
    sample = {.line = layout_.linearize(std::span(coordinates).first(order)), .value = 1};
    for (std::size_t n = 0; n < order && ++coordinates[n] == layout_.shape()[n]; ++n) coordinates[n] = 0;
  }
  pack();
}

void SampledZeros::leave_out_listed(const ChunkSource& tensor) {
  auto sample = samples_.begin();
  const auto pass_by = [&](const LineIndex& line) {
    while (sample != samples_.end() && sample->line < line) ++sample;
    for (; sample != samples_.end() && sample->line == line; ++sample) sample->value = 0;
  };
  ChunkWindow chunks(tensor, 1, workers_->executor());
  for (std::span<const ChunkView> next = chunks.next(); !next.empty(); next = chunks.next()) {
    FrameReader reader(next.front());
    for (std::uint64_t frame = 0; frame < reader.frames(); ++frame) {
      reader.read_lines(frame);
      for (std::size_t i = 0; i < reader.entries(frame); ++i) pass_by({.key = reader.keys[i], .low = reader.lows[i]});
    }
  }
  pack();
}

// Leaves the samples in the order of lines.
void SampledZeros::pack() {
  std::ranges::sort(samples_, {}, &Sample::line);
  pieces_.clear();
  used_ = 0;
  for (std::uint64_t first = 0; first < count_; first += piece_nnz_) {
    const std::span<const Sample> samples =
        std::span(samples_).subspan(first, static_cast<std::size_t>(std::min(piece_nnz_, count_ - first)));
    ChunkView piece;
    piece.nnz = samples.size();
    const auto pack_column = [&](Column column, std::uint64_t LineIndex::*word) {
      column_.resize(samples.size());
      std::ranges::transform(samples, column_.begin(), [&](const Sample& sample) { return sample.line.*word; });
      payload_ = encode_line_column(column_, std::move(payload_));
      piece.payload[static_cast<std::size_t>(column)] = store(payload_);
    };
    pack_column(Column::index, &LineIndex::low);
    if (layout_.has_high_word()) pack_column(Column::high_word, &LineIndex::key);
    values_.resize(samples.size());
    std::ranges::transform(samples, values_.begin(), &Sample::value);
    payload_ = encode_values(values_, std::move(payload_));
    if (!payload_.empty()) piece.payload[static_cast<std::size_t>(Column::value)] = store(payload_);
    pieces_.push_back(piece);
  }
}

std::span<const std::byte> SampledZeros::store(std::span<const std::byte> payload) {
  const std::span<std::byte> place = buffer_->bytes().subspan(used_, payload.size());
  std::ranges::copy(payload, place.begin());
  used_ += payload_slot_bytes(payload.size());
  return place;
}

void SampledZeros::add_to_pass(const Loss& loss, double scale, ModeSet outputs) {
  PassRequest request(EntryFunction{.rule = EntryRule::zero, .loss = loss, .scale = scale}, outputs);
  request.continues = true;
  workers_->pass_over(pieces_, request);
}

}  // namespace blco
