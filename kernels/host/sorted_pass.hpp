// Passes over chunks in the order of their own mode: each target row is added up in registers and written once.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <ranges>
#include <span>
#include <string>
#include <vector>

#include "blco/bits.hpp"
#include "blco/error.hpp"
#include "blco/executor.hpp"
#include "blco/layout.hpp"
#include "kernels/aligned_buffer.hpp"
#include "kernels/backend.hpp"
#include "kernels/backend_checks.hpp"
#include "kernels/bit_range.hpp"
#include "kernels/factor_set.hpp"
#include "kernels/host/entry_terms.hpp"
#include "kernels/host/frame_rows.hpp"
#include "kernels/host/loss_rows.hpp"
#include "kernels/host/mttkrp_rows.hpp"
#include "kernels/host/row_matrix.hpp"
#include "kernels/host/rows_task.hpp"

namespace blco {

// As min_fiber_nnz of arranged nonzeros. Less, because a line tells where its fiber ends. An order has fibers at its
// bottom from 3 nonzeros on, where they make it smaller: a tile whose fibers are short is added up one by one.
inline constexpr std::size_t min_sorted_fiber_nnz = 6;

// A chunk is cut into parts that depend on it alone, whoever works on them. What a part has of its first row, which the
// part before may end with, waits in a row of its own, and is added at the end, in the order of parts: so the numbers
// do not depend on the number of threads, and there are no copies of the output.
template <class Sum, class Factor>
class SortedPass {
 public:
  using Factors = FactorSet<FactorMatrix<Factor, Sum>>;

  // Factors and executor must outlive this. Only for the modes that have an order.
  SortedPass(const BackendConfig& config, BitExtraction extraction, const Factors& factors, Executor& executor,
             const MemorySource& memory = {})
      : stride_(padded_rank<Sum>(config.rank)), factors_(factors), executor_(executor) {
    for (int mode = 0; mode < static_cast<int>(config.orders.size()); ++mode) {
      const BitModes& bits = config.orders[static_cast<std::size_t>(mode)];
      if (bits.empty()) continue;
      const TensorLayout layout(config.layout.shape(), bits);
      require(layout.is_sorted_by(mode),
              "the bits of mode " + std::to_string(mode) + " do not lie on top of its order");
      orders_.emplace(mode, Order{FrameDecoder(layout, extraction), lowest_of(layout, mode)});
    }
    if (orders_.empty()) return;
    first_rows_ = AlignedBuffer<Sum>(most_parts * stride_, memory);
    if (!config.loss_passes && !config.all_outputs) return;
    weights_ = AlignedBuffer<double>(static_cast<std::uint64_t>(executor.width()) * tile_entries, memory);
  }

  // Throws Error{invalid_argument} for a mode without an order.
  const FrameDecoder& decoder(int mode) const { return order_of(mode).decoder; }

  // Adds a chunk in the order of its mode to the output of that mode, if the pass has one, and returns the sum of its
  // terms in a loss pass. One ring per thread. Throws Error: corrupt for lines in another order, invalid_argument for a
  // pass with other outputs.
  double add(const FrameSource& source, const PassRequest& request, RowsView<Sum> output, std::span<FrameRing> rings) {
    const Order& order = order_of(source.sorted_by);
    const bool serves = request.only_mode() == source.sorted_by || (request.outputs == 0 && !request.is_mttkrp());
    require(request.is_mttkrp() || weights_.size() > 0, "a loss pass, but the backend was made for none");
    require(serves && request.product == Product::hadamard,
            "a chunk in the order of mode " + std::to_string(source.sorted_by) + " serves that mode's output alone");
    const std::uint64_t parts =
        std::min<std::uint64_t>((source.frames() + tile_frames - 1) / tile_frames, std::uint64_t{most_parts});
    results_.assign(parts, {});
    std::atomic<std::uint64_t> next = 0;
    executor_.run(rings.size(), [&](std::size_t thread) {
      for (std::uint64_t number = next++; number < parts; number = next++) {
        Part part = make_part(source, order, number, output, rings[thread]);
        if (!request.is_mttkrp()) {
          const ModeSet all = all_modes(order.decoder.order());
          part.model = make_rows_task<Sum, Factor>(factors_, stride_, order.decoder, source, all, rings[thread]);
          part.function = &*request.function;
          part.weights = weights_.data() + thread * tile_entries;
        }
        const FrameRange frames = source.all_frames().cut(number, parts);
        if (order.decoder.decodes_to_lines()) {
          add_lines(source, order, frames, part, rings[thread]);
        } else {
          add_frames(source, order, frames, part, rings[thread]);
        }
        results_[number] = part.result;
      }
    });
    return add_first_rows(source, output);
  }

