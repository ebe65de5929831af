// Tensor completion: least squares over the entries alone, absent cells being unknown.
//
// Row i of mode n minimises sum over its entries of (x - h a)^2 + ridge |a|^2, where h is the elementwise product of
// the other modes' rows: (sum h^T h + ridge I) a = sum x h. A pass of EntryRule::given gives sum (h a - x) h of all
// rows, and one of EntryRule::model the products of all rows' matrices with the directions, which take the factor's
// place. So no matrix of a row is ever formed.
//
// A ridge that is found falls sweep by sweep from one that leaves little but the means, as along a regularisation path
// (Friedman, Hastie & Tibshirani, Regularization Paths for Generalized Linear Models via Coordinate Descent, 2010), and
// draws each row to its mode's mean row, as a prior with a mean does (Salakhutdinov & Mnih, Bayesian Probabilistic
// Matrix Factorization using MCMC, 2008). Its objective adds ridge (z |c|^2 + sum |a - c|^2), where c is that row, and
// z is zero_rows().
//
// Without held-out entries a fit whose rows are short of entries holds some back from itself while the ridge falls. It
// then goes on with the best ridge and all entries.
//
// Over 500 lines: sweeps, the ridge's path and both kinds of held-out errors share one state, which a checkpoint keeps.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/common/number_text.hpp"
#include "engine/fit/methods/entry_means.hpp"
#include "engine/fit/methods/factor_steps.hpp"
#include "engine/fit/methods/fit_method.hpp"
#include "engine/fit/methods/held_back.hpp"
#include "engine/fit/methods/initial_scale.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "engine/tensor/tensor_sizes.hpp"
#include "engine/work/rows/row_blocks.hpp"
#include "engine/work/worker_group.hpp"
#include "io/container/chunk_source.hpp"
#include "io/text/quoted_text.hpp"

