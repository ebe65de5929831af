// The CPU backend, parallel over frames and vectorised along the rank: factors, their Gram matrices and row updates,
// and the memory of all; chunk_pass.hpp has the passes.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "blco/bits.hpp"
#include "blco/error.hpp"
#include "blco/executor.hpp"
#include "kernels/account.hpp"
#include "kernels/aligned_buffer.hpp"
#include "kernels/backend.hpp"
#include "kernels/backend_checks.hpp"
#include "kernels/factor_set.hpp"
#include "kernels/host/chunk_pass.hpp"
#include "kernels/host/frame_rows.hpp"
#include "kernels/host/host_dense.hpp"
#include "kernels/host/resident_chunks.hpp"
#include "kernels/host/sorted_pass.hpp"
#include "kernels/method_vectors.hpp"
#include "kernels/part_ranges.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace blco {

// While it lives, this thread reads and writes numbers below 2.2e-308 (f32: 1.2e-38) as zero.
class FlushDenormals {
 public:
#if defined(__SSE2__)
  FlushDenormals() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | flush_to_zero | denormals_are_zero); }
  ~FlushDenormals() { _mm_setcsr(saved_); }
#elif defined(__aarch64__)
  FlushDenormals() {
    asm volatile("mrs %0, fpcr" : "=r"(saved_));
    asm volatile("msr fpcr, %0" : : "r"(saved_ | flush_to_zero));
  }
  ~FlushDenormals() { asm volatile("msr fpcr, %0" : : "r"(saved_)); }
#else
  FlushDenormals() {}
#endif
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__SSE2__)
  static constexpr unsigned flush_to_zero = 1u << 15;
  static constexpr unsigned denormals_are_zero = 1u << 6;
  unsigned saved_;
#elif defined(__aarch64__)
  static constexpr unsigned long flush_to_zero = 1ul << 24;
  unsigned long saved_;
#endif
};

// Runs tasks with denormal numbers treated as zero: factors that decay towards zero would otherwise slow arithmetic
// down a hundredfold.
class FlushingExecutor final : public Executor {
 public:
  // `inner` must outlive this.
  explicit FlushingExecutor(Executor& inner) : inner_(inner) {}

  int width() const override { return inner_.width(); }
  void run(std::size_t count, const std::function<void(std::size_t)>& task) override {
    inner_.run(count, [&](std::size_t i) {
      const FlushDenormals flush;
      task(i);
    });
  }

 private:
  Executor& inner_;
};

class MappedBuffer final : public HostBuffer {
 public:
  explicit MappedBuffer(std::uint64_t bytes) : buffer_(bytes) {}
  std::span<std::byte> bytes() override { return buffer_.span(); }

 private:
  AlignedBuffer<std::byte> buffer_;
};

template <class Sum, class Factor>
class HostBackend : public Backend {
  using Matrix = FactorMatrix<Factor, Sum>;
  using Dual = RowMatrix<Factor, Sum>;

 public:
  // `executor` must outlive the backend. What comes later takes memory beside: resident chunks, arranged ones, Gram
  // matrices.
  HostBackend(const BackendConfig& config, Executor& executor, const MemorySource& memory = {})
      : layout_(config.layout),
        rows_(config.rows()),
        rank_(config.rank),
        executor_(executor),
        decoder_(config.layout, extraction(), config.held),
        pass_(config, decoder_, factors_, executor_, memory.of("work of the threads")),
        sorted_(config, extraction(), factors_, executor_, memory.of("work of the threads")),
        dense_(config.rank, std::ranges::max(rows_), config.dual_modes != 0, executor_, config.stop,
               memory.by_rank("row updates")),
        vectors_(config, [&](const VectorShape& shape,
                             std::size_t numbers) { return memory.by_rank(shape.name).vector<double>(numbers); }),
        residents_(decoder_, config, executor_),
        trace_(config.trace) {
    for (int mode = 0; mode < layout_.order(); ++mode) {
      const std::uint64_t rows = rows_[index(mode)];
      const std::uint64_t dual_rows = has_mode(config.dual_modes, mode) ? rows : 0;
      columns_.push_back(config.columns_of(mode));
      owned_.push_back({0, rows});
      factors_.add(config.keep_previous,
                   [&] { return Matrix(rows, config.columns_of(mode), memory.by_rank("factors")); });
      duals_.add(config.keep_previous, [&] { return Dual(dual_rows, rank_, memory.by_rank(duals_term)); });
      grams_.emplace_back();
    }
  }

  std::string name() const override { return "host"; }
  std::unique_ptr<HostBuffer> allocate_host(std::uint64_t bytes) override {
    return std::make_unique<MappedBuffer>(bytes);
  }