 private:
  // Enough for a hundred threads; more would only be more rows to add at the end.
  static constexpr std::uint64_t most_parts = 256;

  // Of a tile, to tell how long its fibers are.
  static constexpr std::size_t sampled_entries = 4 * frame_entries;
  static constexpr std::uint64_t tile_entries = tile_frames * frame_entries;

  using Task = RowsTask<Sum, Factor>;
  struct Order {
    FrameDecoder decoder;
    int lowest = -1;  // the mode all of whose bits lie below the others, if fibers may go along it; -1: there is none
  };
  // Rows are told by keys, which rise with them: the row's bits of a line, or the row.
  struct Result {
    std::uint64_t first_key = 0;
    std::uint64_t last_key = 0;
    double terms = 0;
  };
  struct Part {
    Task rows;
    Task fibers;
    Task model;                               // of loss passes
    Sum* first = nullptr;                     // where its first row is added up; null: there is no output
    const EntryFunction* function = nullptr;  // null: an MTTKRP
    double* weights = nullptr;
    Result result;
    bool is_in_first_row = true;
  };

  // Fibers need a mode beside these two.
  static int lowest_of(const TensorLayout& layout, int mode) {
    if (layout.order() < 3 || layout.has_high_word()) return -1;
    const int lowest = layout.bit_modes().front();
    const std::uint64_t mask = layout.mode(lowest).low_mask;
    return lowest != mode && (mask & (mask + 1)) == 0 ? lowest : -1;
  }

  const Order& order_of(int mode) const {
    const auto found = orders_.find(mode);
    require(found != orders_.end(), "a chunk in the order of mode " + std::to_string(mode) + ", which has none");
    return found->second;
  }

  std::uint64_t row_of(const FrameSource& source, std::uint64_t key) const {
    const FrameDecoder& decoder = order_of(source.sorted_by).decoder;
    return decoder.decodes_to_lines() ? pext_portable(key, decoder.row_mask(source.sorted_by)) : key;
  }

  static void check_order(bool is_sorted, const FrameSource& source) {
    if (is_sorted) return;
    throw Error(ErrorKind::corrupt, "chunk " + std::to_string(source.chunk) + " of the copy in the order of mode " +
                                        std::to_string(source.sorted_by) +
                                        " is not in that order; the file is damaged, ingest it again");
  }

  Part make_part(const FrameSource& source, const Order& order, std::uint64_t number, RowsView<Sum> output,
                 FrameRing& ring) {
    const int mode = source.sorted_by;
    Part part;
    const ModeSet others = all_modes(order.decoder.order()) & ~mode_bit(mode);
    Task& task = part.rows;
    task = make_rows_task<Sum, Factor>(factors_, stride_, order.decoder, source, others, ring);
    task.sorted = order.decoder.decodes_to_lines();
    for (int k = 0; k < task.factor_count; ++k) {
      const auto& factor = factors_[k < mode ? k : k + 1].matrix();
      task.factors[static_cast<std::size_t>(k)].prefetch = factor.bytes() > cached_bytes;
    }
    task.output.matrix = output.data;
    task.output.rows = ring.rows(mode);
    task.output.mask = order.decoder.row_mask(mode);
    if (output.data != nullptr) {
      part.first = first_rows_.data() + number * stride_;
      std::fill_n(part.first, stride_, Sum{0});
    }
    if (order.lowest < 0) return part;
    part.fibers = task;
    part.fibers.fiber_mask = ~order.decoder.row_mask(order.lowest);
    const auto along = part.fibers.factors.begin() + (order.lowest < mode ? order.lowest : order.lowest - 1);
    std::rotate(along, along + 1, part.fibers.factors.begin() + task.factor_count);
    return part;
  }

  // In the order of parts. Where these turn out to be in no order, two threads may have added to one row at once: the
  // pass ends with an error then, and nobody reads its output.
  double add_first_rows(const FrameSource& source, RowsView<Sum> output) {
    double terms = 0;
    for (std::size_t part = 0; part < results_.size(); ++part) {
      if (part > 0) check_order(results_[part - 1].last_key <= results_[part].first_key, source);
      terms += results_[part].terms;
      if (output.data == nullptr) continue;
      Sum* const to = output.row(row_of(source, results_[part].first_key));
      const Sum* const from = first_rows_.data() + part * stride_;
      for (std::uint64_t i = 0; i < stride_; ++i) to[i] += from[i];
    }
    return terms;
  }

