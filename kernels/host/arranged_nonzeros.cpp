// Radix sorts of the nonzeros' numbers, then one gather per array.
#include "kernels/host/arranged_nonzeros.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "kernels/host/natural_sort.hpp"
#include "kernels/part_ranges.hpp"

namespace blco {
namespace {

// Entries past the last one that a prefetch may look at.
constexpr std::uint64_t look_ahead = 64;

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

// Coordinates and values of decoded chunks, one chunk after the other; coordinates count from `lower`.
class Coordinates {
 public:
  Coordinates(const FrameDecoder& decoder, std::span<const FrameSource> chunks, int order, std::span<FrameRing> rings,
              Executor& executor)
      : lower_(static_cast<std::size_t>(order)) {
    bool has_values = false;
    for (const FrameSource& chunk : chunks) {
      nnz_ += chunk.nnz;
      has_values = has_values || chunk.has_values();
    }
    numbers_ = AlignedBuffer<std::uint32_t>(static_cast<std::uint64_t>(order) * nnz_);
    if (has_values) values_ = AlignedBuffer<double>(nnz_);
    for (int mode = 0; mode < order; ++mode) {
      const auto n = static_cast<std::size_t>(mode);
      RowRange all = chunks.front().range[n];
      for (const FrameSource& chunk : chunks) {
        all = {std::min(all.lower, chunk.range[n].lower), std::max(all.upper, chunk.range[n].upper)};
      }
      lower_[n] = all.lower;
      lists_.shape.push_back(std::uint64_t{all.upper} - all.lower + 1);
      lists_.coordinates.emplace_back(numbers_.data() + n * nnz_, nnz_);
    }
    std::uint64_t first = 0;
    for (const FrameSource& chunk : chunks) {
      run_parts(executor, rings.size(), chunk.frames(), [&](std::size_t part, std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t f = begin; f < end; ++f) write_frame(decoder, chunk, f, first, rings[part]);
      });
      first += chunk.nnz;
    }
  }

  const CoordinateLists& lists() const { return lists_; }
  std::uint32_t lower(int mode) const { return lower_[static_cast<std::size_t>(mode)]; }
  bool has_values() const { return values_.size() > 0; }
  double value(std::uint32_t nonzero) const { return values_.data()[nonzero]; }

 private:
  void write_frame(const FrameDecoder& decoder, const FrameSource& chunk, std::uint64_t frame, std::uint64_t first,
                   FrameRing& ring) {
    const std::uint64_t from = frame * frame_entries;
    const DecodedChunk& decoded = *chunk.decoded;
    const auto count = static_cast<std::size_t>(chunk.entries_of(frame));
    const std::uint64_t* keys = decoded.keys.size() > 0 ? decoded.keys.data() + from : nullptr;
    decoder.expand({decoded.indices.data() + from, keys, chunk.values_of(frame), count}, ring);
    for (int mode = 0; mode < lists_.order(); ++mode) {
      const std::uint32_t* rows = ring.rows(mode);
      std::uint32_t* to = numbers_.data() + static_cast<std::uint64_t>(mode) * nnz_ + first + from;
      for (std::size_t i = 0; i < count; ++i) to[i] = rows[i] - lower(mode);
    }
    if (!has_values()) return;
    const double* values = chunk.values_of(frame);
    for (std::size_t i = 0; i < count; ++i) values_.data()[first + from + i] = values != nullptr ? values[i] : 1.0;
  }