  void load_factor(int mode, std::uint64_t first_row, std::span<const double> rows) override {
    copy_in(mode, rows, factors_[mode].rows(), first_row);
    const OwnedRows& owned = owned_[index(mode)];
    const std::uint64_t end = first_row + rows.size() / static_cast<std::size_t>(columns_[index(mode)]);
    set_loaded(mode, first_row < owned.end && end > owned.begin);
  }

  void store_factor(int mode, std::uint64_t first_row, std::span<double> rows) const override {
    copy_out(view(factors_[mode].matrix()), columns_[index(mode)], first_row, rows);
  }
  std::uint64_t version(int mode) const override { return factors_.version(mode); }
  void load_rows(int mode, std::span<const std::uint32_t> rows, std::span<const double> values) override {
    put_rows(mode, rows, values, factors_[mode].rows(), /*adds=*/false);
    const OwnedRows& owned = owned_[index(mode)];
    set_loaded(mode, std::ranges::any_of(rows, [&](auto row) { return row >= owned.begin && row < owned.end; }));
  }
  void store_rows(int mode, std::span<const std::uint32_t> rows, std::span<double> values) const override {
    get_rows(mode, rows, values, view(factors_[mode].matrix()));
  }

  std::vector<double> take_factor(int mode) override {
    pass_.release();
    const Matrix taken = factors_.take(mode);
    std::vector<double> rows(taken.matrix().rows() * static_cast<std::uint64_t>(columns_[index(mode)]));
    copy_out(view(taken.matrix()), columns_[index(mode)], 0, rows);
    return rows;
  }

  void load_dual(int mode, std::uint64_t first_row, std::span<const double> rows) override {
    copy_in(mode, rows, view(duals_[mode]), first_row);
  }
  void store_dual(int mode, std::uint64_t first_row, std::span<double> rows) const override {
    copy_out(view(duals_[mode]), columns_[index(mode)], first_row, rows);
  }
  void begin_pass(const PassRequest& request) override {
    pass_.begin(request);
    adds_losses_ = !request.is_mttkrp();
    pass_mode_ = request.only_mode();
    request_ = request;
    waiting_.clear();
    if (!adds_losses_ && !request.continues) residents_.count_pass(pass_mode_);
  }

  void submit(int, const ChunkView& chunk) override { add_chunk(decoder_of(chunk).open(chunk)); }
  void wait_slot(int) override {}
  ResidentId keep(int, const ChunkView& chunk, Tier tier) override {
    return residents_.keep(chunk, tier, decoder_of(chunk), pass_.rings());
  }
  void submit_resident(ResidentId chunk) override {
    // Terms of losses are added up in line order.
    ResidentChunks::Group* const group = adds_losses_ ? nullptr : residents_.group_of(chunk);
    if (group == nullptr || !residents_.may_arrange(*group, pass_mode_)) return add_resident(chunk);
    waiting_.push_back(chunk);
    if (waiting_.size() < group->chunks.size()) return;
    const ArrangedNonzeros* const arranged = residents_.arranged(*group, pass_mode_, waiting_, pass_.rings());
    if (arranged == nullptr) return add_waiting();
    waiting_.clear();
    const auto begin = std::chrono::steady_clock::now();
    pass_.add_arranged(*arranged);
    trace_pass(begin, residents_.source(chunk).chunk);
  }

  void finish_pass() override {
    add_waiting();  // a pass over some chunks of a group only
    pass_.finish();
  }
  double sum_of_terms() const override { return pass_.sum_of_terms(); }
  void read_output(int mode, std::uint64_t first_row, std::span<double> rows) const override {
    const RowsView<const Sum> output = pass_.output(mode).rows();
    if (!pass_.has_kronecker()) return copy_out(output, columns_[index(mode)], first_row, rows);
    const KroneckerRow& row = pass_.kronecker_row_of(mode);
    for_each(check_row_block(output.rows, static_cast<int>(row.columns()), first_row, rows.size()),
             [&](std::uint64_t i) {
               for (std::uint64_t c = 0; c < row.choices; ++c) {
                 const Sum* const from = output.row(first_row + i) + c * row.last_stride;
                 double* const to = rows.data() + i * row.columns() + c * row.last_columns;
                 for (std::uint64_t r = 0; r < row.last_columns; ++r) to[r] = static_cast<double>(from[r]);
               }
             });
  }
  void load_output(int mode, std::uint64_t first_row, std::span<const double> rows) override {
    copy_in(mode, rows, pass_.output(mode).rows(), first_row);
  }
  void read_output_rows(int mode, std::span<const std::uint32_t> rows, std::span<double> values) const override {
    get_rows(mode, rows, values, RowsView<const Sum>(pass_.output(mode).rows()));
  }
  void add_output_rows(int mode, std::span<const std::uint32_t> rows, std::span<const double> values) override {
    put_rows(mode, rows, values, pass_.output(mode).rows(), /*adds=*/true);
  }

