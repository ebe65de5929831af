#include "engine/fit/methods/sampled_zeros.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "engine/tensor/frame_reader.hpp"
#include "engine/tensor/nonzero_reader.hpp"

namespace blco {

SampledZeros::SampledZeros(const ChunkSource& tensor, WorkerGroup& workers, std::uint64_t count)
    : layout_(tensor.info().shape), workers_(&workers), packed_(tensor, workers, count), count_(count) {}

void SampledZeros::draw(const RandomStream& random, const IndexCounts& counts) {
  std::array<std::uint64_t, max_order> coordinates{};
  const auto order = static_cast<std::size_t>(layout_.order());
  samples_.resize(count_);
  std::uint64_t at = 0;
  for (PackedCell& sample : samples_) {
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
  packed_.pack(samples_);
}

void SampledZeros::take_all() {
  std::array<std::uint64_t, max_order> coordinates{};
  const auto order = static_cast<std::size_t>(layout_.order());
  samples_.resize(count_);
  for (PackedCell& sample : samples_) {
    sample = {.line = layout_.linearize(std::span(coordinates).first(order)), .value = 1};
    for (std::size_t n = 0; n < order && ++coordinates[n] == layout_.shape()[n]; ++n) coordinates[n] = 0;
  }
  packed_.pack(samples_);
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
  packed_.pack(samples_);
}

void SampledZeros::add_to_pass(const Loss& loss, double scale, ModeSet outputs) {
  packed_.continue_pass({.rule = EntryRule::zero, .loss = loss, .scale = scale}, outputs);
}

}  // namespace blco
