// The CPU backend: factors, their Gram matrices and row updates; chunk_pass.hpp has the passes.
#include "kernels/host/host_backend.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "blco/bits.hpp"
#include "blco/error.hpp"
#include "kernels/aligned_buffer.hpp"
#include "kernels/backend_checks.hpp"
#include "kernels/factor_set.hpp"
#include "kernels/host/chunk_pass.hpp"
#include "kernels/host/factor_matrix.hpp"
#include "kernels/host/flushing_executor.hpp"
#include "kernels/host/frame_rows.hpp"
#include "kernels/host/host_dense.hpp"
#include "kernels/host/resident_chunks.hpp"
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
  void load_dual(int, std::uint64_t, std::span<const double>) override {}
  void store_dual(int, std::uint64_t, std::span<double>) const override {}
  void begin_pass(const PassRequest& request) override;
  void submit(int, const ChunkView& chunk) override { add_chunk(decoder_.open(chunk), {}); }
  void wait_lane(int) override {}
  ResidentId keep(int, const ChunkView& chunk, ResidentForm form) override {
    return residents_.keep(chunk, form, pass_.rings());
  }
  void submit_resident(ResidentId chunk) override;
  std::uint64_t tree_chunks() const override { return residents_.trees(); }
  void finish_pass() override { pass_.finish(); }
  double sum_of_terms() const override { return pass_.sum_of_terms(); }
  void read_output(int mode, std::uint64_t first_row, std::span<double> rows) const override;

  RowUpdate update_rows(int mode, const RowProblem& problem) override;
  void restore_factor(int mode) override { factors_.restore(mode); }
  std::span<const double> gram(int mode) override;

 private:
  using Matrix = FactorMatrix<Factor, Sum>;

  // Calls visit(i) for i from 0 to count - 1, on all threads.
  template <class Visit>
  void for_each(std::uint64_t count, const Visit& visit) const {
    const auto slices = static_cast<std::size_t>(executor_.width());
    executor_.run(slices, [&](std::size_t slice) {
      for (std::uint64_t i = count * slice / slices; i < count * (slice + 1) / slices; ++i) visit(i);
    });
  }
  template <class Number>
  void copy_out(RowsView<const Number> from, std::span<double> to) const;
  void add_chunk(const FrameSource& source, const ChunkForm<Sum>& form);
  void trace(std::string_view name, std::chrono::steady_clock::time_point begin, std::uint64_t chunk) const;

  TensorLayout layout_;
  int rank_;
  mutable FlushingExecutor executor_;
  FrameDecoder decoder_;
  FactorSet<Matrix> factors_;
  std::vector<std::vector<double>> grams_;  // empty: out of date, rows were loaded
  ChunkPass<Sum, Factor> pass_;
  DenseKernels dense_;
  ResidentChunks<Sum> residents_;
  bool adds_losses_ = false;
  int pass_mode_ = 0;  // -1: several or none
  TraceSink* trace_;
};

template <class Sum, class Factor>
HostBackend<Sum, Factor>::HostBackend(const BackendConfig& config, Executor& executor)
    : layout_(config.layout),
      rank_(config.rank),
      executor_(executor),
      decoder_(config.layout, has_fast_pext() ? BitExtraction::pext : BitExtraction::tables),
      pass_(config, decoder_, factors_, executor_),
      dense_(config.rank, std::ranges::max(config.layout.shape()), executor_, config.stop),
      residents_(decoder_, config, executor_),
      trace_(config.trace) {
  for (const std::uint64_t length : layout_.shape()) {
    if (config.keep_previous) {
      factors_.add(Matrix(length, rank_), Matrix(length, rank_));
    } else {
      factors_.add(Matrix(length, rank_));
    }
    grams_.emplace_back();
  }
}