  void own(std::vector<OwnedRows> rows) override {
    check_owned_rows(rows_, rows);
    owned_ = std::move(rows);
    for (int mode = 0; mode < layout_.order(); ++mode) set_changed(mode);
  }

  SolvedRows solve_rows(int mode, const RowProblem& problem) override {
    const auto begin = std::chrono::steady_clock::now();
    const RowsView<Sum> given = pass_.output(mode).rows();
    check_row_problem(problem, rank_, std::as_const(duals_)[mode].rows() > 0);
    require(mode == pass_mode_ && given.rows == rows_[index(mode)],
            "update_rows: the last pass was not one of mode " + std::to_string(mode));
    factors_.begin_update(mode);
    OldRows<Factor> old{owned(mode, view(factors_.before_update(mode).matrix()))};
    if (problem.constraint.needs_dual()) {
      duals_.begin_update(mode);
      old.dual = owned(mode, view(duals_.before_update(mode)));
      old.new_dual = owned(mode, view(duals_[mode]));
    }
    SolvedRows solved = dense_.solve_rows(problem, owned(mode, given), old, owned_part(mode), solution(mode));
    trace("row update", begin, 0);
    return solved;
  }
  void scale_rows(int mode, std::span<const double> divisors) override {
    const auto begin = std::chrono::steady_clock::now();
    check_divisors(divisors, rank_);
    dense_.divide_columns(divisors, equal_entry(layout_.mode(mode).length), owned_part(mode), solution(mode),
                          room_for_gram(mode));
    if (owned_[index(mode)].count() == rows_[index(mode)]) pass_.output(mode).set_zeroed();
    trace("row scaling", begin, 0);
  }

  void restore_factor(int mode) override {
    factors_.restore(mode);
    duals_.restore(mode);
  }
  std::span<const double> gram(int mode) override {
    if (grams_[index(mode)].empty()) dense_.make_gram(owned_part(mode), room_for_gram(mode));
    return grams_[index(mode)];
  }

  std::vector<double> column_sums(int mode) override { return dense_.column_sums(owned_factor(mode)); }
  void scale_columns(int mode, std::span<const double> scales, std::span<const double> shifts) override {
    check_scales(scales, shifts, rank_);
    for_each_row(changed(mode), [&](std::uint64_t, Factor* row) {
      for (std::size_t r = 0; r < scales.size(); ++r) {
        const double scaled = static_cast<double>(row[r]) * scales[r];
        row[r] = static_cast<Factor>(shifts.empty() ? scaled : scaled + shifts[r]);
      }
    });
  }
  void raise_to_zero(int mode) override {
    for_each_row(changed(mode), [&](std::uint64_t, Factor* row) {
      for (int r = 0; r < rank_; ++r) row[r] = std::max(row[r], Factor{0});
    });
  }
  std::vector<double> extrapolate(int mode, int vector, const Extrapolation& step) override {
    check_extrapolation(step, rank_);
    double* const before = vectors_.rows(vector, mode).data();
    for_each_row(changed(mode), [&](std::uint64_t i, Factor* row) {
      for (std::uint64_t r = 0; r < columns(); ++r) {
        extrapolate_number(step.of_factor[r], step.of_vector[r], step.nonnegative, row[r], before[i * columns() + r]);
      }
    });
    return dense_.column_sums(owned_factor(mode), true);
  }

  AprViolation apr_measure(int mode, const AprStep& step, bool until_any) override {
    return dense_.apr_measure(phi_of(mode, step), owned_factor(mode), step, until_any);
  }
  void apr_free_zeros(int mode, const AprStep& step) override {
    dense_.apr_free_zeros(phi_of(mode, step), owned(mode, changed(mode)), step);
  }
  void apr_multiply(int mode, const AprStep& step) override {
    dense_.apr_multiply(phi_of(mode, step), owned(mode, changed(mode)), step);
  }