  std::uint64_t nnz_ = 0;
  AlignedBuffer<std::uint32_t> numbers_;
  AlignedBuffer<double> values_;  // empty: all are 1
  std::vector<std::uint32_t> lower_;
  CoordinateLists lists_;
};

// Per mode an estimate of how many fibers along it have nonzeros, by linear counting (Whang, Vander-Zanden and Taylor,
// 1990): hashes set bits, and the share of bits that stay clear tells how many different ones there were.
std::vector<double> estimate_fibers(const CoordinateLists& lists, Executor& executor) {
  const auto order = static_cast<std::size_t>(lists.order());
  const auto parts = static_cast<std::size_t>(executor.width());
  const std::uint64_t words = bitmap_words(lists.nnz());
  AlignedBuffer<std::uint64_t> bits(parts * order * words);
  run_parts(executor, parts, lists.nnz(), [&](std::size_t part, std::uint64_t begin, std::uint64_t end) {
    std::uint64_t* own = bits.data() + part * order * words;
    for (std::uint64_t i = begin; i < end; ++i) {
      std::uint64_t all = 0;
      for (std::size_t mode = 0; mode < order; ++mode) all += lists.coordinates[mode][i] * multipliers[mode];
      for (std::size_t mode = 0; mode < order; ++mode) {
        const std::uint64_t hash = mixed(all - lists.coordinates[mode][i] * multipliers[mode]);
        if (hash >> (64 - sample_bits) != 0) continue;
        own[mode * words + (hash >> 6 & (words - 1))] |= std::uint64_t{1} << (hash & 63);
      }
    }
  });
  std::vector<double> fibers;
  for (std::size_t mode = 0; mode < order; ++mode) {
    std::uint64_t clear = 0;
    for (std::uint64_t word = 0; word < words; ++word) {
      std::uint64_t set = 0;
      for (std::size_t part = 0; part < parts; ++part) set |= bits.data()[(part * order + mode) * words + word];
      clear += static_cast<std::uint64_t>(std::popcount(~set));
    }
    const auto places = static_cast<double>(words * 64);
    const double different = places * std::log(places / std::max(static_cast<double>(clear), 1.0));
    fibers.push_back(different * (1 << sample_bits));
  }
  return fibers;
}

// The mode other than `target` with the longest fibers; -1 if they are too short.
int choose_fibers(const CoordinateLists& lists, int target, Executor& executor) {
  if (lists.order() < 3) return -1;
  const std::vector<double> fibers = estimate_fibers(lists, executor);
  int along = -1;
  double fewest = static_cast<double>(lists.nnz()) / static_cast<double>(min_fiber_nnz);
  for (int mode = 0; mode < lists.order(); ++mode) {
    const double of_mode = fibers[static_cast<std::size_t>(mode)];
    if (mode == target || of_mode > fewest) continue;
    along = mode;
    fewest = of_mode;
  }
  return along;
}

// Sorts, cuts, counts and fills, in this order.
class Arranger {
 public:
  Arranger(const Coordinates& from, const ArrangeRequest& request, Executor& executor)
      : from_(from), lists_(from.lists()), mode_(request.mode), executor_(executor), counts_(request.parts) {
    along_ = request.splits_rows ? choose_fibers(lists_, mode_, executor) : -1;
    for (int mode = 0; mode < lists_.order(); ++mode) {
      if (mode != mode_ && mode != along_) shared_.push_back(mode);
    }
    std::vector<int> keys{mode_};
    if (along_ >= 0) {
      keys.insert(keys.end(), shared_.begin(), shared_.end());
      std::ranges::sort(keys.begin() + 1, keys.end(), {},
                        [&](int mode) { return lists_.shape[static_cast<std::size_t>(mode)]; });
      keys.push_back(along_);
    }
    sorted_ = sorted_by(lists_, keys, executor);
    cut(request);
  }

  // Of the largest part.
  std::uint64_t most_nnz() const {
    std::uint64_t most = 0;
    for (std::size_t part = 0; part < parts(); ++part) most = std::max(most, cuts_[part + 1] - cuts_[part]);
    return most;
  }

  ArrangedNonzeros make() {
    Counts all;
    executor_.run(parts(), [&](std::size_t part) { counts_[part] = count(part); });
    for (Counts& of_part : counts_) {
      of_part.targets = std::exchange(all.targets, all.targets + of_part.targets);
      of_part.items = std::exchange(all.items, all.items + of_part.items);
    }
    ArrangedNonzeros made;
    made.modes = shared_;
    for (std::size_t k = 0; k < shared_.size(); ++k) made.rows.emplace_back(all.items + look_ahead);
    if (along_ >= 0) {
      made.modes.push_back(along_);
      made.rows.emplace_back(lists_.nnz() + look_ahead);
      made.fiber_ends = AlignedBuffer<std::uint32_t>(all.items);
    }
    made.targets = AlignedBuffer<std::uint32_t>(all.targets);
    made.target_ends = AlignedBuffer<std::uint32_t>(all.targets);
    if (from_.has_values()) made.values = AlignedBuffer<double>(lists_.nnz());
    for (std::size_t part = 0; part < parts(); ++part) {
      const std::uint64_t end = part + 1 < parts() ? counts_[part + 1].targets : all.targets;
      const bool shares = cuts_[part] < cuts_[part + 1] && !begins_row(cuts_[part]);
      made.parts.push_back({counts_[part].targets, end, shares});
    }
    executor_.run(parts(), [&](std::size_t part) { fill(part, made); });
    return made;
  }