template <class Sum, class Factor>
void HostBackend<Sum, Factor>::load_factor(int mode, std::uint64_t first_row, std::span<const double> rows) {
  const RowsView<Factor> to = factors_[mode].view().rows;
  const auto rank = static_cast<std::uint64_t>(rank_);
  const std::uint64_t count = check_row_block(to.rows, rank_, first_row, rows.size());
  for_each(count, [&](std::uint64_t i) {
    for (std::uint64_t r = 0; r < rank; ++r) to.row(first_row + i)[r] = static_cast<Factor>(rows[i * rank + r]);
  });
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
template <class Number>
void HostBackend<Sum, Factor>::copy_out(RowsView<const Number> from, std::span<double> to) const {
  const auto rank = static_cast<std::uint64_t>(rank_);
  for_each(from.rows, [&](std::uint64_t i) {
    for (std::uint64_t r = 0; r < rank; ++r) to[i * rank + r] = static_cast<double>(from.row(i)[r]);
  });
}

template <class Sum, class Factor>
void HostBackend<Sum, Factor>::store_factor(int mode, std::uint64_t first_row, std::span<double> rows) const {
  const auto& factor = factors_[mode].matrix();
  const std::uint64_t count = check_row_block(factor.rows(), rank_, first_row, rows.size());
  copy_out(RowsView<const Factor>{factor.row(first_row), count, factor.stride()}, rows);
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
  pass_.release();
  const Matrix taken = factors_.take(mode);
  const auto& factor = taken.matrix();
  std::vector<double> rows(factor.rows() * static_cast<std::uint64_t>(rank_));
  copy_out(RowsView<const Factor>{factor.row(0), factor.rows(), factor.stride()}, rows);
  return rows;
}

template <class Sum, class Factor>
void HostBackend<Sum, Factor>::read_output(int mode, std::uint64_t first_row, std::span<double> rows) const {
  const RowsView<const Sum> output = pass_.output(mode).rows();
  const std::uint64_t count = check_row_block(output.rows, rank_, first_row, rows.size());
  copy_out(RowsView<const Sum>{output.row(first_row), count, output.stride}, rows);
}

template <class Sum, class Factor>
void HostBackend<Sum, Factor>::begin_pass(const PassRequest& request) {
  pass_.begin(request);
  adds_losses_ = !request.is_mttkrp();
  pass_mode_ = request.only_mode();
}

template <class Sum, class Factor>
void HostBackend<Sum, Factor>::submit_resident(ResidentId chunk) {
  // Terms are added up in line order.
  const ChunkForm<Sum> form = adds_losses_ ? ChunkForm<Sum>{} : residents_.form_for(chunk, pass_mode_, pass_.rings());
  add_chunk(residents_.source(chunk), form);
}

template <class Sum, class Factor>
void HostBackend<Sum, Factor>::add_chunk(const FrameSource& source, const ChunkForm<Sum>& form) {
  const auto begin = std::chrono::steady_clock::now();
  pass_.add(source, form);
  trace(adds_losses_ ? "loss pass" : "mttkrp", begin, source.chunk);
}

template <class Sum, class Factor>
void HostBackend<Sum, Factor>::trace(std::string_view name, std::chrono::steady_clock::time_point begin,
                                     std::uint64_t chunk) const {
  if (trace_ != nullptr) trace_->add({"compute", name, begin, std::chrono::steady_clock::now(), chunk, 0});
}

template <class Sum, class Factor>
RowUpdate HostBackend<Sum, Factor>::update_rows(int mode, const RowProblem& problem) {
  require(problem.constraint.is_least_squares(), "update_rows: constraints are not there yet");
  const RowSolver& solver = *problem.solver;
  const auto begin = std::chrono::steady_clock::now();
  const RowsView<Sum> given = pass_.output(mode).rows();
  require(
      solver.rank() == rank_ && mode == pass_mode_ && given.rows == layout_.mode(mode).length,
      "update_rows: the last pass was not one of mode " + std::to_string(mode) + ", or the solver has another rank");
  factors_.begin_update(mode);
  const FactorView<Factor> factor = factors_[mode].view();
  const RowsView<Sum> solution = solution_rows(given, factor);
  const RowSolveSums sums = dense_.solve_rows(solver, given, factor, solution);
  RowUpdate update{sums.squares, sums.inner};
  std::vector<double> scale(update.norms.size());
  for (std::size_t r = 0; r < scale.size(); ++r) {
    update.norms[r] = std::sqrt(update.norms[r]);
    scale[r] = update.norms[r] > 0 ? 1.0 / update.norms[r] : 1.0;
  }
  std::vector<double>& gram = grams_[static_cast<std::size_t>(mode)];
  gram.resize(static_cast<std::size_t>(rank_) * static_cast<std::size_t>(rank_));
  dense_.scale_and_gram(solution, factor, scale, gram);
  pass_.output(mode).set_zeroed();
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
