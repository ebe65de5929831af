// Radix sorts of keys with the nonzeros' numbers, then one gather.
#include "kernels/host/arranged_nonzeros.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "kernels/host/counting_scatter.hpp"
#include "kernels/part_ranges.hpp"

namespace blco {
namespace {

// Entries past the last one that a prefetch may look at.
constexpr std::uint64_t look_ahead = 64;
// Nonzeros between a prefetch and its use.
constexpr std::uint64_t gather_ahead = 24;

// Of the fibers one in 16 is looked at.
constexpr int sample_bits = 4;

// Odd and unrelated: powers of a multiplier for linear congruential generators (Steele and Vigna, 2022).
constexpr std::array<std::uint64_t, max_order> multipliers = [] {
  std::array<std::uint64_t, max_order> powers{};
  std::uint64_t power = 1;
  for (std::uint64_t& of_mode : powers) of_mode = power *= 0xd1342543de82ef95;
  return powers;
}();

std::uint64_t mixed(std::uint64_t hash) {
  hash ^= hash >> 32;
  hash *= multipliers[0];
  return hash ^ hash >> 29;
}

std::uint64_t bitmap_words(std::uint64_t nnz) { return std::bit_ceil((nnz >> sample_bits) / 64 + 1); }

// The frames of decoded chunks, one chunk after the other. A nonzero's number tells its frame and its place there.
class Frames {
 public:
  Frames(const FrameDecoder& decoder, std::span<const FrameSource> chunks, int order)
      : decoder_(decoder), ranges_(chunks.front().places.begin(), chunks.front().places.begin() + order) {
    for (const FrameSource& chunk : chunks) {
      for (std::size_t mode = 0; mode < ranges_.size(); ++mode) {
        ranges_[mode].lower = std::min(ranges_[mode].lower, chunk.places[mode].lower);
        ranges_[mode].upper = std::max(ranges_[mode].upper, chunk.places[mode].upper);
      }
      const DecodedChunk& decoded = *chunk.decoded;
      for (std::uint64_t frame = 0; frame < chunk.frames(); ++frame) {
        const std::uint64_t first = frame * frame_entries;
        const std::uint64_t* keys = decoded.keys.size() > 0 ? decoded.keys.data() + first : nullptr;
        const auto count = static_cast<std::size_t>(chunk.entries_of(frame));
        frames_.push_back({{decoded.indices.data() + first, keys, chunk.values_of(frame), count}, nnz_});
        nnz_ += count;
      }
      has_keys_ = has_keys_ || decoded.keys.size() > 0;
      has_values_ = has_values_ || chunk.has_values();
    }
  }

  int order() const { return static_cast<int>(ranges_.size()); }
  std::uint64_t nnz() const { return nnz_; }
  bool has_values() const { return has_values_; }
  std::uint32_t lower(int mode) const { return ranges_[static_cast<std::size_t>(mode)].lower; }
  // Of a row from the lower bound on.
  int bits(int mode) const {
    const RowRange range = ranges_[static_cast<std::size_t>(mode)];
    return std::bit_width(range.upper - range.lower);
  }

  std::uint64_t count() const { return frames_.size(); }
  // The place of its first nonzero.
  std::uint64_t first(std::uint64_t frame) const { return frames_[frame].first; }
  // Writes the rows of its nonzeros to the ring's first half, and returns how many there are.
  std::size_t expand(std::uint64_t frame, FrameRing& ring) const {
    decoder_.expand(frames_[frame].nonzeros, ring);
    return frames_[frame].nonzeros.count;
  }

  // The same of the nonzeros with these numbers, up to frame_entries of them, and their values; prefetches those that
  // come after them.
  template <class Entry>
  void gather(std::span<const Entry> entries, std::size_t count, FrameRing& ring) const {
    std::array<std::uint64_t, 2 * frame_entries> indices{};
    std::array<std::uint64_t, 2 * frame_entries> keys{};
    std::array<double, frame_entries> values;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t later = entries[std::min<std::size_t>(i + gather_ahead, entries.size() - 1)].number;
      __builtin_prefetch(frame_of(later).indices + later % frame_entries);
      if (has_values_) __builtin_prefetch(frame_of(later).values + later % frame_entries);
      const NonzeroSpan& from = frame_of(entries[i].number);
      const std::size_t at = entries[i].number % frame_entries;
      indices[i] = from.indices[at];
      if (has_keys_) keys[i] = from.keys[at];
      values[i] = from.values != nullptr ? from.values[at] : 1.0;
    }
    decoder_.expand({indices.data(), has_keys_ ? keys.data() : nullptr, values.data(), count}, ring);
  }

 private:
  struct Frame {
    NonzeroSpan nonzeros;
    std::uint64_t first = 0;
  };

