// Splits tiles of decoded frames by owner, and hands them over in rounds.
#include "kernels/host/row_exchange.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "kernels/host/owner_split.hpp"

namespace blco {
namespace {

// Frames that a part splits per round: enough that starting a round is cheap by comparison, but with many threads no
// more than the L2 cache and the budget allow.
constexpr std::uint64_t frames_of_a_tile(int threads) { return threads <= 4 ? 128 : threads <= 16 ? 64 : 16; }

std::uint64_t tile_entries(int threads) { return frames_of_a_tile(threads) * frame_entries; }

// A whole frame may be read past the end of a segment.
constexpr std::uint64_t slack = frame_entries;

std::uint64_t without_lowest_bits(std::uint64_t mask, int count) {
  for (int i = 0; i < count; ++i) mask &= mask - 1;
  return mask;
}

}  // namespace

int bits_within_a_line(std::uint64_t row_bytes) {
  return static_cast<int>(std::bit_width(cache_line_bytes / std::min<std::uint64_t>(row_bytes, cache_line_bytes))) - 1;
}

RowExchange::RowExchange(const TensorLayout& layout, const FrameDecoder& decoder, Executor& executor,
                         const MemorySource& memory)
    : decoder_(decoder), executor_(executor), has_high_word_(layout.has_high_word()) {
  const int threads = executor.width();
  if (threads == 1) return;
  const std::uint64_t entries = tile_entries(threads) + slack;
  for (int i = 0; i < threads; ++i) {
    Part part;
    for (Tile& tile : part.tiles) {
      tile.entries = DecodedChunk(entries, has_high_word_, true, memory);
      tile.segments = memory.vector<Segment>(static_cast<std::uint64_t>(threads));
    }
    part.staged = DecodedChunk(entries, has_high_word_, true, memory);
    part.owners = memory.vector<std::uint16_t>(tile_entries(threads));
    parts_.push_back(std::move(part));
  }
}

std::uint64_t RowExchange::frames_of_a_round(int threads) {
  return static_cast<std::uint64_t>(threads) * frames_of_a_tile(threads);
}

void RowExchange::run(const FrameSource& source, FrameRange frames, int mode, int ignored_bits,
                      std::span<FrameRing> rings, const Add& add) {
  const std::uint64_t round_frames = frames_of_a_round(executor_.width());
  const Job job{source,
                frames,
                mode,
                ignored_bits,
                without_lowest_bits(decoder_.row_mask(mode), ignored_bits),
                source.has_values(),
                (frames.count() + round_frames - 1) / round_frames};
  for (std::uint64_t round = 0; round <= job.rounds; ++round) {
    executor_.run(parts_.size(), [&](std::size_t part) {
      if (round > 0) add_owned(job, round - 1, part, add);
      if (round < job.rounds) split(job, round, part, rings[part]);
    });
  }
}

void RowExchange::split(const Job& job, std::uint64_t round, std::size_t number, FrameRing& ring) {
  const FrameRange frames = job.frames.cut(round, job.rounds).cut(number, parts_.size());
  Part& part = parts_[number];
  Tile& tile = part.tiles[round % 2];
  const auto owners = static_cast<std::uint32_t>(parts_.size());
  for (Segment& segment : tile.segments) segment = {};
  std::size_t staged = 0;
  for (std::uint64_t frame = frames.first; frame < frames.end; ++frame) {
    const auto count = static_cast<std::size_t>(job.source.entries_of(frame));
    std::uint64_t* indices = part.staged.indices.data() + staged;
    std::uint16_t* to = part.owners.data() + staged;
    decoder_.decode_bits(job.source, frame, ring, indices, has_high_word_ ? part.staged.keys.data() + staged : nullptr,
                         job.has_values ? part.staged.values.data() + staged : nullptr);
    if (decoder_.decodes_to_lines()) {
      find_owners(indices, count, job.mask, owners, to);
    } else {
      find_owners(ring.rows(job.mode) + frame % 2 * frame_entries, count, job.ignored_bits, owners, to);
    }
    for (std::size_t i = 0; i < count; ++i) ++tile.segments[to[i]].count;
    staged += count;
  }
  std::size_t begin = 0;
  for (Segment& segment : tile.segments) {
    segment.begin = begin;
    begin += segment.count;
    segment.count = 0;
  }
  for (std::size_t i = 0; i < staged; ++i) {
    Segment& segment = tile.segments[part.owners[i]];
    const std::size_t at = segment.begin + segment.count++;
    tile.entries.indices.data()[at] = part.staged.indices.data()[i];
    if (has_high_word_) tile.entries.keys.data()[at] = part.staged.keys.data()[i];
    if (job.has_values) tile.entries.values.data()[at] = part.staged.values.data()[i];
  }
}

void RowExchange::add_owned(const Job& job, std::uint64_t round, std::size_t owner, const Add& add) const {
  for (const Part& part : parts_) {
    const Tile& tile = part.tiles[round % 2];
    const Segment segment = tile.segments[owner];
    if (segment.count == 0) continue;
    add(owner, {tile.entries.indices.data() + segment.begin,
                has_high_word_ ? tile.entries.keys.data() + segment.begin : nullptr,
                job.has_values ? tile.entries.values.data() + segment.begin : nullptr, segment.count});
  }
}

}  // namespace blco
