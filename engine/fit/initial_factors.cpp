// Initial factors: one number of the counter-based generator per element, vectors of a sample, or a model's own.
#include "engine/fit/initial_factors.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/common/counter_random.hpp"
#include "engine/fit/check_options.hpp"
#include "engine/fit/column_slabs.hpp"
#include "engine/fit/methods/factor_steps.hpp"
#include "engine/fit/methods/fit_method.hpp"
#include "engine/fit/methods/value_unit.hpp"
#include "engine/model/model_check.hpp"
#include "io/text/quoted_text.hpp"
#include "kernels/tall_matrices.hpp"

namespace blco {
namespace {

constexpr std::uint64_t block_bytes = std::uint64_t{1} << 20;

// Loads random rows from `first_row` to the end; `scales` multiply the columns, unless there are none.
void load_random_rows(const CpdOptions& options, Start start, int mode, std::uint64_t first_row, std::uint64_t length,
                      std::span<const double> scales, OriginalRows& rows) {
  const auto columns = static_cast<std::uint64_t>(options.rank);
  const std::uint64_t block_rows = std::max<std::uint64_t>(1, block_bytes / (columns * sizeof(double)));
  std::vector<double> block;
  for (std::uint64_t first = first_row; first < length; first += block_rows) {
    block.resize(static_cast<std::size_t>(std::min(block_rows, length - first) * columns));
    fill_initial_rows(options.seed, mode, first, options.rank, block, start);
    for (std::size_t i = 0; !scales.empty() && i < block.size(); ++i) block[i] *= scales[i % scales.size()];
    rows.load(mode, first, block);
  }
}

// Loads the mean of the known rows from there to the end: what is best where nothing else is known of a row.
void load_mean_rows(std::span<const double> factor, int mode, std::uint64_t known, std::uint64_t length,
                    OriginalRows& rows) {
  const std::size_t columns = factor.size() / static_cast<std::size_t>(known);
  std::vector<double> mean(columns);
  for (std::size_t i = 0; i < factor.size(); ++i) mean[i % columns] += factor[i] / static_cast<double>(known);
  const std::uint64_t block_rows = std::max<std::uint64_t>(1, block_bytes / (columns * sizeof(double)));
  std::vector<double> block;
  for (std::uint64_t first = known; first < length; first += block_rows) {
    block.resize(static_cast<std::size_t>(std::min(block_rows, length - first)) * columns);
    for (std::size_t i = 0; i < block.size(); ++i) block[i] = mean[i % columns];
    rows.load(mode, first, block);
  }
}

// More columns than vectors: those that a sample misses matter less then (Halko et al. 2011, section 4.2).
int sample_columns(int rank) { return std::min(2 * rank + 10, max_rank); }

bool is_nonnegative(const CpdOptions& options, std::size_t mode) {
  const std::vector<RowConstraint>& constraints = constraints_of(options.method);
  if (constraints.empty()) return false;
  return constraints[mode].set == RowSet::nonnegative || constraints[mode].set == RowSet::simplex;
}

double rounded_to_f32(double number) { return static_cast<double>(static_cast<float>(number)); }

void check_labels_of_mode(const std::string& mode, const Labels& old, const Labels& now) {
  for (std::uint64_t i = 0; i < old.size(); ++i) {
    const bool is_there = i < now.size();
    if (is_there && old[i] == now[i]) continue;
    refuse("label " + std::to_string(i + 1) + " of mode '" + mode + "' is " + quoted_for_message(old[i]) +
           " in the initial model, but " + (is_there ? quoted_for_message(now[i]) : "absent") +
           " in the tensor, so rows of the model would go to other labels; ingest the tensor again with that "
           "model as " +
           option_name("IngestOptions.columns.labels_from") + ", which keeps the numbers of its labels");
  }
}

}  // namespace

void fill_initial_rows(std::uint64_t seed, int mode, std::uint64_t first_row, int rank, std::span<double> rows,
                       Start start) {
  const RandomStream random(seed, static_cast<std::uint64_t>(mode));
  const std::uint64_t first = first_row * static_cast<std::uint64_t>(rank);
  for (std::uint64_t i = 0; i < rows.size(); ++i) {
    if (start == Start::normal) {  // Box & Muller 1958
      const double length = std::sqrt(-2 * std::log1p(-random.uniform(2 * (first + i))));
      rows[i] = length * std::cos(2 * std::numbers::pi * random.uniform(2 * (first + i) + 1));
    } else {
      rows[i] = random.uniform(first + i) - (start == Start::centered ? 0.5 : 0.0);
    }
  }
}

std::vector<double> new_row_scales(std::span<const double> factor, int rank) {
  const auto columns = static_cast<std::size_t>(rank);
  std::vector<double> squares(columns);
  std::vector<double> sums(columns);
  for (std::size_t i = 0; i < factor.size(); ++i) {
    squares[i % columns] += factor[i] * factor[i];
    sums[i % columns] += factor[i];
  }
  const double rows = static_cast<double>(factor.size()) / static_cast<double>(columns);
  std::vector<double> scales(columns);
  // Numbers that are uniform in [0, 1) have a mean square of 1/3.
  for (std::size_t r = 0; r < columns; ++r) scales[r] = std::copysign(std::sqrt(3 * squares[r] / rows), sums[r]);
  return scales;
}

void load_initial_factors(const TensorSummary& tensor, const CpdOptions& options, const ModelFileReader* resumed,
                          OriginalRows& rows) {
  if (resumed != nullptr) {
    resumed->read_factors([&](std::size_t mode, std::uint64_t first_row, std::span<const double> block) {
      rows.load(static_cast<int>(mode), first_row, block);
    });
    return rows.release();
  }
  for (std::size_t n = 0; n < tensor.shape.size(); ++n) {
    const int mode = static_cast<int>(n);
    if (options.initial == nullptr) {
      load_random_rows(options, options.start, mode, 0, tensor.shape[n], {}, rows);
      continue;
    }
    const std::vector<double>& factor = options.initial->factors[n];
    rows.load(mode, 0, factor);
    const std::uint64_t known = options.initial->shape[n];
    if (known == tensor.shape[n]) continue;
    if (std::holds_alternative<CompletionMethod>(options.method) && known > 0) {
      load_mean_rows(factor, mode, known, tensor.shape[n], rows);
      continue;
    }
    load_random_rows(options, Start::uniform, mode, known, tensor.shape[n], new_row_scales(factor, options.rank), rows);
  }
  rows.release();
}

bool samples_start(const CpdOptions& options) {
  return options.start == Start::nvecs && options.initial == nullptr && options.resume.empty();
}

JobNeeds sampling_needs(const Tensor& tensor, const CpdOptions& options, const Account& held, const StopPoll& stop) {
  const int columns = sample_columns(options.rank);
  const auto width = static_cast<std::uint64_t>(columns);
  MatrixSizes matrices;
  std::uint64_t largest = 0;  // a sample of which rank 0 has all rows
  for (const std::uint64_t length : tensor.shape()) {
    matrices.columns.push_back(std::min(static_cast<std::uint64_t>(options.rank), length));
    matrices.unfolding.push_back(width);
    if (length < width)
      largest = std::max(largest, length * width * sizeof(double) + tall_scratch_bytes(length, width));
  }
  matrices.slab = width;
  // Of one mode twice.
  const std::uint64_t longest = std::ranges::max(tensor.shape()) * static_cast<std::uint64_t>(options.rank);
  const std::uint64_t vectors = factor_numbers(tensor.summary(), options.rank) + longest;
  Account caller = held;
  caller.take_by_rank("a sample of an unfolding", largest);
  caller.take_by_rank("initial factors", vectors * sizeof(double));
  JobNeeds needs = slab_needs(tensor, columns, options.compute.precision, caller, matrices, stop);
  needs.may_slab = true;
  needs.value_exponent = value_exponent_of(tensor.summary(), options.method);
  return needs;
}

std::vector<std::vector<double>> sample_initial_factors(const Tensor& tensor, const CpdOptions& options,
                                                        const Account& held, ProgressMeter& meter) {
  Compute compute = options.compute;
  compute.trace.clear();
  Job job(tensor, compute, sampling_needs(tensor, options, held, [&meter] { return meter.poll(); }));
  const auto columns = static_cast<std::uint64_t>(options.rank);
  ColumnSlabs slabs(tensor, job, meter);
  slabs.sample_vectors(options.seed, job.pool());
  std::vector<std::vector<double>> factors;
  for (std::size_t n = 0; n < tensor.order(); ++n) factors.push_back(slabs.matrices().matrix(n));
  for (std::size_t n = 0; n < factors.size(); ++n) {
    const std::uint64_t length = tensor.shape()[n];
    if (is_nonnegative(options, n)) {
      for (double& number : factors[n]) number = std::abs(number);
    }
    if (length >= columns) continue;
    std::vector<double> rows(static_cast<std::size_t>(length * columns));
    fill_initial_rows(options.seed, static_cast<int>(n), 0, options.rank, rows);
    for (std::uint64_t i = 0; i < length; ++i) std::copy_n(&factors[n][i * length], length, &rows[i * columns]);
    factors[n] = std::move(rows);
  }
  return factors;
}

void check_initial_shape(const TensorSummary& tensor, const ModelHeader& initial) {
  if (initial.shape.size() != tensor.shape.size()) {
    refuse("the initial model has " + std::to_string(initial.shape.size()) + " modes, but the tensor has " +
           std::to_string(tensor.shape.size()) + "; start from a model of the same modes");
  }
  const std::vector<std::string>& names = initial.mode_names;
  if (!names.empty() && names != tensor.mode_names && std::ranges::is_permutation(names, tensor.mode_names)) {
    refuse(
        "the modes of the initial model have another order than those of the tensor; ingest the tensor again with "
        "its modes in the order of the model");
  }
  for (std::size_t n = 0; n < tensor.shape.size(); ++n) {
    if (tensor.shape[n] >= initial.shape[n]) continue;
    refuse("mode " + std::to_string(n) + " of the tensor has the length " + std::to_string(tensor.shape[n]) +
           ", but that of the initial model has " + std::to_string(initial.shape[n]) +
           "; it may be longer, but not shorter: ingest the tensor again, coordinates with " +
           option_name("IngestOptions.shape") + ", keys with the model as " +
           option_name("IngestOptions.columns.labels_from"));
  }
}

void check_initial_numbers(std::span<const double> numbers, const std::string& name) {
  if (std::ranges::all_of(numbers, [](double x) { return std::isfinite(x); })) return;
  refuse(name + " of the initial model has a number that is not finite");
}

void check_initial_model(const TensorSummary& tensor, const CpdOptions& options) {
  const CpdModel& initial = *options.initial;
  if (initial.rank != options.rank) {
    refuse("the initial model has rank " + std::to_string(initial.rank) + ", but rank " + std::to_string(options.rank) +
           " was asked for; give " + option_name("rank", std::to_string(initial.rank)));
  }
  check_initial_shape(tensor, initial);
  check_sizes(initial, "cannot start from the initial model");
  check_initial_numbers(initial.weights, "the list of weights");
  for (std::size_t n = 0; n < initial.shape.size(); ++n) {
    check_initial_numbers(initial.factors[n], "factor " + std::to_string(n));
  }
}

void check_initial_labels(const Tensor& tensor, const std::vector<Labels>& initial) {
  if (std::ranges::all_of(initial, &Labels::empty) || tensor.summary().label_bytes.empty()) return;
  const std::vector<Labels> labels = tensor.labels();
  for (std::size_t n = 0; n < std::min(labels.size(), initial.size()); ++n) {
    if (!labels[n].empty()) check_labels_of_mode(tensor.summary().mode_names[n], initial[n], labels[n]);
  }
}

std::vector<std::uint64_t> count_new_rows(const TensorSummary& tensor, const ModelHeader& initial) {
  std::vector<std::uint64_t> rows;
  for (std::size_t n = 0; n < tensor.shape.size(); ++n) rows.push_back(tensor.shape[n] - initial.shape[n]);
  if (std::ranges::all_of(rows, [](std::uint64_t count) { return count == 0; })) rows.clear();
  return rows;
}

std::vector<std::uint64_t> count_outside_box(const TensorSummary& tensor, const CpdOptions& options) {
  const std::vector<RowConstraint>& constraints = constraints_of(options.method);
  if (constraints.empty()) return {};
  const CpdModel& initial = *options.initial;
  const auto rank = static_cast<std::size_t>(initial.rank);
  const double unit = std::ldexp(1.0, value_exponent_of(tensor, options.method));
  // The weights go into the rows of the first mode, unless there is a mode that is normalised: it carries them.
  const bool weighs_first =
      std::ranges::none_of(constraints, [](const RowConstraint& c) { return c.normalises() || c.is_held(); });
  std::vector<std::uint64_t> counts;
  for (std::size_t n = 0; n < initial.factors.size(); ++n) {
    const RowConstraint& constraint = constraints[n];
    // A model of f32 has its entries at a limit rounded.
    const double lower = std::min(constraint.lower, rounded_to_f32(constraint.lower));
    const double upper = std::max(constraint.upper, rounded_to_f32(constraint.upper));
    std::uint64_t count = 0;
    for (std::size_t i = 0; constraint.set == RowSet::box && i < initial.factors[n].size(); ++i) {
      const double entry = initial.factors[n][i] * (weighs_first && n == 0 ? initial.weights[i % rank] / unit : 1.0);
      if (entry < lower || entry > upper) ++count;
    }
    counts.push_back(count);
  }
  if (std::ranges::all_of(counts, [](std::uint64_t count) { return count == 0; })) counts.clear();
  return counts;
}

}  // namespace blco