  const NonzeroSpan& frame_of(std::uint32_t number) const { return frames_[number / frame_entries].nonzeros; }

  const FrameDecoder& decoder_;
  std::vector<RowRange> ranges_;  // per mode, of all chunks
  std::vector<Frame> frames_;
  std::uint64_t nnz_ = 0;
  bool has_keys_ = false;
  bool has_values_ = false;  // else all are 1
};

// Per mode an estimate of how many fibers along it have nonzeros, by linear counting (Whang, Vander-Zanden and Taylor,
// 1990): hashes set bits, and the share of bits that stay clear tells how many different ones there were.
std::vector<double> estimate_fibers(const Frames& frames, std::span<FrameRing> rings, Executor& executor) {
  const auto order = static_cast<std::size_t>(frames.order());
  const std::uint64_t words = bitmap_words(frames.nnz());
  AlignedBuffer<std::uint64_t> bits(rings.size() * order * words);
  run_parts(executor, rings.size(), frames.count(), [&](std::size_t part, std::uint64_t begin, std::uint64_t end) {
    std::uint64_t* own = bits.data() + part * order * words;
    for (std::uint64_t f = begin; f < end; ++f) {
      const std::size_t count = frames.expand(f, rings[part]);
      std::array<std::uint64_t, frame_entries> all{};
      for (int mode = 0; mode < frames.order(); ++mode) {
        const std::uint32_t* rows = rings[part].rows(mode);
        for (std::size_t i = 0; i < count; ++i) all[i] += rows[i] * multipliers[static_cast<std::size_t>(mode)];
      }
      for (std::size_t mode = 0; mode < order; ++mode) {
        const std::uint32_t* rows = rings[part].rows(static_cast<int>(mode));
        for (std::size_t i = 0; i < count; ++i) {
          const std::uint64_t hash = mixed(all[i] - rows[i] * multipliers[mode]);
          if (hash >> (64 - sample_bits) != 0) continue;
          own[mode * words + (hash >> 6 & (words - 1))] |= std::uint64_t{1} << (hash & 63);
        }
      }
    }
  });
  std::vector<double> fibers;
  for (std::size_t mode = 0; mode < order; ++mode) {
    std::uint64_t clear = 0;
    for (std::uint64_t word = 0; word < words; ++word) {
      std::uint64_t set = 0;
      for (std::size_t part = 0; part < rings.size(); ++part) set |= bits.data()[(part * order + mode) * words + word];
      clear += static_cast<std::uint64_t>(std::popcount(~set));
    }
    const auto places = static_cast<double>(words * 64);
    const double different = places * std::log(places / std::max(static_cast<double>(clear), 1.0));
    fibers.push_back(different * (1 << sample_bits));
  }
  return fibers;
}

// The mode other than `target` with the longest fibers; -1 if they are too short, or if a fiber's coordinates have more
// than 63 bits.
int choose_fibers(const Frames& frames, int target, const std::vector<double>& fibers) {
  int along = -1;
  double fewest = static_cast<double>(frames.nnz()) / static_cast<double>(min_fiber_nnz);
  int bits = 0;
  for (int mode = 0; mode < frames.order(); ++mode) {
    bits += frames.bits(mode);
    const double of_mode = fibers[static_cast<std::size_t>(mode)];
    if (mode == target || of_mode > fewest) continue;
    along = mode;
    fewest = of_mode;
  }
  return along < 0 || bits - frames.bits(along) > 63 ? -1 : along;
}

// A nonzero to be sorted: its key has the target row in its upper bits, and below it the coordinates of its fiber.
template <class Key>
struct SortEntry {
  Key key;
  std::uint32_t number;
};

// Sorts, cuts, counts and fills, in this order. Nonzeros of a key keep the order of the chunks: those of a fiber are in
// ascending order along it, as lines are.
template <class Key>
class Arranger {
 public:
  using Entry = SortEntry<Key>;

  // along: the mode of the fibers; -1: there are none.
  Arranger(const Frames& frames, const ArrangeRequest& request, int along, ArrangeScratch& scratch,
           std::span<FrameRing> rings, Executor& executor)
      : frames_(frames),
        mode_(request.mode),
        along_(along),
        rings_(rings),
        executor_(executor),
        counts_(request.parts) {
    for (int mode = 0; mode < frames.order(); ++mode) {
      if (mode == mode_ || mode == along_) continue;
      shared_.push_back(mode);
      if (along_ >= 0) row_shift_ += frames.bits(mode);
    }
    sort(scratch);
    cut(request.splits_rows);
  }

  // Of the largest part.
  std::uint64_t most_nnz() const {
    std::uint64_t most = 0;
    for (std::size_t part = 0; part < parts(); ++part) most = std::max(most, cuts_[part + 1] - cuts_[part]);
    return most;
  }

