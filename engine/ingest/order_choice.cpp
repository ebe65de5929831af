// Sorts some chunks as copies have them, and counts the fibers and rows that follow each other.
#include "engine/ingest/order_choice.hpp"

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <atomic>
#include <blco/tensor.hpp>
#include <span>

#include "blco/bits.hpp"
#include "engine/ingest/chunk_sort.hpp"
#include "engine/ingest/sort/ingest_plan.hpp"
#include "engine/tensor/tensor_sizes.hpp"

namespace blco {
namespace {

// With fewer in the mean, adding a fiber up first takes longer than adding its nonzeros one by one.
constexpr double least_nonzeros_per_fiber = 3;

// Of the chunks that are counted: at least so many, and more where they are small.
constexpr std::uint64_t least_sampled_chunks = 2;
constexpr std::uint64_t sampled_nonzeros = std::uint64_t{1} << 20;
// Of each, those in the middle among which rows are counted.
constexpr std::uint64_t most_in_window = std::uint64_t{1} << 16;

std::size_t window_of(std::uint64_t nnz) { return std::min(nnz, most_in_window); }

// Some chunks of a tensor, spread evenly.
class Sample {
 public:
  Sample(const ChunkSource& natural, const ScanBudget& budget, Executor& executor, ProgressMeter& meter)
      : natural_(natural), sort_(natural), executor_(executor), meter_(meter) {
    const ContainerInfo& info = natural.info();
    const std::uint64_t all = info.chunk_count();
    const std::uint64_t count =
        std::min(all, std::max(least_sampled_chunks, (sampled_nonzeros - 1) / info.chunk_nnz + 1));
    for (std::uint64_t i = 0; i < count; ++i) {
      chunks_.push_back((2 * i + 1) * all / (2 * count));
      nonzeros_ += info.nnz_of_chunk(chunks_.back());
      window_nonzeros_ += window_of(info.nnz_of_chunk(chunks_.back()));
      stored_bytes_ += natural.stored_bytes(chunks_.back());
    }
    const TensorSizes sizes = measure_tensor(natural);
    const std::uint64_t fixed = max_program_bytes + sizes.table_bytes + natural.held_bytes() + budget.fixed_bytes;
    const std::uint64_t each = order_choice_bytes(layout_of(info).has_high_word(), std::min(info.chunk_nnz, info.nnz),
                                                  sizes.largest_buffer() + sizes.largest_scratch());
    const std::uint64_t most = budget.total_bytes < fixed ? 0 : (budget.total_bytes - fixed) / each;
    workers_ = std::clamp<std::uint64_t>(most, 1, static_cast<std::uint64_t>(executor.width()));
  }

  std::uint64_t nonzeros() const { return nonzeros_; }
  std::uint64_t window_nonzeros() const { return window_nonzeros_; }

  // Sorts each chunk in each of the layouts; the sums, per layout, of what count(layout, sorted) returns.
  template <class Count>
  std::vector<std::uint64_t> add_up(const std::vector<TensorLayout>& layouts, const Count& count) const {
    std::vector<std::atomic<std::uint64_t>> sums(layouts.size());
    std::atomic<std::size_t> next = 0;
    meter_.begin({.name = "count", .nonzeros = nonzeros_});
    executor_.run(workers_, [&](std::size_t) {
      SortedBatch sorted;
      for (std::size_t i = next++; i < chunks_.size() * layouts.size(); i = next++) {
        const std::size_t l = i % layouts.size();
        sort_.run_lines(chunks_[i / layouts.size()], layouts[l], sorted);
        sums[l] += count(l, sorted);
      }
    });
    meter_.advance(nonzeros_, stored_bytes_);
    meter_.end();
    return {sums.begin(), sums.end()};
  }

