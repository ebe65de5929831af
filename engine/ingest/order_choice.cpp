// Counts fibers by a sample of their hashes, and rows in windows of nonzeros that follow each other in a mode's order.
#include "engine/ingest/order_choice.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <blco/tensor.hpp>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "blco/bits.hpp"
#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "blco/payload.hpp"
#include "engine/common/counter_random.hpp"
#include "engine/common/memory.hpp"
#include "engine/tensor/frame_reader.hpp"

namespace blco {
namespace {

// With fewer in the mean, adding a fiber up first takes longer than adding its nonzeros one by one.
constexpr double least_nonzeros_per_fiber = 3;

// Hashes that are kept of a set, at most: its size is then known within 3%.
constexpr std::size_t kept_hashes = 2048;
constexpr std::size_t window_nonzeros = std::size_t{1} << 16;
constexpr std::size_t most_windows = 2;
// With those that turn out not to belong to it.
constexpr std::size_t most_in_window = window_nonzeros + window_nonzeros / 4;

// Elements with the smallest hashes of a set, and so a sample of it. The limit is halved until few enough are below it;
// where it ends depends on the set alone, not on the order or the parts in which its elements come. Of a set that was
// made for it all may have the same hash: the sample then has the smallest of them, or none.
template <class Element>
class HashSample {
 public:
  bool takes(std::uint64_t hash) const { return hash <= limit_; }
  // Requires: takes(hash).
  void add(std::uint64_t hash, const Element& element) {
    kept_.emplace_back(hash, element);
    if (kept_.size() >= 2 * kept_hashes) shorten();
  }
  void join(const HashSample& other) {
    limit_ = std::min(limit_, other.limit_);
    kept_.insert(kept_.end(), other.kept_.begin(), other.kept_.end());
    shorten();
  }
  // Distinct elements, and an estimate of how many the set has, at least 1.
  std::span<const std::pair<std::uint64_t, Element>> elements() const { return kept_; }
  double count() const {
    return std::max(1.0, static_cast<double>(kept_.size()) * (0x1p64 / (static_cast<double>(limit_) + 1)));
  }

  static constexpr std::uint64_t max_bytes = 4 * kept_hashes * sizeof(std::pair<std::uint64_t, Element>);

 private:
  void shorten() {
    std::ranges::sort(kept_);
    kept_.erase(std::unique(kept_.begin(), kept_.end()), kept_.end());
    const auto drop_beyond = [&] {
      kept_.erase(std::ranges::upper_bound(kept_, limit_, {}, &std::pair<std::uint64_t, Element>::first), kept_.end());
    };
    drop_beyond();
    for (; kept_.size() > kept_hashes && limit_ > 0; drop_beyond()) limit_ /= 2;
    if (kept_.size() > kept_hashes) kept_.resize(kept_hashes);
  }

  std::uint64_t limit_ = ~std::uint64_t{0};
  std::vector<std::pair<std::uint64_t, Element>> kept_;
};

struct Nothing {
  friend auto operator<=>(const Nothing&, const Nothing&) = default;
};

// What one pass over the nonzeros counts.
struct Samples {
  std::vector<HashSample<Nothing>> fibers;  // per mode, of those along it
  HashSample<LineIndex> nonzeros;           // in the natural order

  static std::uint64_t max_bytes(std::size_t order) {
    return order * HashSample<Nothing>::max_bytes + HashSample<LineIndex>::max_bytes;
  }
};

void add_chunk(const TensorLayout& layout, const ChunkView& chunk, Samples& to) {
  const std::size_t order = layout.shape().size();
  FrameReader frames(chunk);
  FrameColumn coordinates;
  std::vector<FrameColumn> hashes(order);
  for (std::uint64_t frame = 0; frame < frames.frames(); ++frame) {
    const std::size_t count = frames.entries(frame);
    frames.read_lines(frame);
    FrameColumn sums{};
    for (std::size_t n = 0; n < order; ++n) {
      frames.coordinates(layout.view().modes[n], count, coordinates);
      const std::uint64_t salt = scramble(n + 1);
      for (std::size_t i = 0; i < count; ++i) {
        hashes[n][i] = scramble(coordinates[i] ^ salt);
        sums[i] += hashes[n][i];
      }
    }
    for (std::size_t n = 0; n < order; ++n) {
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t hash = scramble(sums[i] - hashes[n][i]);
        if (to.fibers[n].takes(hash)) to.fibers[n].add(hash, {});
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t hash = scramble(scramble(frames.keys[i]) ^ frames.lows[i]);
      if (to.nonzeros.takes(hash)) to.nonzeros.add(hash, {frames.keys[i], frames.lows[i]});
    }
  }
}

// A set of at most window_nonzeros numbers, which are at most 2^64 - 2: a table with open addressing.
class DistinctNumbers {
 public:
  static constexpr std::uint64_t bytes = 2 * window_nonzeros * sizeof(std::uint64_t);