  ArrangedNonzeros make() {
    run_parts(executor_, rings_.size(), parts(), [&](std::size_t, std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t part = begin; part < end; ++part) counts_[part] = count(part);
    });
    Counts all;
    for (Counts& of_part : counts_) {
      of_part.targets = std::exchange(all.targets, all.targets + of_part.targets);
      of_part.items = std::exchange(all.items, all.items + of_part.items);
    }
    ArrangedNonzeros made;
    made.modes = shared_;
    for (std::size_t k = 0; k < shared_.size(); ++k) made.rows.emplace_back(all.items + look_ahead);
    if (along_ >= 0) {
      made.modes.push_back(along_);
      made.rows.emplace_back(frames_.nnz() + look_ahead);
      made.fiber_ends = AlignedBuffer<std::uint32_t>(all.items);
    }
    made.targets = AlignedBuffer<std::uint32_t>(all.targets);
    made.target_ends = AlignedBuffer<std::uint32_t>(all.targets);
    if (frames_.has_values()) made.values = AlignedBuffer<double>(frames_.nnz());
    for (std::size_t part = 0; part < parts(); ++part) {
      const std::uint64_t end = part + 1 < parts() ? counts_[part + 1].targets : all.targets;
      const bool shares = cuts_[part] < cuts_[part + 1] && !begins_row(cuts_[part]);
      made.parts.push_back({counts_[part].targets, end, shares});
    }
    run_parts(executor_, rings_.size(), parts(), [&](std::size_t thread, std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t part = begin; part < end; ++part) fill(part, rings_[thread], made);
    });
    return made;
  }

 private:
  // An item is a nonzero or a fiber.
  struct Counts {
    std::uint64_t targets = 0;
    std::uint64_t items = 0;
  };

  std::size_t parts() const { return counts_.size(); }
  const Entry& entry(std::uint64_t at) const { return sorted_[at]; }
  bool begins_row(std::uint64_t at) const {
    return at == 0 || entry(at).key >> row_shift_ != entry(at - 1).key >> row_shift_;
  }
  bool begins_item(std::uint64_t at) const { return along_ < 0 || at == 0 || entry(at).key != entry(at - 1).key; }

  std::span<Entry> room(AlignedBuffer<std::byte>& bytes) const {
    if (bytes.size() < frames_.nnz() * sizeof(Entry)) bytes = AlignedBuffer<std::byte>(frames_.nnz() * sizeof(Entry));
    return {reinterpret_cast<Entry*>(bytes.data()), frames_.nnz()};
  }

  void sort(ArrangeScratch& scratch) {
    sorted_ = room(scratch.entries);
    std::span<Entry> next = room(scratch.next);
    run_parts(executor_, rings_.size(), frames_.count(), [&](std::size_t part, std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t f = begin; f < end; ++f) write_entries(f, rings_[part]);
    });
    const int bits = row_shift_ + frames_.bits(mode_);
    for (int shift = 0; shift < bits; shift += scatter_bits) {
      const auto digit = [shift](const Entry& of) {
        return static_cast<std::size_t>(of.key >> shift) & (scatter_digits - 1);
      };
      counting_scatter(std::span<const Entry>(sorted_), next, digit, executor_);
      std::swap(sorted_, next);
    }
  }

  void write_entries(std::uint64_t frame, FrameRing& ring) {
    const std::size_t count = frames_.expand(frame, ring);
    const std::span<Entry> to = sorted_.subspan(frames_.first(frame), count);
    const std::uint32_t* targets = ring.rows(mode_);
    for (std::size_t i = 0; i < count; ++i) {
      to[i] = {targets[i] - frames_.lower(mode_), static_cast<std::uint32_t>(frame * frame_entries + i)};
    }
    if (along_ < 0) return;
    for (const int mode : shared_) {
      const std::uint32_t* rows = ring.rows(mode);
      const int bits = frames_.bits(mode);
      for (std::size_t i = 0; i < count; ++i) to[i].key = (to[i].key << bits) | (rows[i] - frames_.lower(mode));
    }
  }

  void cut(bool splits_rows) {
    const std::uint64_t nnz = frames_.nnz();
    for (std::size_t part = 0; part <= parts(); ++part) {
      std::uint64_t at = std::max(nnz * part / parts(), cuts_.empty() ? 0 : cuts_.back());
      while (at < nnz && !(splits_rows ? begins_item(at) : begins_row(at))) ++at;
      cuts_.push_back(at);
    }
  }

  Counts count(std::size_t part) const {
    Counts counts;
    for (std::uint64_t at = cuts_[part]; at < cuts_[part + 1]; ++at) {
      counts.targets += at == cuts_[part] || begins_row(at) ? 1U : 0U;
      counts.items += begins_item(at) ? 1U : 0U;
    }
    return counts;
  }

  void fill(std::size_t part, FrameRing& ring, ArrangedNonzeros& made) const {
    auto [target, item] = counts_[part];
    const std::span<const Entry> entries = sorted_.first(cuts_[part + 1]);
    for (std::uint64_t first = cuts_[part]; first < cuts_[part + 1]; first += frame_entries) {
      const std::size_t count = std::min<std::uint64_t>(frame_entries, cuts_[part + 1] - first);
      frames_.gather(entries.subspan(first), count, ring);
      if (frames_.has_values()) std::copy_n(ring.values(), count, made.values.data() + first);
      if (along_ >= 0) std::copy_n(ring.rows(along_), count, made.rows.back().data() + first);
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t at = first + i;
        if (at == cuts_[part] || begins_row(at)) made.targets.data()[target++] = ring.rows(mode_)[i];
        if (begins_item(at)) {
          for (std::size_t k = 0; k < shared_.size(); ++k) made.rows[k].data()[item] = ring.rows(shared_[k])[i];
          made.target_ends.data()[target - 1] = static_cast<std::uint32_t>(++item);
        }
        if (along_ >= 0) made.fiber_ends.data()[item - 1] = static_cast<std::uint32_t>(at + 1);
      }
    }
  }

  const Frames& frames_;
  int mode_;
  int along_;
  std::vector<int> shared_;  // the modes of which a nonzero, or a fiber, has one row each
  int row_shift_ = 0;        // of the row in a key
  std::span<FrameRing> rings_;
  Executor& executor_;
  std::span<Entry> sorted_;
  std::vector<std::uint64_t> cuts_;  // where parts begin, and the end
  std::vector<Counts> counts_;       // per part; then what the parts before it have
};

