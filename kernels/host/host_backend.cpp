// The CPU backend: cuts each chunk into one run of frames per thread, and decodes some frames ahead of the row kernels.
#include "kernels/host/host_backend.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "blco/bits.hpp"
#include "blco/error.hpp"
#include "kernels/aligned_buffer.hpp"
#include "kernels/backend_checks.hpp"
#include "kernels/factor_set.hpp"
#include "kernels/host/factor_matrix.hpp"
#include "kernels/host/flushing_executor.hpp"
#include "kernels/host/frame_rows.hpp"
#include "kernels/host/host_dense.hpp"
#include "kernels/host/mttkrp_rows.hpp"
#include "kernels/host/pass_output.hpp"
#include "kernels/host/resident_chunks.hpp"
#include "kernels/host/row_exchange.hpp"
#include "kernels/host/row_matrix.hpp"

namespace blco {
namespace {

class MappedBuffer final : public HostBuffer {
 public:
  explicit MappedBuffer(std::uint64_t bytes) : buffer_(bytes) {}
  std::span<std::byte> bytes() override { return buffer_.span(); }

 private:
  AlignedBuffer<std::byte> buffer_;
};

template <class T>
RowsView<T> solution_rows(RowsView<T>, const FactorView<T>& factor) {
  return factor.rows;
}
// Until its columns are normalised, a solution may exceed the range of f32: it waits where the output was.
RowsView<double> solution_rows(RowsView<double> output, const FactorView<float>&) { return output; }

template <class Sum, class Factor = Sum>
class HostBackend final : public Backend {
 public:
  HostBackend(const BackendConfig& config, Executor& executor);

  std::string name() const override { return "host"; }
  std::unique_ptr<HostBuffer> allocate_host(std::uint64_t bytes) override {
    return std::make_unique<MappedBuffer>(bytes);
  }

  void load_factor(int mode, std::uint64_t first_row, std::span<const double> rows) override;
  void store_factor(int mode, std::uint64_t first_row, std::span<double> rows) const override;
  void load_rows(int mode, std::span<const std::uint32_t> rows, std::span<const double> values) override;
  void store_rows(int mode, std::span<const std::uint32_t> rows, std::span<double> values) const override;
  std::vector<double> take_factor(int mode) override;
  void load_dual(int mode, std::uint64_t first_row, std::span<const double> rows) override {
    copy_in(rows, view(duals_[mode]), first_row);
  }
  void store_dual(int mode, std::uint64_t first_row, std::span<double> rows) const override {
    copy_out(view(duals_[mode]), first_row, rows);
  }
  void begin_pass(const PassRequest& request) override;
  void submit(int, const ChunkView& chunk) override {
    form_ = {};
    add_chunk(decoder_.open(chunk));
  }
  void wait_lane(int) override {}
  ResidentId keep(int, const ChunkView& chunk, ResidentForm form) override {
    return residents_.keep(chunk, form, rings_);
  }
  void submit_resident(ResidentId chunk) override;
  std::uint64_t tree_chunks() const override { return residents_.trees(); }
  void finish_pass() override { output_.finish(); }
  double sum_of_terms() const override { return 0; }
  void read_output(int mode, std::uint64_t first_row, std::span<double> rows) const override;

  RowUpdate update_rows(int mode, const RowProblem& problem) override;
  void restore_factor(int mode) override {
    factors_.restore(mode);
    duals_.restore(mode);
  }
  std::span<const double> gram(int mode) override;

 private:
  using Matrix = FactorMatrix<Factor, Sum>;
  using Dual = RowMatrix<Factor, Sum>;