 private:
  // An item is a nonzero or a fiber.
  struct Counts {
    std::uint64_t targets = 0;
    std::uint64_t items = 0;
  };

  std::size_t parts() const { return counts_.size(); }
  std::uint32_t coordinate(int mode, std::uint64_t at) const {
    return lists_.coordinates[static_cast<std::size_t>(mode)][sorted_[at]];
  }
  std::uint32_t row(int mode, std::uint64_t at) const { return from_.lower(mode) + coordinate(mode, at); }
  bool begins_row(std::uint64_t at) const { return at == 0 || coordinate(mode_, at) != coordinate(mode_, at - 1); }
  bool begins_item(std::uint64_t at) const {
    if (along_ < 0 || begins_row(at)) return true;
    return std::ranges::any_of(shared_, [&](int mode) { return coordinate(mode, at) != coordinate(mode, at - 1); });
  }

  void cut(const ArrangeRequest& request) {
    const std::uint64_t nnz = lists_.nnz();
    for (std::size_t part = 0; part <= parts(); ++part) {
      std::uint64_t at = std::max(nnz * part / parts(), cuts_.empty() ? 0 : cuts_.back());
      while (at < nnz && !(request.splits_rows ? begins_item(at) : begins_row(at))) ++at;
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

  void fill(std::size_t part, ArrangedNonzeros& made) const {
    auto [target, item] = counts_[part];
    for (std::uint64_t at = cuts_[part]; at < cuts_[part + 1]; ++at) {
      if (from_.has_values()) made.values.data()[at] = from_.value(sorted_[at]);
      if (at == cuts_[part] || begins_row(at)) made.targets.data()[target++] = row(mode_, at);
      if (begins_item(at)) {
        for (std::size_t k = 0; k < shared_.size(); ++k) made.rows[k].data()[item] = row(shared_[k], at);
        made.target_ends.data()[target - 1] = static_cast<std::uint32_t>(++item);
      }
      if (along_ < 0) continue;
      made.rows.back().data()[at] = row(along_, at);
      made.fiber_ends.data()[item - 1] = static_cast<std::uint32_t>(at + 1);
    }
  }

  const Coordinates& from_;
  const CoordinateLists& lists_;
  int mode_;
  int along_ = -1;           // the mode of the fibers; -1: there are none
  std::vector<int> shared_;  // the modes of which a nonzero, or a fiber, has one row each
  Executor& executor_;
  std::vector<std::uint32_t> sorted_;
  std::vector<std::uint64_t> cuts_;  // where parts begin, and the end
  std::vector<Counts> counts_;       // per part; then what the parts before it have
};

}  // namespace

std::optional<ArrangedNonzeros> arrange(const FrameDecoder& decoder, std::span<const FrameSource> chunks,
                                        const ArrangeRequest& request, std::span<FrameRing> rings, Executor& executor) {
  const Coordinates coordinates(decoder, chunks, request.order, rings, executor);
  Arranger arranger(coordinates, request, executor);
  // Some rows may be heavy enough for a thread to be busy with one while the others have nothing left.
  const std::uint64_t fair = coordinates.lists().nnz() / rings.size();
  if (!request.splits_rows && arranger.most_nnz() > fair + fair / 8) return std::nullopt;
  return arranger.make();
}

std::uint64_t arranged_bytes(int order, std::uint64_t nnz, std::uint64_t length, std::size_t parts) {
  const auto factors = static_cast<std::uint64_t>(order - 1);
  const std::uint64_t targets = std::min(nnz, length + parts);
  // Fibers, where there are some, take less than the rows that they replace.
  return 2 * mapped_bytes(targets * sizeof(std::uint32_t)) + mapped_bytes(nnz * sizeof(double)) +
         factors * mapped_bytes((nnz + look_ahead) * sizeof(std::uint32_t)) + page_bytes;
}

std::uint64_t arranging_bytes(int order, std::uint64_t nnz, int threads) {
  // Coordinates, values, and two lists of numbers.
  const std::uint64_t of_nonzero = (static_cast<std::uint64_t>(order) + 2) * sizeof(std::uint32_t) + sizeof(double);
  const std::uint64_t bitmaps = static_cast<std::uint64_t>(order) * bitmap_words(nnz) * sizeof(std::uint64_t);
  const std::uint64_t counts = std::uint64_t{64} << 10;  // of a thread that sorts, and of its parts
  return of_nonzero * nnz + static_cast<std::uint64_t>(threads) * (counts + bitmaps) + 4 * page_bytes;
}

}  // namespace blco