  void clear() {
    std::ranges::fill(slots_, 0);
    count_ = 0;
  }
  void add(std::uint64_t number) {
    std::size_t at = scramble(number) % slots_.size();
    while (slots_[at] != 0 && slots_[at] != number + 1) at = (at + 1) % slots_.size();
    if (slots_[at] != 0) return;
    slots_[at] = number + 1;
    ++count_;
  }
  std::uint64_t count() const { return count_; }

 private:
  std::vector<std::uint64_t> slots_ = std::vector<std::uint64_t>(2 * window_nonzeros);
  std::uint64_t count_ = 0;
};

// Nonzeros that follow each other in the order of one mode, in windows that begin at lines of a sample.
class Windows {
 public:
  // `sample`: lines of the nonzeros in their natural order.
  Windows(const TensorLayout& natural, TensorLayout ordered, std::size_t mode, const HashSample<LineIndex>& sample,
          std::uint64_t nnz)
      : ordered_(std::move(ordered)),
        mode_(mode),
        count_(sample.elements().empty() ? 1 : std::clamp<std::uint64_t>(nnz / window_nonzeros, 1, most_windows)),
        shift_(std::max(0, static_cast<int>(std::bit_width(ordered_.shape()[mode] - 1)) - prefix_bits)) {
    std::vector<LineIndex> lines;
    std::vector<std::uint64_t> point(ordered_.shape().size());
    for (const auto& [hash, line] : sample.elements()) {
      natural.delinearize(line, point);
      lines.push_back(ordered_.linearize(point));
    }
    std::ranges::sort(lines);
    // Lines of the sample that a window spans: twice as many as its nonzeros should have, which the last of them
    // bounds.
    const std::size_t spanned = 1 + 2 * window_nonzeros * lines.size() / nnz;
    for (std::size_t w = 0; w < count_; ++w) {
      const std::size_t first = lines.size() * (2 * w + 1) / (2 * count_);
      if (count_ > 1) windows_[w].first = lines[first];
      if (count_ > 1 && first + spanned < lines.size()) windows_[w].last = lines[first + spanned];
      const auto prefix = [&](LineIndex line) {
        ordered_.delinearize(line, point);
        return point[mode_] >> shift_;
      };
      const std::size_t last = windows_[w].last == no_line ? has_window_.size() - 1 : prefix(windows_[w].last);
      std::fill(has_window_.begin() + static_cast<std::ptrdiff_t>(prefix(windows_[w].first)),
                has_window_.begin() + static_cast<std::ptrdiff_t>(last) + 1, true);
    }
  }

  static constexpr std::uint64_t max_bytes = most_in_window * most_windows * sizeof(LineIndex);

  // Takes the nonzeros of a frame, by columns. Any thread.
  void add(std::span<const FrameColumn> columns, std::size_t count) {
    std::array<std::uint64_t, max_order> point;
    std::array<std::pair<Window*, LineIndex>, frame_entries> taken;
    std::size_t takes = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (!has_window_[columns[mode_][i] >> shift_]) continue;
      for (std::size_t n = 0; n < columns.size(); ++n) point[n] = columns[n][i];
      const LineIndex line = ordered_.linearize({point.data(), columns.size()});
      std::size_t w = 0;
      while (w < count_ && windows_[w].first <= line) ++w;
      if (w == 0) continue;
      Window& window = windows_[w - 1];
      // The second turns nearly all away that the first lets through, without a lock.
      if (line > window.last || upper_word(line) > window.last_word.load(std::memory_order_relaxed)) continue;
      taken[takes++] = {&window, line};
    }
    if (takes == 0) return;
    const std::lock_guard lock(mutex_);
    for (const auto& [window, line] : std::span(taken).first(takes)) {
      if (window->lines.capacity() == 0) window->lines.reserve(most_in_window);
      window->lines.push_back(line);
      if (window->lines.size() == most_in_window) shorten(*window);
    }
  }