  // Notes the keys of the next nonzeros, which key_of(0) to key_of(count - 1) tell, and returns how many of them are of
  // the part's first row.
  template <class KeyOf>
  static std::size_t enter(Part& part, const FrameSource& source, std::size_t count, bool is_begin,
                           const KeyOf& key_of) {
    const std::uint64_t key = key_of(0);
    if (is_begin) {
      part.result.first_key = key;
    } else {
      check_order(part.result.last_key <= key, source);
    }
    part.result.last_key = key_of(count - 1);
    if (!part.is_in_first_row) return 0;
    const auto all = std::views::iota(std::size_t{0}, count);
    const auto of_first = static_cast<std::size_t>(
        std::ranges::partition_point(all, [&](std::size_t at) { return key_of(at) <= part.result.first_key; }) -
        all.begin());
    part.is_in_first_row = of_first == count;
    return of_first;
  }

  // Adds the nonzeros of `range`, the first `of_first_row` of them to the part's first row; `values` begin with that of
  // the first one, and are nullptr if all are 1. `readable`: as for model_values.
  void add_range(Part& part, Task& task, NonzeroRange range, std::size_t of_first_row, const double* values,
                 std::size_t readable) {
    if (part.function != nullptr) {
      for (std::size_t first = 0; first < range.count; first += most_entries) {
        std::array<double, most_entries> models;
        const NonzeroRange some{range.begin + first, std::min(most_entries, range.count - first)};
        model_values(part.model, some, readable - first, models.data());
        part.result.terms += entry_terms(*part.function, values != nullptr ? values + first : nullptr, models.data(),
                                         some.count, part.weights + some.begin);
      }
      task.values = part.weights;
    }
    if (part.first == nullptr) return;
    if (of_first_row > 0) {
      Task first = task;
      first.output.matrix = part.first;
      first.output.mask = 0;  // of lines: it is a matrix of one row
      first.output.first_row = task.sorted ? 0 : part.result.first_key;
      mttkrp_rows(first, {range.begin, of_first_row});
    }
    mttkrp_rows(task, {range.begin + of_first_row, range.count - of_first_row});
  }

  void add_lines(const FrameSource& source, const Order& order, FrameRange frames, Part& part, FrameRing& ring) {
    const std::uint64_t mask = order.decoder.row_mask(source.sorted_by);
    for (std::uint64_t from = frames.first; from < frames.end; from += tile_frames) {
      const NonzeroSpan tile = order.decoder.tile_of(source, {from, std::min(frames.end, from + tile_frames)}, ring);
      const std::span<const std::uint64_t> lines(tile.indices, tile.count);
      check_order(rises_under(lines, mask), source);
      const std::size_t of_first =
          enter(part, source, lines.size(), from == frames.first, [&](std::size_t at) { return lines[at] & mask; });
      const auto sample = lines.first(std::min(lines.size(), sampled_entries));
      const bool in_fibers =
          order.lowest >= 0 && count_runs(sample, part.fibers.fiber_mask) * min_sorted_fiber_nnz <= sample.size();
      Task& task = in_fibers ? part.fibers : part.rows;
      task.lines = part.model.lines = tile.indices;
      task.values = tile.values;
      add_range(part, task, {0, lines.size()}, of_first, tile.values, lines.size());
    }
  }

  // Where a line alone does not give all rows.
  void add_frames(const FrameSource& source, const Order& order, FrameRange frames, Part& part, FrameRing& ring) {
    order.decoder.decode(source, frames.first, ring);
    for (std::uint64_t frame = frames.first; frame < frames.end; ++frame) {
      if (frame + 1 < frames.end) order.decoder.decode(source, frame + 1, ring);
      const std::size_t begin = frame % 2 * frame_entries;
      const auto count = static_cast<std::size_t>(source.entries_of(frame));
      const std::uint32_t* const rows = ring.rows(source.sorted_by) + begin;
      check_order(std::is_sorted(rows, rows + count), source);
      const std::size_t of_first =
          enter(part, source, count, frame == frames.first, [rows](std::size_t at) { return rows[at]; });
      add_range(part, part.rows, {begin, count}, of_first, ring.values() + begin, frame_entries);
    }
  }

  std::uint64_t stride_;
  const Factors& factors_;
  Executor& executor_;
  std::map<int, Order> orders_;
  AlignedBuffer<Sum> first_rows_;  // per part
  AlignedBuffer<double> weights_;  // per thread, of a tile, in loss passes
  std::vector<Result> results_;    // per part
};

}  // namespace blco
