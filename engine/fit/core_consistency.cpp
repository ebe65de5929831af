// Computes the core a slab of columns at a time, and adds up how far it is from the superdiagonal one.
#include <algorithm>
#include <blco/core_consistency.hpp>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "blco/error.hpp"
#include "engine/common/progress_meter.hpp"
#include "engine/fit/methods/fit_method.hpp"
#include "engine/work/job.hpp"
#include "engine/work/original_rows.hpp"
#include "io/container/chunk_source.hpp"
#include "kernels/losses.hpp"
#include "kernels/tall_inverse.hpp"

namespace blco {
namespace {

// Columns of one pass: beyond, an MTTKRP takes no less time per column.
constexpr std::uint64_t max_slab = 64;

constexpr std::uint64_t block_numbers = std::uint64_t{1} << 13;

using Matrices = std::vector<std::vector<double>>;

void check_shapes(const TensorSummary& tensor, const CpdModel& model) {
  bool fits = model.rank > 0 && model.shape == tensor.shape && model.factors.size() == tensor.shape.size() &&
              model.weights.size() == static_cast<std::size_t>(model.rank);
  for (std::size_t n = 0; fits && n < model.factors.size(); ++n) {
    fits = model.factors[n].size() == model.shape[n] * static_cast<std::uint64_t>(model.rank);
  }
  if (!fits) refuse("core consistency: the model is not one of a tensor of this shape");
}

double norm_of_column(const std::vector<double>& factor, std::size_t column, std::size_t rank) {
  double squares = 0;
  for (std::size_t i = column; i < factor.size(); i += rank) squares += factor[i] * factor[i];
  return std::sqrt(squares);
}

// Per mode, what each of the factor's columns is multiplied by. The columns of a component then have the same norm, and
// their product is the component, with its weight.
Matrices column_scales(const CpdModel& model) {
  const auto rank = static_cast<std::size_t>(model.rank);
  const auto order = static_cast<double>(model.factors.size());
  Matrices scales(model.factors.size(), std::vector<double>(rank));
  for (std::size_t r = 0; r < rank; ++r) {
    std::vector<double> norms;
    double share = std::pow(std::abs(model.weights[r]), 1 / order);
    for (const std::vector<double>& factor : model.factors) {
      norms.push_back(norm_of_column(factor, r, rank));
      share *= std::pow(norms.back(), 1 / order);
    }
    for (std::size_t n = 0; n < norms.size(); ++n) scales[n][r] = norms[n] > 0 ? share / norms[n] : 0;
    if (model.weights[r] < 0) scales[0][r] = -scales[0][r];
  }
  return scales;
}

// (A_n^+)^T of each mode, of the size of A_n.
Matrices invert_factors(const CpdModel& model) {
  Matrices inverted = model.factors;
  const Matrices scales = column_scales(model);
  for (std::size_t n = 0; n < inverted.size(); ++n) {
    std::vector<double>& factor = inverted[n];
    for (std::size_t i = 0; i < factor.size(); ++i) factor[i] *= scales[n][i % scales[n].size()];
    invert_tall(factor, model.rank);
  }
  return inverted;
}

std::uint64_t slab_of(std::uint64_t rank, std::uint64_t columns) {
  const std::uint64_t slab = std::min(columns, max_slab);
  // With whole multiples of R the mode that varies fastest keeps its factor from slab to slab.
  return slab > rank ? slab / rank * rank : slab;
}

class CoreSlabs {
 public:
  CoreSlabs(const Tensor& tensor, const CpdModel& model, const Matrices& inverted, std::size_t short_mode, Job& job,
            std::uint64_t slab, ProgressMeter& meter)
      : inverted_(&inverted),
        rank_(static_cast<std::uint64_t>(model.rank)),
        slab_(slab),
        short_mode_(short_mode),
        rows_(tensor.chunks(), job.backend(), static_cast<int>(slab), job.device() != nullptr),
        workers_(job.make_workers(&meter)),
        loaded_(model.shape.size()) {
    for (std::size_t n = 0; n < model.shape.size(); ++n) {
      if (n != short_mode) others_.push_back(n);
    }
    // The longest varies fastest, and so is loaded least often.
    std::ranges::stable_sort(others_, std::greater(), [&](std::size_t n) { return model.shape[n]; });
    output_.resize(static_cast<std::size_t>(model.shape[short_mode] * slab));
    core_.resize(static_cast<std::size_t>(rank_ * slab));
  }

  // The sum of (g - t)^2 over columns `first` to `first` + slab of the core, of `columns`.
  double squares(std::uint64_t first, std::uint64_t columns) {
    const std::uint64_t count = std::min(slab_, columns - first);
    std::uint64_t stride = 1;
    for (const std::size_t mode : others_) {
      std::vector<std::uint64_t> components;
      for (std::uint64_t c = first; c < first + count; ++c) components.push_back(c / stride % rank_);
      load(mode, components);
      stride *= rank_;
    }
    workers_->pass(static_cast<int>(short_mode_));
    workers_->factors().read_output(static_cast<int>(short_mode_), 0, output_);
    rows_.reorder(static_cast<int>(short_mode_), output_);
    multiply();
    return distance(count);
  }