  // Distinct rows of all modes, by the number of nonzeros.
  double rows_per_nonzero() {
    std::uint64_t rows = 0;
    std::uint64_t nonzeros = 0;
    DistinctNumbers distinct;
    for (std::size_t w = 0; w < count_; ++w) {
      shorten(windows_[w]);
      const std::vector<LineIndex>& lines = windows_[w].lines;
      nonzeros += lines.size();
      for (int n = 0; n < ordered_.order(); ++n) {
        const ModeLayout& mode = ordered_.mode(n);
        distinct.clear();
        for (const LineIndex line : lines) {
          const std::uint64_t high = mode.high_mask == 0 ? 0 : pext(line.key, mode.high_mask) << mode.low_bits;
          distinct.add(high | pext(line.low, mode.low_mask));
        }
        rows += distinct.count();
      }
    }
    return static_cast<double>(rows) / static_cast<double>(nonzeros);
  }

 private:
  static constexpr LineIndex no_line{~std::uint64_t{0}, ~std::uint64_t{0}};
  static constexpr int prefix_bits = 12;

  struct Window {
    LineIndex first;
    LineIndex last = no_line;
    std::atomic<std::uint64_t> last_word = ~std::uint64_t{0};  // of the last line that it will keep, an upper bound
    std::vector<LineIndex> lines;
  };

  std::uint64_t upper_word(LineIndex line) const { return ordered_.has_high_word() ? line.key : line.low; }

  void shorten(Window& window) const {
    if (window.lines.size() <= window_nonzeros) return;
    const auto last = window.lines.begin() + window_nonzeros - 1;
    std::ranges::nth_element(window.lines, last);
    window.last_word.store(upper_word(*last), std::memory_order_relaxed);
    window.lines.resize(window_nonzeros);
  }

  TensorLayout ordered_;
  std::size_t mode_;
  std::size_t count_;
  int shift_;
  std::array<bool, std::size_t{1} << prefix_bits> has_window_{};  // by the highest bits of the mode's coordinate
  std::array<Window, most_windows> windows_;
  std::mutex mutex_;
};

// Of the counts beside chunks and workers, with windows of so many modes.
std::uint64_t fixed_bytes(std::size_t order, std::size_t modes) {
  return Samples::max_bytes(order) + (modes == 0 ? 0 : modes * Windows::max_bytes + DistinctNumbers::bytes);
}

// Calls visit(worker, chunk) for all chunks, each worker with `worker_bytes` of its own beside `fixed_bytes`.
template <class Visit>
void scan(const ChunkSource& natural, const ScanBudget& budget, int threads, ProgressMeter& meter, const Visit& visit) {
  meter.begin({.name = "count", .nonzeros = natural.info().nnz});
  scan_chunks(natural, scan_workers(natural, budget, threads), visit, meter);
  meter.end();
}

Samples sample(const ChunkSource& natural, const TensorLayout& layout, bool by_counts, ScanBudget budget, int threads,
               ProgressMeter& meter) {
  const std::size_t order = layout.shape().size();
  budget.fixed_bytes += fixed_bytes(order, by_counts ? 1 : 0);
  budget.worker_bytes = Samples::max_bytes(order) + (order + 3) * sizeof(FrameColumn);
  std::vector<Samples> of_workers(static_cast<std::size_t>(scan_workers(natural, budget, threads)));
  for (Samples& samples : of_workers) samples.fibers.resize(order);
  scan(natural, budget, threads, meter,
       [&](std::size_t worker, const ChunkView& chunk) { add_chunk(layout, chunk, of_workers[worker]); });
  Samples all = std::move(of_workers.back());
  of_workers.pop_back();
  of_workers.emplace_back().fibers.resize(order);  // so that it is shortened if there is no other
  for (const Samples& samples : of_workers) {
    for (std::size_t n = 0; n < order; ++n) all.fibers[n].join(samples.fibers[n]);
    all.nonzeros.join(samples.nonzeros);
  }
  return all;
}

// Of some modes, in one pass.
void count_rows(const ChunkSource& natural, const TensorLayout& layout, const Samples& samples,
                const ScanBudget& budget, int threads, ProgressMeter& meter, std::span<OrderedMode> modes) {
  std::vector<std::unique_ptr<Windows>> windows;
  for (const OrderedMode& mode : modes) {
    windows.push_back(std::make_unique<Windows>(layout,
                                                TensorLayout(layout.shape(), bit_modes_of(layout.shape(), mode)),
                                                mode.mode, samples.nonzeros, natural.info().nnz));
  }
  const std::size_t order = layout.shape().size();
  scan(natural, budget, threads, meter, [&](std::size_t, const ChunkView& chunk) {
    FrameReader frames(chunk);
    std::vector<FrameColumn> columns(order);
    for (std::uint64_t frame = 0; frame < frames.frames(); ++frame) {
      const std::size_t count = frames.entries(frame);
      frames.read_lines(frame);
      for (std::size_t n = 0; n < order; ++n) frames.coordinates(layout.view().modes[n], count, columns[n]);
      for (const auto& of_mode : windows) of_mode->add(columns, count);
    }
  });
  for (std::size_t i = 0; i < modes.size(); ++i) modes[i].rows_per_nonzero = windows[i]->rows_per_nonzero();
}

// As many modes in each pass as the budget has room for.
void count_all_rows(const ChunkSource& natural, const TensorLayout& layout, const Samples& samples,
                    const ScanBudget& budget, int threads, ProgressMeter& meter, std::span<OrderedMode> modes) {
  const auto budget_of = [&](std::size_t together) {
    ScanBudget with_windows = budget;
    with_windows.fixed_bytes += fixed_bytes(layout.shape().size(), together);
    with_windows.worker_bytes = (layout.shape().size() + 4) * sizeof(FrameColumn);
    return with_windows;
  };
  std::size_t together = modes.size();
  for (; together > 1; together = (together + 1) / 2) {
    try {
      scan_workers(natural, budget_of(together), 1);
      break;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::out_of_memory) throw;
    }
  }
  for (std::size_t first = 0; first < modes.size(); first += together) {
    const std::size_t count = std::min(together, modes.size() - first);
    count_rows(natural, layout, samples, budget_of(count), threads, meter, modes.subspan(first, count));
  }
}

}  // namespace