namespace blco {
namespace {

constexpr double none_yet = -1;  // of an error
// With one ridge, so many sweeps without a smaller held-out error end the fit. Noise may be learned before the rest is.
constexpr int most_vain_sweeps = 20;

// The first two are those of conjugate gradients.
constexpr int solution_vector = 0;
constexpr int best_vector = 2;

// A ridge that is found: where it begins, by which it falls, and below which it is none.
constexpr double first_ridge = 6;
constexpr double fall_of_ridge = 0.7;
constexpr double last_ridge = 6e-5;
// After so many ridges without a smaller error the ridge falls in larger steps: it may be too large for any component.
constexpr int most_vain_ridges = 2;
constexpr int falls_of_larger_step = 3;
// Of entries too few to hold some back.
constexpr double ridge_of_few = 1;
// Rows of zeros among those whose mean the ridge draws to: so that a mean row of much noise is shorter. Of few entries,
// a row of zeros would count as much as the others.
constexpr double zero_rows_of_many = 1;
constexpr double zero_rows_of_few = 1e-3;
// A ridge is looked for where a row has fewer entries for each of its numbers; else noise in them hardly matters. Of
// few entries, where a row is hardly determined.
constexpr double ample_entries = 8;
constexpr double fewest_of_few = 2;
// Of a ridge on a path, a sweep that lowers the root of the objective by no more ends it, and so do so many sweeps.
constexpr double settled = 1e-3;
constexpr int most_sweeps_of_ridge = 10;

// Of random numbers times s, of mean a and mean square b, the model's mean square is
// s^(2 N) (R b^N + R (R - 1) a^(2 N)). Returns s.
double scale_of_random_factors(Start start, double mean_square, double rank, double order) {
  const bool is_uniform = start == Start::automatic || start == Start::uniform;
  const double square = is_uniform ? 1.0 / 3 : start == Start::centered ? 1.0 / 12 : 1.0;
  const double at_one = rank * std::pow(square, order) + (is_uniform ? rank * (rank - 1) * std::pow(4.0, -order) : 0);
  return std::pow(mean_square / at_one, 0.5 / order);
}

// Held-out entries must have the shape of `tensor`; its labels, where both have them; and its order of stored indices,
// which is read in turn for each mode.
void check_shape(const TensorSummary& tensor, const TensorSummary& entries) {
  if (tensor.shape == entries.shape) return;
  const std::string remedy = tensor.label_bytes.empty()
                                 ? "ingest both with the same " + option_name("IngestOptions.shape")
                                 : "ingest the table of these entries with the tensor as " +
                                       option_name("IngestOptions.columns.labels_from") + ", and with " +
                                       option_name("IngestOptions.columns.skip_unknown") + " where it has other keys";
  refuse(option_name("validation") + ": the held-out entries have the shape " + shape_text(entries.shape) +
         ", but the tensor has the shape " + shape_text(tensor.shape) + "; " + remedy +
         ", or hold some out of the input by " + option_name("IngestOptions.hold_out"));
}

void check_labels(const Tensor& tensor, const Tensor& entries) {
  if (tensor.summary().label_bytes.empty() || entries.summary().label_bytes.empty()) return;
  const std::vector<Labels> fitted = tensor.labels();
  const std::vector<Labels> held_out = entries.labels();
  for (std::size_t n = 0; n < fitted.size(); ++n) {
    for (std::uint64_t i = 0; i < fitted[n].size() && i < held_out[n].size(); ++i) {
      if (fitted[n][i] == held_out[n][i]) continue;
      refuse("label " + std::to_string(i + 1) + " of mode " + std::to_string(n) + " is " +
             quoted_for_message(fitted[n][i]) + " in the tensor, but " + quoted_for_message(held_out[n][i]) +
             " in the held-out entries; ingest them with the tensor as " +
             option_name("IngestOptions.columns.labels_from") + ", which keeps the numbers of its labels");
    }
  }
}

void check_indices(const Tensor& tensor, const Tensor& entries) {
  check_labels(tensor, entries);
  for (std::size_t n = 0; n < tensor.summary().shape.size(); ++n) {
    if (TensorChunks::of(tensor).reordering(n) == TensorChunks::of(entries).reordering(n)) continue;
    refuse(option_name("validation") + ": mode " + std::to_string(n) +
           " of the held-out entries is stored with other indices than that of the tensor; ingest both with " +
           option_name("IngestOptions.reorder", "none"));
  }
}

// Alternating least squares; a row of a mode minimises a quadratic of its own, by conjugate gradients from the old row.
// Columns are not normalised, and weights are 1.
class CpCompletion final : public FitMethod {
 public:
  explicit CpCompletion(const FitContext& context);

  static void check(const TensorSummary& tensor, const CpdOptions& options);
  static ConstantModel check_entries(const Tensor& tensor, const CpdOptions& options, int, ProgressMeter& meter);
  static MethodNeeds needs(const TensorSummary& tensor, const CpdOptions& options);

  // Random factors are scaled so that the model's mean square is that of the given values; weights go evenly into the
  // modes.
  void start(std::span<const double> weights) override;
  // Updates every mode, in order; a stop ends it after the pass in progress, with what the modes have gained so far.
  void run_step(SweepReport& report) override;
  // Objectives with other ridges are not to be compared.
  std::optional<double> first_objective() const override {
    return is_automatic() && has_searched_ ? std::nullopt : first_objective_;
  }
  std::optional<double> found_ridge() const override;
  // With held-out entries: back to the model of the least error.
  std::size_t finish() override;
  const std::vector<double>& weights() const override { return weights_; }

  // Errors so far and the number of the next pass; with held-out entries the best factors.
  MethodState state() const override;
  void store_rows(std::size_t, int mode, std::uint64_t first_row, std::span<double> rows) const override;
  // A fit that goes on without held-out entries needs no best factors.
  void restore(ResumedState& state) override;

 private:
  const CompletionMethod& completion() const { return std::get<CompletionMethod>(context_.options.method); }
  const std::vector<std::uint32_t>& cold_of(int mode) const { return cold_rows_[static_cast<std::size_t>(mode)]; }
  std::uint64_t length_of(int mode) const { return context_.tensor.summary().shape[static_cast<std::size_t>(mode)]; }
  int order() const { return static_cast<int>(context_.tensor.summary().shape.size()); }
  bool is_bounded(int mode) const { return set_of(mode) == RowSet::nonnegative; }
  bool is_held(int mode) const { return set_of(mode) == RowSet::held; }
  RowSet set_of(int mode) const { return row_set(context_.options.method, static_cast<std::size_t>(mode)); }