  void load_vector(int vector, int mode, std::uint64_t first_row, std::span<const double> rows) override {
    std::ranges::copy(rows, vectors_.part(vector, mode, first_row, rows.size()).begin());
  }
  void store_vector(int vector, int mode, std::uint64_t first_row, std::span<double> rows) const override {
    std::ranges::copy(vectors_.part(vector, mode, first_row, rows.size()), rows.begin());
  }
  void copy_vector(int from, int to) override {
    const auto [source, target] = vectors_.equal_pair(from, to);
    for_each(target.size(),
             [source = source.data(), target = target.data()](std::uint64_t i) { target[i] = source[i]; });
  }
  void copy_to_vector(int mode, int vector) override {
    copy_out(view(std::as_const(factors_)[mode].matrix()), columns_[index(mode)], 0, vectors_.rows(vector, mode));
  }
  void copy_from_vector(int mode, int vector) override { load_factor(mode, 0, vectors_.rows(vector, mode)); }

  void cg_begin(int mode, const CgStep& step) override {
    check_cg_step(step, rank_);
    const double* const centre = step.centre.empty() ? nullptr : step.centre.data();
    step_rows(mode, [&](auto... rows) { cg_begin_row(step, centre, columns(), rows...); });
  }
  void cg_step(int mode, const CgStep& step) override {
    step_rows(mode, [&](auto... rows) { cg_step_row(step, columns(), rows...); });
  }
  double cg_end(int mode) override { return dense_.cg_end(owned(mode, changed(mode)), owned_vector(0, mode)); }
  void adam_step(int mode, const AdamStep& step) override {
    check_adam_step(step, rank_);
    step_rows(mode, [&](auto... rows) { adam_row(step, step.rates.data(), columns(), rows...); });
  }

 private:
  static BitExtraction extraction() { return has_fast_pext() ? BitExtraction::pext : BitExtraction::tables; }
  const FrameDecoder& decoder_of(const ChunkView& chunk) const {
    return chunk.sorted_by < 0 ? decoder_ : sorted_.decoder(chunk.sorted_by);
  }
  static std::size_t index(int mode) { return static_cast<std::size_t>(mode); }
  std::uint64_t columns() const { return static_cast<std::uint64_t>(rank_); }

  // What is not owned has no part in Grams, and no bits.
  void set_loaded(int mode, bool has_owned) {
    if (has_owned) return set_changed(mode);
    factors_.mark_changed(mode);
  }
  // Rows of the factor were written beside its bits and its Gram.
  void set_changed(int mode) {
    factors_[mode].mark_all_live();
    factors_.mark_changed(mode);
    grams_[static_cast<std::size_t>(mode)].clear();
  }

  // Its rows, which the caller writes.
  RowsView<Factor> changed(int mode) {
    set_changed(mode);
    return factors_[mode].rows();
  }
  RowsView<const Sum> filled(int mode) const { return owned(mode, pass_.output(mode).rows()); }

  RowsView<const Sum> phi_of(int mode, const AprStep& step) const {
    check_apr_step(step, rank_);
    return filled(mode);
  }

  // Of all rows of a mode, those that are owned.
  template <class View>
  View owned(int mode, View rows) const {
    return rows.part(owned_[index(mode)].begin, owned_[index(mode)].count());
  }
  FactorView<Factor> owned_part(int mode) {
    return factors_[mode].part(owned_[index(mode)].begin, owned_[index(mode)].count());
  }
  RowsView<const Factor> owned_factor(int mode) const { return owned(mode, view(factors_[mode].matrix())); }
  double* owned_vector(int vector, int mode) const {
    return vectors_.rows(vector, mode).data() + owned_[index(mode)].begin * columns();
  }
  // Until its columns are normalised, a solution may exceed the range of f32: it waits where the output was.
  RowsView<Sum> solution(int mode) {
    if constexpr (std::is_same_v<Sum, Factor>) return owned(mode, factors_[mode].rows());
    return owned(mode, pass_.output(mode).rows());
  }
  std::span<double> room_for_gram(int mode) {
    grams_[index(mode)].resize(columns() * columns());
    return grams_[index(mode)];
  }

