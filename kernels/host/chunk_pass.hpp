// A pass on the CPU: cuts each chunk into one run of frames per thread, decodes some frames ahead of the row kernels,
// and adds their nonzeros to the outputs.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/backend_checks.hpp"
#include "kernels/factor_set.hpp"
#include "kernels/host/arranged_nonzeros.hpp"
#include "kernels/host/entry_terms.hpp"
#include "kernels/host/frame_rows.hpp"
#include "kernels/host/loss_rows.hpp"
#include "kernels/host/mttkrp_rows.hpp"
#include "kernels/host/pass_output.hpp"
#include "kernels/host/row_exchange.hpp"
#include "kernels/host/row_matrix.hpp"
#include "kernels/host/rows_task.hpp"
#include "kernels/host/ttmc_rows.hpp"

namespace blco {

// Owns the outputs: one for the longest mode, or one per mode with config.all_outputs.
//
// In a loss pass each part computes the weights of some nonzeros at a time and adds these to all outputs, as an MTTKRP
// with the weights as values does. Where threads own the rows of some output, all parts first write the weights of many
// frames, which are then added mode by mode. Terms are added up per frame, and then in the order of frames. So neither
// sums nor outputs depend on which of both happens.
template <class Sum, class Factor>
class ChunkPass {
 public:
  using Factors = FactorSet<FactorMatrix<Factor, Sum>>;

  // Decoder, factors and executor must outlive this.
  ChunkPass(const BackendConfig& config, const FrameDecoder& decoder, const Factors& factors, Executor& executor,
            const MemorySource& memory = {})
      : layout_(config.layout),
        rows_(config.rows()),
        rank_(config.rank),
        decoder_(decoder),
        factors_(factors),
        executor_(executor),
        stop_(config.stop),
        takes_natural_chunks_(config.natural_chunks) {
    const int threads = executor.width();
    for (const std::uint64_t numbers : output_numbers(config)) {
      outputs_.emplace_back(numbers, private_share(config, numbers, threads), executor_, memory);
    }
    for (int mode = 0; mode < layout_.order(); ++mode) strides_.push_back(stride_of(config, mode));
    if (!config.columns.empty()) make_kronecker(config, threads, memory);
    for (int part = 0; part < threads; ++part) rings_.emplace_back(layout_.order(), memory);
    if (!needs_exchange(config, threads)) return;
    exchange_.emplace(config.layout, decoder_, executor_, memory);
    if (!config.all_outputs && !config.loss_passes) return;
    weights_ = AlignedBuffer<double>(weighed_frames(threads) * frame_entries, memory);
  }

  // The largest config.private_bytes of use.
  static std::uint64_t useful_private_bytes(const BackendConfig& config, int threads) {
    std::uint64_t bytes = 0;
    for (const std::uint64_t numbers : output_numbers(config)) bytes += useful_share(config, numbers, threads);
    return bytes;
  }

  void begin(const PassRequest& request) {
    require(request.outputs >> layout_.order() == 0, "begin_pass: a mode that the tensor does not have");
    require(request.only_mode() >= 0 || (!request.is_mttkrp() && (request.outputs == 0 || outputs_.size() > 1)),
            "begin_pass: several outputs, but the backend was made for one");
    require(!request.continues || request.outputs == request_.outputs,
            "begin_pass: the pass continues one with other outputs");
    check_product(request, !kronecker_.empty());
    request_ = request;
    if (request.continues) return;
    sum_of_terms_ = 0;
    for_each_mode([&](int mode) {
      output(mode).begin(rows_[static_cast<std::size_t>(mode)], strides_[static_cast<std::size_t>(mode)]);
    });
  }

  // Decodes all frames, whatever the product, and so looks at the rows of all modes unless they are proved.
  void add(const FrameSource& source) {
    require(takes_natural_chunks_, "a chunk in the natural order, but the backend was made for none");
    for_each_mode(
        [&](int mode) { output(mode).open_chunk(source.places[static_cast<std::size_t>(mode)], source.nnz); });
    if (request_.is_mttkrp()) {
      add_mode(source, request_.only_mode(), source.all_frames());
    } else {
      add_losses(source);
    }
    for_each_mode([&](int mode) { output(mode).close_chunk(); });
  }

  // Of what has been added to the outputs beside.
  void add_terms(double sum) { sum_of_terms_ += sum; }