  // Returns whether it took all steps; a stop leaves some out.
  bool update_mode(int mode);
  bool is_automatic() const { return context_.options.ridge == automatic_ridge; }
  // Whether rows are drawn to their mode's mean row.
  bool draws_to_means() const { return is_automatic() && ridge_ > 0; }
  // Whether the ridge may still fall.
  bool is_path() const { return held_out_ != nullptr ? draws_to_means() : held_back_ != nullptr; }
  double first_ridge_of(const EntryMeans& means);
  double zero_rows() const { return has_searched_ ? zero_rows_of_many : zero_rows_of_few; }
  double ridge_after(int falls) const;
  std::vector<double> mean_row(int mode, double added_rows = 0);
  double beyond_squares(int mode, std::span<const double> centre);
  double cold_squares(int mode) const;
  void fill_cold_rows(int mode, std::span<const double> row);
  void fill_with_means();
  std::vector<double> first_cold_row(int mode) const;
  void lower_ridge(bool is_settled);
  void next_ridge();
  void search_ridge(SweepReport& report, bool is_settled);
  void end_search(int falls);
  // A loss pass over the entries, without those that are held back.
  void pass_over_known(const EntryFunction& function, ModeSet outputs);
  CgStep cg_step(int mode) const;
  void find_squares();
  double squared_error();
  double objective(double squared_error) const;
  void validate(SweepReport& report);

  FitContext context_;
  std::size_t rank_;
  double unit_;   // of a ridge, in that of the values
  double ridge_;  // in the unit of the fit
  // Per mode, those without entries. They are all alike, and outside the objective.
  std::vector<std::vector<std::uint32_t>> cold_rows_;
  std::vector<double> weights_;
  std::vector<double> squares_;  // per mode, the sum over the factor's entries; empty before the first step
  double last_root_ = -1;        // of the objective after the last sweep; negative: none
  std::optional<double> first_objective_;