 private:
  // The mode's factor for the slab: a column of its pseudo-inverse for each, zeros beyond.
  void load(std::size_t mode, const std::vector<std::uint64_t>& components) {
    if (loaded_[mode] == components) return;
    const std::vector<double>& inverse = (*inverted_)[mode];
    const std::uint64_t length = inverse.size() / rank_;
    const std::uint64_t block_rows = std::max<std::uint64_t>(1, block_numbers / slab_);
    std::vector<double> block;
    for (std::uint64_t row = 0; row < length; row += block_rows) {
      const std::uint64_t rows = std::min(block_rows, length - row);
      block.assign(static_cast<std::size_t>(rows * slab_), 0.0);
      for (std::uint64_t i = 0; i < rows; ++i) {
        const double* const from = inverse.data() + (row + i) * rank_;
        for (std::size_t c = 0; c < components.size(); ++c) block[i * slab_ + c] = from[components[c]];
      }
      rows_.load(static_cast<int>(mode), row, block);
    }
    loaded_[mode] = components;
  }

  // The core's columns: the pseudo-inverse of the shortest mode times the output. R x slab.
  void multiply() {
    std::ranges::fill(core_, 0.0);
    const std::vector<double>& inverse = (*inverted_)[short_mode_];
    for (std::uint64_t i = 0; i < inverse.size() / rank_; ++i) {
      for (std::uint64_t r = 0; r < rank_; ++r) {
        const double factor = inverse[i * rank_ + r];
        for (std::uint64_t c = 0; c < slab_; ++c) core_[r * slab_ + c] += factor * output_[i * slab_ + c];
      }
    }
  }

  double distance(std::uint64_t count) const {
    double sum = 0;
    for (std::uint64_t r = 0; r < rank_; ++r) {
      for (std::uint64_t c = 0; c < count; ++c) {
        const bool diagonal = std::ranges::all_of(others_, [&](std::size_t mode) { return loaded_[mode][c] == r; });
        const double difference = core_[r * slab_ + c] - (diagonal ? 1.0 : 0.0);
        sum += difference * difference;
      }
    }
    return sum;
  }

  const Matrices* inverted_;
  std::uint64_t rank_;
  std::uint64_t slab_;
  std::size_t short_mode_;
  std::vector<std::size_t> others_;
  OriginalRows rows_;
  std::unique_ptr<WorkerGroup> workers_;
  std::vector<std::vector<std::uint64_t>> loaded_;  // per mode, the component of each column
  std::vector<double> output_;
  std::vector<double> core_;
};

// A job for as many columns at a time as the budget has room for, and how many those are.
std::pair<std::unique_ptr<Job>, std::uint64_t> make_core_job(const Tensor& tensor, const CpdModel& model,
                                                             const Compute& compute, std::uint64_t short_length,
                                                             const StopPoll& stop) {
  std::uint64_t slab = slab_of(static_cast<std::uint64_t>(model.rank), core_columns(model.shape.size(), model.rank));
  std::uint64_t numbers = 2 * block_numbers;
  for (const std::vector<double>& factor : model.factors) numbers += 2 * factor.size();
  std::uint64_t label_bytes = 0;
  for (const Labels& labels : model.labels) label_bytes += labels.memory_bytes();
  for (;; slab = slab / 2) {
    JobNeeds needs = needs_of(tensor, static_cast<int>(slab), compute.precision);
    needs.caller_bytes += label_bytes + (numbers + short_length * slab) * sizeof(double);
    needs.backend.stop = stop;
    try {
      return {std::make_unique<Job>(tensor, compute, needs), slab};
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::out_of_memory || slab == 1) throw;
    }
  }
}

}  // namespace

bool has_core_consistency(const CpdMethod& method) {
  return traits_of(method).counts_absent_cells && scale_of(loss_of(method)) == ModelScale::size;
}

std::uint64_t core_columns(std::size_t order, int rank) {
  if (rank > max_core_rank) return max_core_columns + 1;
  std::uint64_t columns = 1;
  for (std::size_t n = 1; n < order && columns <= max_core_columns; ++n) columns *= static_cast<std::uint64_t>(rank);
  return columns;
}

std::optional<double> core_consistency(const Tensor& tensor, const CpdModel& model, const Compute& compute,
                                       const ProgressCallback& progress, double time_limit_seconds) {
  check_shapes(tensor.summary(), model);
  const std::uint64_t columns = core_columns(model.shape.size(), model.rank);
  if (columns > max_core_columns) return std::nullopt;
  Compute fixed = compute;
  fixed.precision = Precision::f64;
  fixed.slots = 0;
  fixed.trace.clear();
  const auto short_mode = static_cast<std::size_t>(std::ranges::min_element(model.shape) - model.shape.begin());
  ProgressMeter meter(progress, time_limit_seconds);
  const auto [job, slab] =
      make_core_job(tensor, model, fixed, model.shape[short_mode], [&meter] { return meter.poll(); });
  const Matrices inverted = invert_factors(model);
  CoreSlabs slabs(tensor, model, inverted, short_mode, *job, slab, meter);
  const std::uint64_t passes = (columns + slab - 1) / slab;
  meter.begin({.name = "core", .nonzeros = tensor.summary().nnz * passes});
  double sum = 0;
  for (std::uint64_t first = 0; first < columns; first += slab) sum += slabs.squares(first, columns);
  meter.report_end();
  return 100 * (1 - sum / static_cast<double>(model.rank));
}

}  // namespace blco