template <class Key>
std::optional<ArrangedNonzeros> arrange_by(const Frames& frames, const ArrangeRequest& request, int along,
                                           ArrangeScratch& scratch, std::span<FrameRing> rings, Executor& executor) {
  Arranger<Key> arranger(frames, request, along, scratch, rings, executor);
  // Some rows may be heavy enough for a thread to be busy with one while the others have nothing left.
  const std::uint64_t fair = frames.nnz() / rings.size();
  if (!request.splits_rows && arranger.most_nnz() > fair + fair / 8) return std::nullopt;
  return arranger.make();
}

}  // namespace

std::optional<ArrangedNonzeros> arrange(const FrameDecoder& decoder, std::span<const FrameSource> chunks,
                                        const ArrangeRequest& request, ArrangeScratch& scratch,
                                        std::span<FrameRing> rings, Executor& executor) {
  const Frames frames(decoder, chunks, request.order);
  const bool may_have_fibers = request.has_fibers && request.order > 2;
  if (may_have_fibers && scratch.fibers.empty()) scratch.fibers = estimate_fibers(frames, rings, executor);
  const int along = may_have_fibers ? choose_fibers(frames, request.mode, scratch.fibers) : -1;
  if (along >= 0) return arrange_by<std::uint64_t>(frames, request, along, scratch, rings, executor);
  return arrange_by<std::uint32_t>(frames, request, along, scratch, rings, executor);
}

std::uint64_t arranged_bytes(int order, std::uint64_t nnz, std::uint64_t rows, std::size_t parts) {
  const auto factors = static_cast<std::uint64_t>(order - 1);
  const std::uint64_t targets = std::min(nnz, rows + parts);
  // Fibers, where there are some, take less than the rows that they replace.
  return 2 * mapped_bytes(targets * sizeof(std::uint32_t)) + mapped_bytes(nnz * sizeof(double)) +
         factors * mapped_bytes((nnz + look_ahead) * sizeof(std::uint32_t)) + page_bytes;
}

std::uint64_t arranging_bytes(int order, std::uint64_t nnz, int threads, bool has_fibers) {
  const std::uint64_t entry =
      has_fibers && order > 2 ? sizeof(SortEntry<std::uint64_t>) : sizeof(SortEntry<std::uint32_t>);
  const std::uint64_t entries = 2 * mapped_bytes(nnz * entry);
  const std::uint64_t frames = (nnz / frame_entries + most_arranged_chunks) * 2 * cache_line_bytes;
  const std::uint64_t bitmaps = static_cast<std::uint64_t>(order) * bitmap_words(nnz) * sizeof(std::uint64_t);
  const std::uint64_t counts = std::uint64_t{64} << 10;  // of a thread that sorts, and of its parts
  return entries + frames + static_cast<std::uint64_t>(threads) * (counts + bitmaps);
}

}  // namespace blco