  const Tensor* held_out_;      // or null
  double least_error_ = -1;     // on the held-out entries; negative: none yet
  std::size_t best_sweep_ = 0;  // of the least held-out error
  int vain_ = 0;                // sweeps since then; on a path, ridges
  HeldOutReport means_;
  int falls_ = 0;            // of the ridge, on a path
  int sweeps_of_ridge_ = 0;  // since the last of them
  int best_falls_ = 0;       // with the least error
  bool has_searched_ = false;
  std::unique_ptr<HeldBack> held_back_;  // null: all entries count
};

CpCompletion::CpCompletion(const FitContext& context)
    : context_(context),
      rank_(static_cast<std::size_t>(context.options.rank)),
      unit_(std::pow(context.mean_square(), 1 - 1.0 / order())),
      ridge_(unit_ * context.options.ridge),
      weights_(rank_, 1.0),
      held_out_(completion().validation) {
  const EntryMeans means(TensorChunks::of(context.tensor), context.workers.executor());
  for (std::size_t n = 0; n < context.tensor.summary().shape.size(); ++n) cold_rows_.push_back(means.cold_rows(n));
  if (is_automatic()) ridge_ = unit_ * first_ridge_of(means);
  if (held_out_ == nullptr) return;
  means_ = means.compare(TensorChunks::of(*held_out_));
  context.workers.add(TensorChunks::of(*held_out_));
}

// Makes held_back_ where a search is to begin.
double CpCompletion::first_ridge_of(const EntryMeans& means) {
  has_searched_ = held_out_ != nullptr;
  if (held_out_ != nullptr) return first_ridge;
  double fewest = std::numeric_limits<double>::infinity();
  for (int mode = 0; mode < order(); ++mode) {
    if (!is_held(mode)) fewest = std::min(fewest, means.fewest_entries(static_cast<std::size_t>(mode)));
  }
  const auto columns = static_cast<double>(rank_);
  // The rows of one mode alone share nothing with others.
  if (order() == 1 || context_.tensor.nnz() == 0 || fewest >= ample_entries * columns) return 0;
  if (context_.tensor.nnz() < HeldBack::least_entries) return fewest < fewest_of_few * columns ? ridge_of_few : 0;
  held_back_ = std::make_unique<HeldBack>(TensorChunks::of(context_.tensor), context_.workers, context_.value_exponent);
  has_searched_ = !held_back_->is_empty();
  if (held_back_->is_empty()) held_back_.reset();
  return has_searched_ ? first_ridge : ridge_of_few;
}

double CpCompletion::ridge_after(int falls) const {
  double ridge = first_ridge;
  for (int fall = 0; fall < falls; ++fall) ridge *= fall_of_ridge;
  return ridge < last_ridge ? 0 : unit_ * ridge;
}

std::optional<double> CpCompletion::found_ridge() const {
  if (!is_automatic()) return std::nullopt;
  return (held_out_ != nullptr && least_error_ >= 0 ? ridge_after(best_falls_) : ridge_) / unit_;
}

void CpCompletion::check(const TensorSummary& tensor, const CpdOptions& options) {
  const auto& completion = std::get<CompletionMethod>(options.method);
  if (completion.validation != nullptr) check_shape(tensor, completion.validation->summary());
}

ConstantModel CpCompletion::check_entries(const Tensor& tensor, const CpdOptions& options, int, ProgressMeter&) {
  const auto& completion = std::get<CompletionMethod>(options.method);
  if (completion.validation != nullptr) check_indices(tensor, *completion.validation);
  return {};
}

MethodNeeds CpCompletion::needs(const TensorSummary& tensor, const CpdOptions& options) {
  const auto& completion = std::get<CompletionMethod>(options.method);
  MethodNeeds needs{.stops_after_pass = true, .reads_chunks = true};
  std::uint64_t rows = 0;
  for (const std::uint64_t length : tensor.shape) rows += length;
  needs.host.take("means of rows", EntryMeans::memory_bytes(rows, !tensor.reordered_modes.empty()));
  needs.host.take("blocks of rows", 2 * numbers_of_block(options.rank) * sizeof(double));
  // One at the end for the error.
  needs.passes_of_step = tensor.shape.size() * (static_cast<std::uint64_t>(completion.cg_steps) + 1) + 1;
  needs.vectors.assign(2, {.rows = std::ranges::max(tensor.shape), .name = "directions of conjugate gradients"});
  if (completion.validation == nullptr) {
    if (options.ridge == automatic_ridge && tensor.nnz >= HeldBack::least_entries) {
      needs.any_rows = true;
      needs.host.take("entries held back", HeldBack::bytes(tensor));
      needs.slot_bytes = PackedCells::least_slot_bytes(TensorLayout(tensor.shape));
    }
    return needs;
  }
  needs.any_rows = true;
  needs.vectors.push_back(vector_of_all_modes(tensor, "the best model"));
  const ChunkSource& entries = TensorChunks::of(*completion.validation);
  const StreamPlan plan = WorkerGroup::plan_for(entries);
  needs.host.take("held-out entries", static_cast<std::uint64_t>(plan.slots) * plan.slot_bytes + plan.scratch_bytes +
                                          measure_tensor(entries).table_bytes + entries.held_bytes());
  needs.slot_bytes = plan.slot_bytes;
  needs.state_matrices = 1;
  return needs;
}

void CpCompletion::start(std::span<const double> weights) {
  // Alike, so that sums over the others are known.
  for (int mode = 0; mode < order(); ++mode) {
    if (!is_held(mode) && !cold_of(mode).empty()) fill_cold_rows(mode, first_cold_row(mode));
  }
  if (!weights.empty()) return scale_initial_factors(context_, {}, weights);
  const std::vector<double> scales(
      rank_, scale_of_random_factors(context_.options.start, context_.mean_square(), context_.options.rank, order()));
  for (int mode = 0; mode < order(); ++mode) {
    context_.workers.factors().scale_columns(mode, scales);
    if (is_bounded(mode)) context_.workers.factors().raise_to_zero(mode);
  }
}

void CpCompletion::run_step(SweepReport& report) {
  if (squares_.empty()) find_squares();
  for (int mode = 0; mode < order() && !report.cut_short; ++mode) {
    if (!is_held(mode)) report.cut_short = !update_mode(mode) || (mode + 1 < order() && context_.stop());
  }
  report.objective = objective(squared_error());
  const double root = std::sqrt(report.objective);
  const double tolerance = tolerance_of(context_.options);
  const double fall = last_root_ >= 0 ? 1 - root / last_root_ : 1;
  report.converged = !is_path() && last_root_ >= 0 && tolerance > 0 && last_root_ - root <= tolerance * last_root_;
  last_root_ = root;
  if (is_automatic()) report.ridge = ridge_ / unit_;
  if (held_back_) return search_ridge(report, fall <= settled);
  if (held_out_ == nullptr) {
    // As long as the model that the error spoke for had been fitted.
    if (has_searched_ && ridge_ > 0 && tolerance > 0 && !report.cut_short) {
      report.converged |= ++sweeps_of_ridge_ >= most_sweeps_of_ridge || fall <= settled;
    }
    return;
  }
  validate(report);
  if (is_path()) lower_ridge(fall <= settled);
}

// Once the ridge would be none, the fit goes on with the best one.
void CpCompletion::search_ridge(SweepReport& report, bool is_settled) {
  const double error = held_back_->error();
  report.validation_error = error;
  if (report.cut_short || (++sweeps_of_ridge_ < most_sweeps_of_ridge && !is_settled)) return;
  if (least_error_ < 0 || error < least_error_) {
    least_error_ = error;
    best_falls_ = falls_;
  }
  const bool is_least = best_falls_ == falls_;
  next_ridge();
  // An error that falls to the end says that the entries have no noise.
  if (ridge_ == 0) end_search(is_least ? falls_ : best_falls_);
}

void CpCompletion::end_search(int falls) {
  falls_ = falls;
  ridge_ = ridge_after(falls);
  held_back_.reset();
  sweeps_of_ridge_ = 0;
  last_root_ = none_yet;
}

void CpCompletion::lower_ridge(bool is_settled) {
  if (++sweeps_of_ridge_ < most_sweeps_of_ridge && !is_settled) return;
  next_ridge();
  if (ridge_ == 0) vain_ = 0;
}

void CpCompletion::next_ridge() {
  vain_ = best_falls_ == falls_ ? 0 : vain_ + 1;
  falls_ += vain_ >= most_vain_ridges ? falls_of_larger_step : 1;
  ridge_ = ridge_after(falls_);
  sweeps_of_ridge_ = 0;
  last_root_ = none_yet;
}

// Of the factors as they are: a sweep that is cut short leaves some of them.
void CpCompletion::find_squares() {
  for (int mode = 0; mode < order(); ++mode) {
    context_.workers.factors().copy_to_vector(mode, solution_vector);
    double squares = context_.workers.factors().cg_end(mode);
    squares += draws_to_means() ? beyond_squares(mode, mean_row(mode, zero_rows())) : -cold_squares(mode);
    squares_.push_back(squares);
  }
}

// What |c|^2, times the rows of zeros, and the squares of the rows' differences from c have beyond those of the rows.
double CpCompletion::beyond_squares(int mode, std::span<const double> centre) {
  const std::vector<double> sums = context_.workers.factors().column_sums(mode);
  double sum = 0;
  for (std::size_t r = 0; r < rank_; ++r) {
    sum += centre[r] * ((static_cast<double>(length_of(mode)) + zero_rows()) * centre[r] - 2 * sums[r]);
  }
  return sum;
}

// Of rows without entries, which are outside the objective.
double CpCompletion::cold_squares(int mode) const {
  if (cold_of(mode).empty() || is_held(mode)) return 0;
  const std::vector<double> row = first_cold_row(mode);
  return static_cast<double>(cold_of(mode).size()) * std::inner_product(row.begin(), row.end(), row.begin(), 0.0);
}

std::vector<double> CpCompletion::first_cold_row(int mode) const {
  std::vector<double> row(rank_);
  context_.workers.factors().store_factor(mode, cold_of(mode).front(), row);
  return row;
}

// Over the rows with entries, and so many rows of zeros. Where there is none, the rows stay as they are.
std::vector<double> CpCompletion::mean_row(int mode, double added_rows) {
  const auto cold = static_cast<double>(cold_of(mode).size());
  std::vector<double> row(rank_);
  if (cold > 0) row = first_cold_row(mode);
  const double warm = static_cast<double>(length_of(mode)) - cold;
  if (warm == 0) return row;
  const std::vector<double> sums = context_.workers.factors().column_sums(mode);
  for (std::size_t r = 0; r < rank_; ++r) row[r] = (sums[r] - cold * row[r]) / (warm + added_rows);
  if (is_bounded(mode)) {
    for (double& number : row) number = std::max(number, 0.0);
  }
  return row;
}

void CpCompletion::fill_cold_rows(int mode, std::span<const double> row) {
  const std::span<const std::uint32_t> cold = cold_of(mode);
  std::vector<double> block;
  const auto step = static_cast<std::size_t>(rows_of_block(context_.options.rank));
  for (std::size_t first = 0; first < cold.size(); first += step) {
    const std::size_t count = std::min(step, cold.size() - first);
    while (block.size() < count * rank_) block.insert(block.end(), row.begin(), row.end());
    context_.workers.factors().load_rows(mode, cold.subspan(first, count), std::span(block).first(count * rank_));
  }
}

// Where rows without entries are asked for: in no other sweep do their rows move.
void CpCompletion::fill_with_means() {
  for (int mode = 0; mode < order(); ++mode) {
    if (!is_held(mode) && !cold_of(mode).empty()) fill_cold_rows(mode, mean_row(mode));
  }
}

double CpCompletion::objective(double squared_error) const {
  return squared_error + ridge_ * std::accumulate(squares_.begin(), squares_.end(), 0.0);
}

void CpCompletion::pass_over_known(const EntryFunction& function, ModeSet outputs) {
  context_.workers.pass(PassRequest(function, outputs));
  if (held_back_) held_back_->leave_out(function, outputs);
}

// A difference of sums, which rounding may take below 0.
double CpCompletion::squared_error() {
  pass_over_known({.rule = EntryRule::given}, 0);
  return std::max(0.0, context_.workers.sum_of_terms());
}

// Cosines of right angles, but for rounding errors, are above the root of these.
CgStep CpCompletion::cg_step(int mode) const {
  const bool is_f64 = context_.options.compute.precision == Precision::f64;
  return {.ridge = ridge_,
          .nonnegative = is_bounded(mode),
          .least_cosine = is_f64 ? 1e-3 : 1e-2,
          .solved = is_f64 ? 1e-10 : 1e-5};
}

bool CpCompletion::update_mode(int mode) {
  CgStep cg = cg_step(mode);
  Factors& factors = context_.workers.factors();
  const std::vector<double> centre = draws_to_means() ? mean_row(mode, zero_rows()) : std::vector<double>();
  pass_over_known({.rule = EntryRule::given, .scale = 0.5}, mode_bit(mode));
  if (!first_objective_) first_objective_ = objective(2 * context_.workers.sum_of_terms());
  cg.centre = centre;
  factors.cg_begin(mode, cg);
  int step = 0;
  for (; step < completion().cg_steps && !context_.stop(); ++step) {
    pass_over_known({.rule = EntryRule::model}, mode_bit(mode));
    factors.cg_step(mode, cg);
  }
  double& squares = squares_[static_cast<std::size_t>(mode)];
  squares = factors.cg_end(mode);
  if (draws_to_means()) {
    squares += beyond_squares(mode, centre);
  } else if (step == 0) {
    squares -= cold_squares(mode);  // which the first step would have made 0
  }
  return step == completion().cg_steps;
}

void CpCompletion::validate(SweepReport& report) {
  fill_with_means();
  context_.workers.pass_over(TensorChunks::of(*held_out_), PassRequest({.rule = EntryRule::given}, 0));
  const double error = std::sqrt(context_.workers.sum_of_terms() / static_cast<double>(held_out_->summary().nnz));
  report.validation_error = error;
  if (!is_path()) {
    vain_ = least_error_ >= 0 && error >= least_error_ ? vain_ + 1 : 0;
    if (vain_ >= most_vain_sweeps) report.converged = true;
  }
  report.held_out = means_;
  report.held_out->model_error = least_error_ >= 0 ? std::min(error, least_error_) : error;
  if (least_error_ >= 0 && !(error < least_error_)) return;
  least_error_ = error;
  best_falls_ = falls_;
  best_sweep_ = static_cast<std::size_t>(report.sweep);
  copy_all_to_vector(context_.workers.factors(), order(), best_vector);
}

std::size_t CpCompletion::finish() {
  if (held_out_ == nullptr || least_error_ < 0) {
    fill_with_means();
    return 0;
  }
  copy_all_from_vector(context_.workers.factors(), order(), best_vector);
  return best_sweep_;
}

MethodState CpCompletion::state() const {
  MethodState state;
  state.numbers = {static_cast<double>(context_.workers.next_pass()),
                   last_root_,
                   least_error_,
                   static_cast<double>(vain_),
                   static_cast<double>(best_sweep_),
                   static_cast<double>(falls_),
                   static_cast<double>(sweeps_of_ridge_)};
  if (is_automatic()) {
    state.numbers.push_back(static_cast<double>(best_falls_));
    state.numbers.push_back(held_back_ != nullptr ? 1 : 0);
  }
  if (held_out_ != nullptr) state.matrices = {"best"};
  return state;
}

void CpCompletion::store_rows(std::size_t, int mode, std::uint64_t first_row, std::span<double> rows) const {
  context_.workers.factors().store_vector(best_vector, mode, first_row, rows);
}

void CpCompletion::restore(ResumedState& state) {
  // A checkpoint of a fit without held-out entries has the same numbers.
  state.require(is_automatic() ? 9 : 7,
                state.has_matrices() ? std::vector<std::string>{"best"} : std::vector<std::string>{});
  context_.workers.set_next_pass(state.next_count(number_of_next_pass));
  last_root_ = state.next_number("the root of the last objective", none_yet);
  if (state.has_matrices() != (held_out_ != nullptr)) return;
  least_error_ = state.next_number("the least error over held-out entries", none_yet);
  vain_ = static_cast<int>(state.next_count("the number of sweeps or ridges without a smaller error", state.sweeps()));
  best_sweep_ = static_cast<std::size_t>(state.next_count("the sweep of the least error", state.sweeps()));
  const std::uint64_t most_falls = falls_of_larger_step * static_cast<std::uint64_t>(state.sweeps());
  falls_ = static_cast<int>(state.next_count("the number of falls of the ridge", most_falls));
  sweeps_of_ridge_ = static_cast<int>(state.next_count("the number of sweeps with this ridge", state.sweeps()));
  if (is_automatic()) {
    best_falls_ = static_cast<int>(state.next_count("the falls of the ridge of the least error", most_falls));
    const bool is_searching = state.next_count("whether entries are held back", 1) == 1;
    if (!is_searching) held_back_.reset();
    if (has_searched_) ridge_ = ridge_after(falls_);
  }
  if (held_out_ == nullptr) return;
  state.read_rows([this](std::size_t, std::size_t mode, std::uint64_t first_row, std::span<const double> rows) {
    context_.workers.factors().load_vector(best_vector, static_cast<int>(mode), first_row, rows);
  });
}

}  // namespace

const MethodEntry completion_method{{.name = "complete",
                                     .usual_sweeps = 500,
                                     .usual_tolerance = 5e-5,
                                     .takes_ridge = true,
                                     .takes_validation = true,
                                     .takes_any_start = true,
                                     .counts_absent_cells = false},
                                    CpCompletion::check,
                                    CpCompletion::check_entries,
                                    CpCompletion::needs,
                                    make_of<CpCompletion>};

}  // namespace blco