  // Instead of the chunks from which they are. Not in loss passes.
  void add_arranged(const ArrangedNonzeros& nonzeros) {
    const int mode = request_.only_mode();
    require(nonzeros.fiber_ends.size() == 0 || !has_kronecker(), "Kronecker products have no loop for fibers");
    Task task;
    std::uint64_t read_bytes = 0;
    for (const int other : nonzeros.modes) {
      const auto& factor = factors_[other].matrix();
      const auto k = static_cast<std::size_t>(task.factor_count++);
      task.factors[k] = {factor.row(0), nonzeros.rows[k].data()};
      task.factors[k].prefetch = factor.bytes() > cached_bytes;
      read_bytes += factor.bytes();
    }
    task.prefetch = read_bytes > prefetched_bytes(padded_rank<Sum>(rank_) * sizeof(Factor));
    task.output = output(mode).target(0);
    task.output.rows = nonzeros.targets.data();
    task.target_ends = nonzeros.target_ends.data();
    task.fiber_ends = nonzeros.fiber_ends.data();
    task.values = nonzeros.values.data();
    task.stride = padded_rank<Sum>(rank_);
    const std::uint64_t stride = strides_[static_cast<std::size_t>(mode)];
    if (shared_rows_.size() < nonzeros.parts.size() * stride) {
      shared_rows_ = AlignedBuffer<Sum>(nonzeros.parts.size() * stride);
    }
    executor_.run(nonzeros.parts.size(), [&](std::size_t part) {
      auto [begin, end, shares_first] = nonzeros.parts[part];
      if (shares_first) {
        Task first = task;
        first.output.matrix = shared_rows_.data() + part * stride;
        first.output.first_row = nonzeros.targets.data()[begin];
        std::fill_n(first.output.matrix, stride, Sum{0});
        add_rows(first, mode, part, {begin++, 1});
      }
      add_rows(task, mode, part, {begin, end - begin});
    });
    for (std::size_t part = 0; part < nonzeros.parts.size(); ++part) {
      if (!nonzeros.parts[part].shares_first) continue;
      Sum* to = task.output.matrix + nonzeros.targets.data()[nonzeros.parts[part].begin] * stride;
      const Sum* from = shared_rows_.data() + part * stride;
      for (std::uint64_t i = 0; i < stride; ++i) to[i] += from[i];
    }
  }

  void finish() {
    for_each_mode([&](int mode) { output(mode).finish(); });
  }

  // Throws Error{invalid_argument} unless the last pass filled the output of `mode`.
  PassOutput<Sum>& output(int mode) {
    require(has_mode(request_.outputs, mode), "the last pass was not one of mode " + std::to_string(mode));
    return outputs_[output_of(mode)];
  }

  const PassOutput<Sum>& output(int mode) const {
    require(has_mode(request_.outputs, mode), "the last pass was not one of mode " + std::to_string(mode));
    return outputs_[output_of(mode)];
  }

  // The last pass was one of Kronecker products: how the rows of this output lie in memory.
  const KroneckerRow& kronecker_row_of(int mode) const { return kronecker_[static_cast<std::size_t>(mode)].row; }
  bool has_kronecker() const { return !kronecker_.empty(); }

  double sum_of_terms() const { return sum_of_terms_; }
  // One per thread.
  std::span<FrameRing> rings() { return rings_; }
  // Frees the outputs. No passes may follow.
  void release() {
    for (PassOutput<Sum>& output : outputs_) output.release();
  }

 private:
  // Numbers that a thread adds to rows of Kronecker products between two polls, a fraction of a second.
  static constexpr std::uint64_t polled_sums = std::uint64_t{1} << 28;

  // Nonzeros of a loss pass whose rows stay in the L1 cache from the model's values to the last output.
  static constexpr std::size_t loss_entries = most_entries;
  static_assert(frame_entries % loss_entries == 0);

  // Rounds of an exchange whose weights are in memory at once: enough that the first and the last, in which the threads
  // do half the work, matter little.
  static constexpr std::uint64_t weighed_rounds = 4;

  // Some chunk's rows may have to be owned by one thread each; else every thread has a copy of the whole output.
  static bool needs_exchange(const BackendConfig& config, int threads) {
    return config.natural_chunks && config.private_bytes < useful_private_bytes(config, threads);
  }

  static std::uint64_t weighed_frames(int threads) { return weighed_rounds * RowExchange::frames_of_a_round(threads); }

  static std::uint64_t stride_of(const BackendConfig& config, int mode) {
    return config.columns.empty() ? padded_rank<Sum>(config.rank) : kronecker_row<Sum>(config, mode).stride;
  }