OrderRequest parse_orders(const std::vector<std::string>& words, const std::vector<std::uint64_t>& shape,
                          const std::vector<std::string>& names) {
  OrderRequest request;
  const auto is = [&](const char* word) { return words.size() == 1 && words[0] == word; };
  if (words.empty() || is("none")) return request;
  request.by_counts = is("auto");
  if (is("auto") || is("all")) {
    for (std::uint64_t n = 0; n < shape.size(); ++n) request.modes.push_back(n);
    return request;
  }
  TensorSummary tensor;
  tensor.shape = shape;
  tensor.mode_names = names;
  for (const std::string& word : words) request.modes.push_back(find_mode(tensor, word));
  std::ranges::sort(request.modes);
  request.modes.erase(std::ranges::unique(request.modes).begin(), request.modes.end());
  return request;
}

void check_counting(const OrderRequest& request, std::size_t order, std::uint64_t chunk_nnz, const ScanBudget& budget) {
  if (request.is_empty()) return;
  // The columns of a chunk, and one that is decompressed.
  const std::uint64_t chunk = (column_count + 1) * max_payload_bytes(chunk_nnz);
  const std::uint64_t needed = scan_overhead_bytes + budget.fixed_bytes + chunk + Samples::max_bytes(order) +
                               fixed_bytes(order, request.by_counts ? 1 : 0) + (order + 4) * sizeof(FrameColumn);
  if (budget.total_bytes >= needed) return;
  throw Error(ErrorKind::out_of_memory, "counting for " + option_name("orders") + " requires " + format_bytes(needed) +
                                            " of memory, but the budget is " + format_bytes(budget.total_bytes) +
                                            "; give at least " + option_name(budget.option, as_budget(needed)));
}

BitModes bit_modes_of(const std::vector<std::uint64_t>& shape, const OrderedMode& mode) {
  return bit_modes_of(shape, static_cast<int>(mode.mode), mode.along ? static_cast<int>(*mode.along) : -1);
}

std::vector<OrderedMode> choose_orders(const ChunkSource& natural, const OrderRequest& request,
                                       const ScanBudget& budget, int threads, ProgressMeter& meter) {
  const TensorLayout layout = layout_of(natural.info());
  const Samples samples = sample(natural, layout, request.by_counts, budget, threads, meter);
  std::vector<OrderedMode> modes;
  for (const std::uint64_t mode : request.modes) {
    OrderedMode& chosen = modes.emplace_back();
    chosen.mode = mode;
    for (std::uint64_t other = 0; other < layout.shape().size(); ++other) {
      if (other == mode) continue;
      const double length = static_cast<double>(natural.info().nnz) / samples.fibers[other].count();
      if (length <= chosen.nonzeros_per_fiber) continue;
      chosen.nonzeros_per_fiber = length;
      if (length >= least_nonzeros_per_fiber) chosen.along = other;
    }
    // Passes of the mode already read such an order.
    chosen.has_copy = bit_modes_of(layout.shape(), chosen) != layout.bit_modes();
  }
  if (!request.by_counts) return modes;
  count_all_rows(natural, layout, samples, budget, threads, meter, modes);
  for (OrderedMode& mode : modes) {
    mode.has_copy = mode.has_copy && mode.rows_per_nonzero <= most_rows_per_nonzero;
  }
  return modes;
}

}  // namespace blco