  // Calls visit(i) for i from 0 to count - 1, on all threads.
  template <class Visit>
  void for_each(std::uint64_t count, const Visit& visit) const {
    const std::size_t slices = rings_.size();
    executor_.run(slices, [&](std::size_t slice) {
      for (std::uint64_t i = count * slice / slices; i < count * (slice + 1) / slices; ++i) visit(i);
    });
  }
  void copy_in(std::span<const double> from, RowsView<Factor> to, std::uint64_t first_row) const;
  template <class Number>
  void copy_out(RowsView<const Number> from, std::uint64_t first_row, std::span<double> to) const;
  void add_chunk(const FrameSource& source);
  void add_part(const FrameSource& source, std::size_t part);
  void add_lines(const FrameSource& source, std::uint64_t first, std::uint64_t end, std::size_t part);
  void add_owned(const FrameSource& source, std::size_t part, const NonzeroSpan& nonzeros);
  void add_sorted(const FrameSource& source, std::size_t part);
  void add_fibers(const FrameSource& source, std::size_t part);
  void trace(std::string_view name, std::chrono::steady_clock::time_point begin, std::uint64_t chunk) const;
  RowsTask<Sum, Factor> make_task(const FrameSource& source, std::size_t part);

  TensorLayout layout_;
  int rank_;
  mutable FlushingExecutor executor_;
  FrameDecoder decoder_;
  std::optional<RowExchange> exchange_;  // set if rows may have owners
  FactorSet<Matrix> factors_;
  FactorSet<Dual> duals_;                   // empty but for modes that ADMM solves
  std::vector<std::vector<double>> grams_;  // empty: out of date, rows were loaded
  PassOutput<Sum> output_;
  DenseKernels dense_;
  std::vector<FrameRing> rings_;  // per part
  ResidentChunks<Sum> residents_;
  ChunkForm<Sum> form_;  // of the current chunk, for the mode of the pass
  int pass_mode_ = 0;
  std::uint64_t matrix_bytes_ = 0;  // of all factors
  TraceSink* trace_;
};

template <class Sum, class Factor>
HostBackend<Sum, Factor>::HostBackend(const BackendConfig& config, Executor& executor)
    : layout_(config.layout),
      rank_(config.rank),
      executor_(executor),
      decoder_(config.layout, has_fast_pext() ? BitExtraction::pext : BitExtraction::tables),
      output_(std::ranges::max(config.layout.shape()), config.rank, config.private_bytes, executor_),
      dense_(config.rank, std::ranges::max(config.layout.shape()), config.dual_modes != 0, executor_, config.stop),
      residents_(decoder_, config, executor_),
      trace_(config.trace) {
  for (int mode = 0; mode < layout_.order(); ++mode) {
    const std::uint64_t length = layout_.mode(mode).length;
    const std::uint64_t dual_rows = has_mode(config.dual_modes, mode) ? length : 0;
    if (config.keep_previous) {
      factors_.add(Matrix(length, rank_), Matrix(length, rank_));
      duals_.add(Dual(dual_rows, rank_), Dual(dual_rows, rank_));
    } else {
      factors_.add(Matrix(length, rank_));
      duals_.add(Dual(dual_rows, rank_));
    }
    grams_.emplace_back();
    matrix_bytes_ += length * padded_rank<Sum>(rank_) * sizeof(Factor);
  }
  if (host_backend_needs_exchange(config, executor.width())) exchange_.emplace(config.layout, decoder_, executor_);
  for (int part = 0; part < executor.width(); ++part) rings_.emplace_back(layout_.order());
}

template <class Sum, class Factor>
void HostBackend<Sum, Factor>::load_factor(int mode, std::uint64_t first_row, std::span<const double> rows) {
  copy_in(rows, factors_[mode].view().rows, first_row);
  factors_[mode].mark_all_live();
  grams_[static_cast<std::size_t>(mode)].clear();
}

template <class Sum, class Factor>
std::span<const double> HostBackend<Sum, Factor>::gram(int mode) {
  std::vector<double>& gram = grams_[static_cast<std::size_t>(mode)];
  if (gram.empty()) {
    gram.resize(static_cast<std::size_t>(rank_) * static_cast<std::size_t>(rank_));
    const FactorView<Factor> factor = factors_[mode].view();
    dense_.scale_and_gram(factor.rows, factor, {}, gram);
  }
  return gram;
}

template <class Sum, class Factor>
void HostBackend<Sum, Factor>::copy_in(std::span<const double> from, RowsView<Factor> to,
                                       std::uint64_t first_row) const {
  const auto rank = static_cast<std::uint64_t>(rank_);
  for_each(check_row_block(to.rows, rank_, first_row, from.size()), [&](std::uint64_t i) {
    for (std::uint64_t r = 0; r < rank; ++r) to.row(first_row + i)[r] = static_cast<Factor>(from[i * rank + r]);
  });
}

template <class Sum, class Factor>
template <class Number>
void HostBackend<Sum, Factor>::copy_out(RowsView<const Number> from, std::uint64_t first_row,
                                        std::span<double> to) const {
  const auto rank = static_cast<std::uint64_t>(rank_);
  for_each(check_row_block(from.rows, rank_, first_row, to.size()), [&](std::uint64_t i) {
    for (std::uint64_t r = 0; r < rank; ++r) to[i * rank + r] = static_cast<double>(from.row(first_row + i)[r]);
  });
}

template <class Sum, class Factor>
void HostBackend<Sum, Factor>::store_factor(int mode, std::uint64_t first_row, std::span<double> rows) const {
  copy_out(view(factors_[mode].matrix()), first_row, rows);
}

template <class Sum, class Factor>
void HostBackend<Sum, Factor>::load_rows(int mode, std::span<const std::uint32_t> rows,
                                         std::span<const double> values) {
  const RowsView<Factor> to = factors_[mode].view().rows;
  const auto rank = static_cast<std::size_t>(rank_);
  check_row_list(to.rows, rank_, rows, values.size());
  for_each(rows.size(), [&](std::size_t i) {
    for (std::size_t r = 0; r < rank; ++r) to.row(rows[i])[r] = static_cast<Factor>(values[i * rank + r]);
  });
  factors_[mode].mark_all_live();
  grams_[static_cast<std::size_t>(mode)].clear();
}

template <class Sum, class Factor>
void HostBackend<Sum, Factor>::store_rows(int mode, std::span<const std::uint32_t> rows,
                                          std::span<double> values) const {
  const auto& from = factors_[mode].matrix();
  check_row_list(from.rows(), rank_, rows, values.size());
  const auto rank = static_cast<std::size_t>(rank_);
  for_each(rows.size(), [&](std::size_t i) {
    for (std::size_t r = 0; r < rank; ++r) values[i * rank + r] = static_cast<double>(from.row(rows[i])[r]);
  });
}

template <class Sum, class Factor>
std::vector<double> HostBackend<Sum, Factor>::take_factor(int mode) {
  output_.release();
  const Matrix taken = factors_.take(mode);
  std::vector<double> rows(taken.matrix().rows() * static_cast<std::uint64_t>(rank_));
  copy_out(view(taken.matrix()), 0, rows);
  return rows;
}

template <class Sum, class Factor>
void HostBackend<Sum, Factor>::read_output(int mode, std::uint64_t first_row, std::span<double> rows) const {
  require(mode == pass_mode_, "read_output: the last pass was not one of mode " + std::to_string(mode));
  copy_out(output_.rows(), first_row, rows);
}

template <class Sum, class Factor>
void HostBackend<Sum, Factor>::begin_pass(const PassRequest& request) {
  require(request.is_mttkrp(), "begin_pass: loss passes are not there yet");
  pass_mode_ = request.only_mode();
  output_.begin(layout_.mode(pass_mode_).length);
}

template <class Sum, class Factor>
void HostBackend<Sum, Factor>::submit_resident(ResidentId chunk) {
  form_ = residents_.form_for(chunk, pass_mode_, rings_);
  add_chunk(residents_.source(chunk));
}

template <class Sum, class Factor>
void HostBackend<Sum, Factor>::add_chunk(const FrameSource& source) {
  const auto begin = std::chrono::steady_clock::now();
  output_.open_chunk(source.range[static_cast<std::size_t>(pass_mode_)], source.nnz);
  if (output_.is_owned_by_rows()) {
    exchange_->run(source, pass_mode_, bits_within_a_line(padded_rank<Sum>(rank_) * sizeof(Sum)), rings_,
                   [&](std::size_t part, const NonzeroSpan& nonzeros) { add_owned(source, part, nonzeros); });
  } else {
    executor_.run(rings_.size(), [&](std::size_t part) { add_part(source, part); });
  }
  output_.close_chunk();
  trace("mttkrp", begin, source.chunk);
}

template <class Sum, class Factor>
void HostBackend<Sum, Factor>::trace(std::string_view name, std::chrono::steady_clock::time_point begin,
                                     std::uint64_t chunk) const {
  if (trace_ != nullptr) trace_->add({"compute", name, begin, std::chrono::steady_clock::now(), chunk, 0});
}

template <class Sum, class Factor>
RowsTask<Sum, Factor> HostBackend<Sum, Factor>::make_task(const FrameSource& source, std::size_t part) {
  FrameRing& ring = rings_[part];
  RowsTask<Sum, Factor> task;
  task.output = output_.target(part);
  task.output.rows = ring.rows(pass_mode_);
  task.output.mask = decoder_.row_mask(pass_mode_);
  const std::uint64_t stride = padded_rank<Sum>(rank_);
  std::uint64_t bytes = 0;  // of the rows that nonzeros of the chunk can have
  for (int mode = 0; mode < layout_.order(); ++mode) {
    const auto& factor = std::as_const(factors_)[mode].matrix();
    const RowRange range = source.range[static_cast<std::size_t>(mode)];
    const std::uint64_t rows = std::uint64_t{range.upper} - range.lower + 1;
    bytes += rows * stride * (mode == pass_mode_ ? sizeof(Sum) : sizeof(Factor));
    if (mode == pass_mode_) continue;
    task.factors[static_cast<std::size_t>(task.factor_count++)] = {factor.row(0), ring.rows(mode),
                                                                   decoder_.row_mask(mode), 0};
  }
  task.prefetch = bytes > prefetched_bytes(stride * sizeof(Factor));
  task.values = ring.values();
  task.stride = stride;
  return task;
}

template <class Sum, class Factor>
void HostBackend<Sum, Factor>::add_sorted(const FrameSource& source, std::size_t part) {
  RowsTask<Sum, Factor> task = make_task(source, part);
  task.lines = form_.sorted->lines.data();
  task.values = form_.sorted->values.data();
  task.sorted = true;
  task.prefetch_stream = matrix_bytes_ > stream_prefetched_bytes;
  const std::uint64_t begin = source.frames() * part / rings_.size() * frame_entries;
  const std::uint64_t end = source.frames() * (part + 1) / rings_.size() * frame_entries;
  if (begin < end) mttkrp_rows(task, {begin, std::min(end, source.nnz) - begin});
}

template <class Sum, class Factor>
void HostBackend<Sum, Factor>::add_fibers(const FrameSource& source, std::size_t part) {
  if constexpr (std::is_same_v<Sum, Factor>) {
    std::array<const Sum*, max_order> factors{};
    for (int mode = 0; mode < layout_.order(); ++mode) {
      factors[static_cast<std::size_t>(mode)] = std::as_const(factors_)[mode].matrix().row(0);
    }
    mttkrp_fibers<Sum>(*form_.tree, source, {pass_mode_, factors, output_.target(part), padded_rank<Sum>(rank_)}, part);
  }
}

template <class Sum, class Factor>
void HostBackend<Sum, Factor>::add_part(const FrameSource& source, std::size_t part) {
  if (form_.tree != nullptr) return add_fibers(source, part);
  if (form_.sorted != nullptr) return add_sorted(source, part);
  const std::uint64_t first = source.frames() * part / rings_.size();
  const std::uint64_t end = source.frames() * (part + 1) / rings_.size();
  if (first == end) return;
  if (decoder_.decodes_to_lines()) return add_lines(source, first, end, part);
  const RowsTask<Sum, Factor> task = make_task(source, part);
  decoder_.decode(source, first, rings_[part]);
  for (std::uint64_t frame = first; frame < end; ++frame) {
    if (frame + 1 < end) decoder_.decode(source, frame + 1, rings_[part]);
    mttkrp_rows(task, {frame % 2 * frame_entries, static_cast<std::size_t>(source.entries_of(frame))});
  }
}

template <class Sum, class Factor>
void HostBackend<Sum, Factor>::add_lines(const FrameSource& source, std::uint64_t first, std::uint64_t end,
                                         std::size_t part) {
  RowsTask<Sum, Factor> task = make_task(source, part);
  if (source.decoded != nullptr) {
    task.lines = source.decoded->indices.data();
    task.values = source.decoded->values.data();
    const std::uint64_t begin = first * frame_entries;
    return mttkrp_rows(task, {begin, std::min(end * frame_entries, source.nnz) - begin});
  }
  FrameRing& ring = rings_[part];
  task.lines = ring.tile_indices();
  task.values = source.has_values() ? ring.tile_values() : nullptr;
  for (std::uint64_t from = first; from < end; from += tile_frames) {
    const std::uint64_t to = std::min(end, from + tile_frames);
    for (std::uint64_t frame = from; frame < to; ++frame) {
      const std::uint64_t at = (frame - from) * frame_entries;
      decoder_.decode_bits(source, frame, ring, ring.tile_indices() + at, nullptr, ring.tile_values() + at);
    }
    mttkrp_rows(task, {0, std::min(to * frame_entries, source.nnz) - from * frame_entries});
  }
}

template <class Sum, class Factor>
void HostBackend<Sum, Factor>::add_owned(const FrameSource& source, std::size_t part, const NonzeroSpan& nonzeros) {
  RowsTask<Sum, Factor> task = make_task(source, part);
  if (decoder_.decodes_to_lines()) {
    task.lines = nonzeros.indices;
    task.values = nonzeros.values;
    return mttkrp_rows(task, {0, nonzeros.count});
  }
  for (std::size_t first = 0; first < nonzeros.count; first += frame_entries) {
    const std::size_t count = std::min<std::size_t>(frame_entries, nonzeros.count - first);
    decoder_.expand({nonzeros.indices + first, nonzeros.keys != nullptr ? nonzeros.keys + first : nullptr,
                     nonzeros.values != nullptr ? nonzeros.values + first : nullptr, count},
                    rings_[part]);
    mttkrp_rows(task, {0, count});
  }
}

template <class Sum, class Factor>
RowUpdate HostBackend<Sum, Factor>::update_rows(int mode, const RowProblem& problem) {
  const bool needs_dual = problem.constraint.needs_dual();
  const auto begin = std::chrono::steady_clock::now();
  const RowsView<Sum> given = output_.rows();
  check_row_problem(problem, rank_, std::as_const(duals_)[mode].rows() > 0);
  require(mode == pass_mode_ && given.rows == layout_.mode(mode).length,
          "update_rows: the last pass was not one of mode " + std::to_string(mode));
  factors_.begin_update(mode);
  if (needs_dual) duals_.begin_update(mode);
  const FactorView<Factor> factor = factors_[mode].view();
  const OldRows<Factor> old{view(factors_.before_update(mode).matrix()), view(duals_.before_update(mode)),
                            view(duals_[mode])};
  std::vector<double>& gram = grams_[static_cast<std::size_t>(mode)];
  gram.resize(static_cast<std::size_t>(rank_) * static_cast<std::size_t>(rank_));
  RowUpdate update = dense_.update_rows(problem, given, old, factor, solution_rows(given, factor), gram);
  output_.set_zeroed();
  trace("row update", begin, 0);
  return update;
}

}  // namespace

std::unique_ptr<Backend> make_host_backend(const BackendConfig& config, Executor& executor) {
  check_backend_config(config, "CPU");
  switch (config.precision) {
    case Precision::f32:
      return std::make_unique<HostBackend<float>>(config, executor);
    case Precision::mixed:
      return std::make_unique<HostBackend<double, float>>(config, executor);
    case Precision::f64:
      break;
  }
  return std::make_unique<HostBackend<double>>(config, executor);
}

}  // namespace blco