  // Of each output.
  static std::vector<std::uint64_t> output_numbers(const BackendConfig& config) {
    std::vector<std::uint64_t> numbers;
    for (int mode = 0; mode < config.layout.order(); ++mode) {
      numbers.push_back(config.rows_of(mode) * stride_of(config, mode));
    }
    if (config.all_outputs) return numbers;
    return {std::ranges::max(numbers)};
  }

  void make_kronecker(const BackendConfig& config, int threads, const MemorySource& memory) {
    std::uint64_t most = 0;
    for (int mode = 0; mode < layout_.order(); ++mode) {
      KroneckerTask<Sum> task{.row = kronecker_row<Sum>(config, mode)};
      std::size_t factor = 0;
      for (int other = 0; other < layout_.order(); ++other) {
        if (other == mode) continue;
        task.columns[factor] = static_cast<std::uint64_t>(config.columns_of(other));
        task.strides[factor++] = padded_rank<Sum>(config.columns_of(other));
      }
      most = std::max(most, task.row.choices);
      kronecker_.push_back(task);
    }
    for (int part = 0; part < threads; ++part) products_.emplace_back(most_together * most, memory);
  }

  // Of an output of so many numbers, the private copies that passes over natural chunks can use.
  static std::uint64_t useful_share(const BackendConfig& config, std::uint64_t numbers, int threads) {
    if (config.all_outputs || config.orders.empty()) return PassOutput<Sum>::useful_private_bytes(numbers, threads);
    std::uint64_t most = 0;
    for (int mode = 0; mode < config.layout.order(); ++mode) {
      if (!config.orders[static_cast<std::size_t>(mode)].empty()) continue;
      most = std::max(most, config.rows_of(mode) * stride_of(config, mode));
    }
    return PassOutput<Sum>::useful_private_bytes(most, threads);
  }

  // The part of config.private_bytes that an output of so many numbers gets: all that is of use to it, or whole pages
  // in proportion to that.
  static std::uint64_t private_share(const BackendConfig& config, std::uint64_t numbers, int threads) {
    const std::uint64_t all = useful_private_bytes(config, threads);
    const std::uint64_t useful = useful_share(config, numbers, threads);
    if (config.private_bytes >= all) return useful;
    const double share = static_cast<double>(config.private_bytes) / static_cast<double>(all);
    return std::min(useful, static_cast<std::uint64_t>(share * static_cast<double>(useful)) / page_bytes * page_bytes);
  }

  using Task = RowsTask<Sum, Factor>;
  // What a part reads and where it adds in a loss pass.
  struct LossTasks {
    Task model;
    std::vector<Task> outputs;  // empty: none, or `scatter` does it
    std::optional<ScatterTask<Sum, Factor>> scatter = {};
    double* weights = nullptr;             // of the nonzeros of a frame
    std::size_t readable = frame_entries;  // nonzeros from the first one of the frame on
  };

  std::size_t output_of(int mode) const { return outputs_.size() == 1 ? 0 : static_cast<std::size_t>(mode); }
  template <class Visit>
  void for_each_mode(const Visit& visit) const {
    for (int mode = 0; mode < layout_.order(); ++mode) {
      if (has_mode(request_.outputs, mode)) visit(mode);
    }
  }

  // The modes of `read` as factors.
  RowsTask<Sum, Factor> make_task(const FrameSource& source, ModeSet read, std::size_t part) {
    return make_rows_task<Sum, Factor>(factors_, padded_rank<Sum>(rank_), decoder_, source, read, rings_[part]);
  }

  // Adds to all modes; the factors are those of `model`.
  ScatterTask<Sum, Factor> make_scatter_task(const Task& model, std::size_t part) {
    ScatterTask<Sum, Factor> task;
    task.factors = model.factors;
    task.order = layout_.order();
    task.stride = model.stride;
    task.prefetch = model.prefetch;
    for_each_mode([&](int mode) { task.outputs[static_cast<std::size_t>(mode)] = output(mode).target(part); });
    return task;
  }

  // Adds to `mode`, and reads the others.
  RowsTask<Sum, Factor> make_output_task(const FrameSource& source, int mode, std::size_t part) {
    Task task = make_task(source, all_modes(layout_.order()) & ~mode_bit(mode), part);
    task.output = output(mode).target(part);
    task.output.rows = rings_[part].rows(mode);
    task.output.mask = decoder_.row_mask(mode);
    return task;
  }

  void add_mode(const FrameSource& source, int mode, FrameRange frames) {
    if (output(mode).is_owned_by_rows()) {
      exchange_->run(source, frames, mode, bits_within_a_line(strides_[static_cast<std::size_t>(mode)] * sizeof(Sum)),
                     rings_,
                     [&](std::size_t part, const NonzeroSpan& nonzeros) { add_owned(source, mode, part, nonzeros); });
    } else {
      executor_.run(rings_.size(), [&](std::size_t part) { add_part(source, mode, frames, part); });
    }
  }