 private:
  const ChunkSource& natural_;
  ChunkSort sort_;
  Executor& executor_;
  ProgressMeter& meter_;
  std::vector<std::uint64_t> chunks_;
  std::uint64_t nonzeros_ = 0;         // of all of them
  std::uint64_t window_nonzeros_ = 0;  // and of their windows
  std::uint64_t stored_bytes_ = 0;
  std::size_t workers_ = 1;
};

// Per mode, the nonzeros of a fiber along it in the mean.
std::vector<double> nonzeros_per_fiber(const Sample& sample, const std::vector<std::uint64_t>& shape) {
  std::vector<TensorLayout> layouts;  // with the mode at the bottom
  for (std::size_t n = 0; n < shape.size(); ++n) {
    layouts.emplace_back(shape, bit_modes_of(shape, n == 0 ? 1 : 0, static_cast<int>(n)));
  }
  const std::vector<std::uint64_t> fibers = sample.add_up(layouts, [&](std::size_t n, const SortedBatch& sorted) {
    const std::uint64_t others = ~layouts[n].mode(static_cast<int>(n)).low_mask;
    std::uint64_t count = 1;
    for (std::size_t i = 1; i < sorted.low.size(); ++i) {
      const bool is_other = ((sorted.low[i] ^ sorted.low[i - 1]) & others) != 0;
      count += is_other || (!sorted.key.empty() && sorted.key[i] != sorted.key[i - 1]) ? 1U : 0U;
    }
    return count;
  });
  std::vector<double> lengths;
  for (const std::uint64_t count : fibers) {
    lengths.push_back(static_cast<double>(sample.nonzeros()) / static_cast<double>(count));
  }
  return lengths;
}

// Distinct rows of all modes in the window of a chunk.
std::uint64_t rows_in_window(const TensorLayout& layout, const SortedBatch& sorted) {
  const std::size_t count = window_of(sorted.low.size());
  const std::size_t first = (sorted.low.size() - count) / 2;
  std::vector<std::uint64_t> rows(count);
  std::uint64_t distinct = 0;
  for (int n = 0; n < layout.order(); ++n) {
    const ModeLayout& mode = layout.mode(n);
    for (std::size_t i = 0; i < count; ++i) {
      rows[i] = pext(sorted.low[first + i], mode.low_mask);
      if (mode.high_mask != 0) rows[i] |= pext(sorted.key[first + i], mode.high_mask) << mode.low_bits;
    }
    hwy::Sorter()(rows.data(), rows.size(), hwy::SortAscending());
    distinct += static_cast<std::uint64_t>(std::ranges::unique(rows).begin() - rows.begin());
  }
  return distinct;
}

}  // namespace

OrderRequest parse_orders(const std::vector<std::string>& words, const std::vector<std::uint64_t>& shape,
                          const std::vector<std::string>& names) {
  OrderRequest request;
  const auto is = [&](const char* word) { return words.size() == 1 && words[0] == word; };
  if (words.empty() || is("none")) return request;
  request.by_counts = is("auto");
  request.by_name = !is("auto") && !is("all");
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

BitModes bit_modes_of(const std::vector<std::uint64_t>& shape, const OrderedMode& mode) {
  return bit_modes_of(shape, static_cast<int>(mode.mode), mode.along ? static_cast<int>(*mode.along) : -1);
}

std::uint64_t order_choice_bytes(bool has_high_word, std::uint64_t chunk_nnz, std::uint64_t reading_bytes) {
  return ChunkSort::bytes(has_high_word, chunk_nnz, reading_bytes) + most_in_window * sizeof(std::uint64_t);
}

std::vector<OrderedMode> choose_orders(const ChunkSource& natural, const OrderRequest& request,
                                       const ScanBudget& budget, Executor& executor, ProgressMeter& meter) {
  const std::vector<std::uint64_t>& shape = natural.info().shape;
  const BitModes natural_bits = layout_of(natural.info()).bit_modes();
  const Sample sample(natural, budget, executor, meter);
  const std::vector<double> lengths = shape.size() > 1 ? nonzeros_per_fiber(sample, shape) : std::vector<double>(1);
  std::vector<OrderedMode> modes;
  std::vector<TensorLayout> layouts;
  for (const std::uint64_t mode : request.modes) {
    OrderedMode& chosen = modes.emplace_back();
    chosen.mode = mode;
    for (std::uint64_t other = 0; other < shape.size(); ++other) {
      if (other == mode || lengths[other] <= chosen.nonzeros_per_fiber) continue;
      chosen.nonzeros_per_fiber = lengths[other];
      if (lengths[other] >= least_nonzeros_per_fiber) chosen.along = other;
    }
    layouts.emplace_back(shape, bit_modes_of(shape, chosen));
    // Passes of the mode already read such an order.
    chosen.has_copy = layouts.back().bit_modes() != natural_bits;
  }
  if (!request.by_counts) return modes;
  const std::vector<std::uint64_t> rows = sample.add_up(
      layouts, [&](std::size_t i, const SortedBatch& sorted) { return rows_in_window(layouts[i], sorted); });
  for (std::size_t i = 0; i < modes.size(); ++i) {
    modes[i].rows_per_nonzero = static_cast<double>(rows[i]) / static_cast<double>(sample.window_nonzeros());
    modes[i].has_copy = modes[i].has_copy && modes[i].rows_per_nonzero <= most_rows_per_nonzero;
  }
  return modes;
}

}  // namespace blco