  // Calls visit(i) for i from 0 to count - 1, on all threads.
  template <class Visit>
  void for_each(std::uint64_t count, const Visit& visit) const {
    run_shares(executor_, count, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) visit(i);
    });
  }
  // Calls visit(its number, the row) for each row, on all threads.
  template <class Visit>
  void for_each_row(RowsView<Factor> factor, const Visit& visit) const {
    for_each(factor.rows, [&](std::uint64_t i) { visit(i, factor.row(i)); });
  }
  // Calls step(row of the output, of the factor, of the first and of the second vector) likewise.
  template <class Step>
  void step_rows(int mode, const Step& step) {
    const RowsView<const Sum> output = filled(mode);
    double* const first = owned_vector(0, mode);
    double* const second = owned_vector(1, mode);
    for_each_row(owned(mode, changed(mode)), [&](std::uint64_t i, Factor* row) {
      step(output.row(i), row, first + i * columns(), second + i * columns());
    });
  }
  template <class Number>
  void copy_in(int mode, std::span<const double> from, RowsView<Number> to, std::uint64_t first_row) const {
    const auto rank = static_cast<std::uint64_t>(columns_[index(mode)]);
    for_each(check_row_block(to.rows, columns_[index(mode)], first_row, from.size()), [&](std::uint64_t i) {
      for (std::uint64_t r = 0; r < rank; ++r) to.row(first_row + i)[r] = static_cast<Number>(from[i * rank + r]);
    });
  }
  // Into rows that are listed, or with `adds` to them.
  template <class Number>
  void put_rows(int mode, std::span<const std::uint32_t> rows, std::span<const double> values, RowsView<Number> to,
                bool adds) const {
    const auto rank = static_cast<std::size_t>(columns_[index(mode)]);
    check_row_list(to.rows, columns_[index(mode)], rows, values.size());
    for_each(rows.size(), [&](std::size_t i) {
      Number* const row = to.row(rows[i]);
      for (std::size_t r = 0; r < rank; ++r) {
        const double value = values[i * rank + r];
        row[r] = static_cast<Number>(adds ? static_cast<double>(row[r]) + value : value);
      }
    });
  }
  template <class Number>
  void get_rows(int mode, std::span<const std::uint32_t> rows, std::span<double> to,
                RowsView<const Number> from) const {
    const auto rank = static_cast<std::size_t>(columns_[index(mode)]);
    check_row_list(from.rows, columns_[index(mode)], rows, to.size());
    for_each(rows.size(), [&](std::size_t i) {
      for (std::size_t r = 0; r < rank; ++r) to[i * rank + r] = static_cast<double>(from.row(rows[i])[r]);
    });
  }
  template <class Number>
  void copy_out(RowsView<const Number> from, int columns, std::uint64_t first_row, std::span<double> to) const {
    const auto rank = static_cast<std::uint64_t>(columns);
    for_each(check_row_block(from.rows, columns, first_row, to.size()), [&](std::uint64_t i) {
      for (std::uint64_t r = 0; r < rank; ++r) to[i * rank + r] = static_cast<double>(from.row(first_row + i)[r]);
    });
  }

  void add_waiting() {
    for (const ResidentId chunk : std::exchange(waiting_, {})) add_resident(chunk);
  }

  void add_resident(ResidentId chunk) {
    add_chunk(residents_.source(chunk));
    residents_.prove(chunk);
  }

  void add_chunk(const FrameSource& source) {
    const auto begin = std::chrono::steady_clock::now();
    if (source.sorted_by < 0) {
      pass_.add(source);
    } else {
      const RowsView<Sum> output = pass_mode_ < 0 ? RowsView<Sum>{} : pass_.output(pass_mode_).rows();
      pass_.add_terms(sorted_.add(source, request_, output, pass_.rings()));
    }
    trace_pass(begin, source.chunk);
  }

  void trace_pass(std::chrono::steady_clock::time_point begin, std::uint64_t chunk) const {
    trace(adds_losses_ ? "loss pass" : pass_.has_kronecker() ? "ttmc" : "mttkrp", begin, chunk);
  }

  void trace(std::string_view name, std::chrono::steady_clock::time_point begin, std::uint64_t chunk) const {
    if (trace_ != nullptr) trace_->add({"compute", name, begin, std::chrono::steady_clock::now(), chunk, 0});
  }

  TensorLayout layout_;
  std::vector<std::uint64_t> rows_;  // per mode
  int rank_;
  std::vector<int> columns_;      // per mode, of its factor
  std::vector<OwnedRows> owned_;  // per mode
  mutable FlushingExecutor executor_;
  FrameDecoder decoder_;
  FactorSet<Matrix> factors_;
  FactorSet<Dual> duals_;                   // empty but for modes that ADMM solves
  std::vector<std::vector<double>> grams_;  // empty: out of date, rows were loaded
  ChunkPass<Sum, Factor> pass_;
  SortedPass<Sum, Factor> sorted_;
  DenseKernels<Sum, Factor> dense_;
  MethodVectors<std::vector<double>> vectors_;
  ResidentChunks residents_;
  std::vector<ResidentId> waiting_;  // of the pass: chunks of a group that is arranged, not yet added
  PassRequest request_ = 0;
  bool adds_losses_ = false;
  int pass_mode_ = 0;  // -1: several or none
  TraceSink* trace_;
};

extern template class HostBackend<double, double>;
extern template class HostBackend<float, float>;
extern template class HostBackend<double, float>;

}  // namespace blco