  void add_part(const FrameSource& source, int mode, FrameRange frames, std::size_t part) {
    const FrameRange own = frames.cut(part, rings_.size());
    if (own.count() == 0) return;
    const Task task = make_output_task(source, mode, part);
    if (decoder_.decodes_to_lines()) return add_lines(source, task, mode, own, part);
    decoder_.decode(source, own.first, rings_[part]);
    for (std::uint64_t frame = own.first; frame < own.end; ++frame) {
      if (frame + 1 < own.end) decoder_.decode(source, frame + 1, rings_[part]);
      add_rows(task, mode, part, {frame % 2 * frame_entries, static_cast<std::size_t>(source.entries_of(frame))});
    }
  }

  // Adds to `mode`, whose task this is.
  void add_rows(const Task& task, int mode, std::size_t part, NonzeroRange range) {
    if (request_.product == Product::hadamard) return mttkrp_rows(task, range);
    KroneckerTask<Sum> product = kronecker_[static_cast<std::size_t>(mode)];
    product.products = products_[part].data();
    const std::size_t most = std::max<std::size_t>(1, polled_sums / product.row.columns());
    for (const std::size_t end = range.begin + range.count; range.begin < end; range.begin += range.count) {
      give_up_if(stop_);
      range.count = std::min(most, end - range.begin);
      ttmc_rows(task, product, range);
    }
  }

  void add_lines(const FrameSource& source, Task task, int mode, FrameRange frames, std::size_t part) {
    if (source.decoded != nullptr) {
      const std::uint64_t begin = frames.first * frame_entries;
      task.lines = source.decoded->indices.data() + begin;
      task.values = source.values_of(frames.first);
      return add_rows(task, mode, part, {0, std::min(frames.end * frame_entries, source.nnz) - begin});
    }
    for (std::uint64_t from = frames.first; from < frames.end; from += tile_frames) {
      const NonzeroSpan tile = decoder_.tile_of(source, {from, std::min(frames.end, from + tile_frames)}, rings_[part]);
      task.lines = tile.indices;
      task.values = tile.values;
      add_rows(task, mode, part, {0, tile.count});
    }
  }

  void add_owned(const FrameSource& source, int mode, std::size_t part, const NonzeroSpan& nonzeros) {
    Task task = make_output_task(source, mode, part);
    if (decoder_.decodes_to_lines()) {
      task.lines = nonzeros.indices;
      task.values = nonzeros.values;
      return add_rows(task, mode, part, {0, nonzeros.count});
    }
    for (std::size_t first = 0; first < nonzeros.count; first += frame_entries) {
      const std::size_t count = std::min<std::size_t>(frame_entries, nonzeros.count - first);
      decoder_.expand({nonzeros.indices + first, nonzeros.keys != nullptr ? nonzeros.keys + first : nullptr,
                       nonzeros.values != nullptr ? nonzeros.values + first : nullptr, count},
                      rings_[part]);
      add_rows(task, mode, part, {0, count});
    }
  }

  void add_losses(const FrameSource& source) {
    frame_sums_.assign(source.frames(), 0.0);
    bool has_owners = false;
    for_each_mode([&](int mode) { has_owners = has_owners || output(mode).is_owned_by_rows(); });
    if (has_owners) {
      add_losses_by_mode(source);
    } else {
      executor_.run(rings_.size(), [&](std::size_t part) {
        add_losses_of_part(source, source.all_frames().cut(part, rings_.size()), part, nullptr);
      });
    }
    for (const double sum : frame_sums_) sum_of_terms_ += sum;
  }

  void add_losses_by_mode(const FrameSource& source) {
    const std::uint64_t most = weighed_frames(executor_.width());
    require(weights_.size() > 0, "a loss pass, but the backend was made for none");
    FrameSource weighed = source;
    weighed.weights = weights_.data();
    weighed.rows_proved = true;  // where its weights are made
    for (std::uint64_t first = 0; first < source.frames(); first += most) {
      const FrameRange frames{first, std::min(first + most, source.frames())};
      executor_.run(rings_.size(), [&](std::size_t part) {
        const FrameRange own = frames.cut(part, rings_.size());
        add_losses_of_part(source, own, part, weights_.data() + (own.first - first) * frame_entries);
      });
      weighed.weights_frame = first;
      for_each_mode([&](int mode) { add_mode(weighed, mode, frames); });
    }
  }

  // Adds to all outputs; or, if `weights` is set, only writes the weights of the frames there.
  void add_losses_of_part(const FrameSource& source, FrameRange frames, std::size_t part, double* weights) {
    if (frames.count() == 0) return;
    LossTasks tasks{make_task(source, all_modes(layout_.order()), part), {}, {}, weights};
    std::array<double, ring_entries> own_weights;
    if (weights == nullptr) {
      tasks.weights = own_weights.data();
      if (request_.outputs == all_modes(layout_.order()) && can_scatter(layout_.order()) &&
          decoder_.decodes_to_lines()) {
        tasks.scatter = make_scatter_task(tasks.model, part);
      } else {
        for_each_mode([&](int mode) {
          tasks.outputs.push_back(make_output_task(source, mode, part));
          tasks.outputs.back().values = own_weights.data();
        });
      }
    }
    if (decoder_.decodes_to_lines()) return add_losses_of_lines(source, frames, part, tasks, weights);
    FrameRing& ring = rings_[part];
    decoder_.decode(source, frames.first, ring);
    for (std::uint64_t frame = frames.first; frame < frames.end; ++frame) {
      if (frame + 1 < frames.end) decoder_.decode(source, frame + 1, ring);
      const std::size_t begin = frame % 2 * frame_entries;
      tasks.weights =
          weights != nullptr ? weights + (frame - frames.first) * frame_entries : own_weights.data() + begin;
      add_losses_of_frame(source, frame, tasks, begin, ring.values() + begin);
    }
  }

  void add_losses_of_lines(const FrameSource& source, FrameRange frames, std::size_t part, LossTasks& tasks,
                           double* weights) {
    FrameRing& ring = rings_[part];
    for (std::uint64_t frame = frames.first; frame < frames.end; ++frame) {
      const NonzeroSpan nonzeros = decoder_.lines_of(source, frame, ring);
      tasks.model.lines = nonzeros.indices;
      if (source.decoded != nullptr) tasks.readable = (frames.end - frame) * frame_entries;
      for (Task& task : tasks.outputs) task.lines = nonzeros.indices;
      if (weights != nullptr) tasks.weights = weights + (frame - frames.first) * frame_entries;
      add_losses_of_frame(source, frame, tasks, 0, nonzeros.values);
    }
  }

  // The nonzeros of the frame begin at `begin` of the ring or of the lines; their values may be nullptr, if all are 1.
  void add_losses_of_frame(const FrameSource& source, std::uint64_t frame, LossTasks& tasks, std::size_t begin,
                           const double* values) {
    const auto count = static_cast<std::size_t>(source.entries_of(frame));
    std::array<double, loss_entries> models;
    double sum = 0;
    for (std::size_t first = 0; first < count; first += loss_entries) {
      const NonzeroRange range{begin + first, std::min(loss_entries, count - first)};
      const std::size_t readable = tasks.readable - first;
      model_values(tasks.model, range, readable, models.data());
      sum += entry_terms(*request_.function, values != nullptr ? values + first : nullptr, models.data(), range.count,
                         tasks.weights + first);
      for (const Task& task : tasks.outputs) mttkrp_rows(task, range);
      if (tasks.scatter) {
        tasks.scatter->lines = tasks.model.lines + range.begin;
        tasks.scatter->weights = tasks.weights + first;
        tasks.scatter->readable = readable;
        scatter_rows(*tasks.scatter, range.count);
      }
    }
    frame_sums_[frame] = sum;
  }

  TensorLayout layout_;
  std::vector<std::uint64_t> rows_;  // per mode
  int rank_;
  const FrameDecoder& decoder_;
  const Factors& factors_;
  Executor& executor_;
  StopPoll stop_;
  bool takes_natural_chunks_;
  std::optional<RowExchange> exchange_;  // set if rows may have owners
  std::vector<PassOutput<Sum>> outputs_;
  std::vector<std::uint64_t> strides_;         // per mode, of its output
  std::vector<KroneckerTask<Sum>> kronecker_;  // per mode; empty: all factors have `rank_` columns
  // Per part, products of one number of each factor but the last, of a few nonzeros.
  std::vector<AlignedBuffer<Sum>> products_;
  std::vector<FrameRing> rings_;    // per part
  AlignedBuffer<Sum> shared_rows_;  // of arranged parts, which share their first row with others
  AlignedBuffer<double> weights_;   // of a loss pass whose outputs have owned rows
  PassRequest request_ = 0;
  std::vector<double> frame_sums_;  // of its terms
  double sum_of_terms_ = 0;
};

}  // namespace blco
