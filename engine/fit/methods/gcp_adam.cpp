// Kingma & Ba, Adam: A Method for Stochastic Optimization, 2015, algorithm 1; for tensors: Kolda & Hong, Stochastic
// Gradients for Large-Scale Tensor Decomposition, SIAM J. Math. Data Sci. 2020, algorithm 5.1.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/common/counter_random.hpp"
#include "engine/fit/methods/factor_steps.hpp"
#include "engine/fit/methods/fit_method.hpp"
#include "engine/fit/methods/gcp.hpp"
#include "engine/fit/methods/initial_scale.hpp"
#include "engine/fit/methods/sampled_zeros.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "engine/work/rows/row_blocks.hpp"

namespace blco {
namespace {

constexpr double first_decay = 0.9;
constexpr double second_decay = 0.999;
constexpr double epsilon = 1e-30;  // gradients have no scale of their own
constexpr double rate_decay = 0.25;
constexpr double max_failures = 3;
constexpr double warm_up = 100;      // steps until the rate is whole, because moments of few steps say little
constexpr double least_scale = 0.1;  // of a column, beside that of its mode, so that a column of zeros comes back

// Of a sweep, so that the objective, which costs a pass itself, is not most of the work for a tensor of few chunks.
constexpr std::uint64_t min_steps = 100;
// Neighbouring nonzeros lie in one chunk, so that a single one is a poor sample.
constexpr std::uint64_t max_chunks_of_step = 4;
constexpr std::uint64_t steps_of_round = 8;  // at least, where there are as many chunks
constexpr std::uint64_t max_default_samples = std::uint64_t{1} << 16;
constexpr std::uint64_t max_samples_of_objective = std::uint64_t{1} << 18;

// Random sequences: of the steps' samples and chunks, one each, and of the objective's sample.
constexpr std::uint64_t fixed_stream = std::uint64_t{1} << 62;
constexpr std::uint64_t order_stream = std::uint64_t{1} << 61;
constexpr std::uint64_t sample_stream = std::uint64_t{1} << 60;

const GcpAdamMethod& method_of(const CpdOptions& options) { return std::get<GcpAdamMethod>(options.method); }

// Vectors of the backend's, the first two those of its step.
enum : int { first_moments, second_moments, factors_before, first_before, second_before, vector_count };

std::vector<std::string> moment_names() { return {"first moments", "second moments"}; }

std::uint64_t chunks_of_step(std::uint64_t chunk_count) {
  return std::clamp<std::uint64_t>(chunk_count / steps_of_round, 1, max_chunks_of_step);
}

std::uint64_t samples_of_step(const TensorSummary& tensor, const CpdOptions& options) {
  const std::uint64_t chosen = method_of(options).samples;
  if (chosen != 0) return chosen;
  const std::uint64_t nonzeros = std::min(tensor.nnz, chunks_of_step(tensor.chunk_count) * tensor.chunk_nnz);
  return std::min(nonzeros, max_default_samples);
}

// The objective is computed once a sweep, so it can afford more.
std::uint64_t samples_of_objective(const TensorSummary& tensor, const CpdOptions& options) {
  constexpr std::uint64_t times = 16;
  const std::uint64_t samples = samples_of_step(tensor, options);
  return std::max(samples, std::min(times * samples, max_samples_of_objective));
}

// A step takes some chunks and a sample of all cells, which count as zeros: semi-stratified sampling (Kolda & Hong
// 2020, section 5.3), whose gradient is
//   nnz / nnz of the chunks * (the nonzeros' f'(x, m) - f'(0, m)) + cells / samples * (the samples' f'(0, m)).
// Moments change in rows that the step touches only.
class GcpAdam final : public FitMethod {
 public:
  explicit GcpAdam(const FitContext& context);

  static void check(const TensorSummary& tensor, const CpdOptions& options);
  static MethodNeeds needs(const TensorSummary& tensor, const CpdOptions& options);

  void start(std::span<const double> weights) override;
  // All chunks in random order, as often as it takes for min_steps. It counts only if it lowers the
  // objective, all nonzeros and the same sample of zeros each time; otherwise factors and moments return to what they
  // were. A sweep that gains next to nothing makes the next one's steps smaller.
  void run_step(SweepReport& report) override;
  const std::vector<double>& weights() const override { return weights_; }

  MethodState state() const override;
  // The first and the second moments.
  void store_rows(std::size_t matrix, int mode, std::uint64_t first_row, std::span<double> rows) const override;
  void restore(ResumedState& state) override;

 private:
  const std::vector<std::uint64_t>& shape() const { return context_.tensor.summary().shape; }
  int order() const { return static_cast<int>(shape().size()); }
  void count_indices();
  double estimate();
  void find_scales();
  bool take_steps();  // false: a stop left some out
  void take_step(std::span<const std::uint64_t> chunks);
  void update_mode(int mode);
  void keep_copies();
  void return_to_copies();

  FitContext context_;
  GcpAdamMethod method_;
  bool nonnegative_;
  std::vector<double> weights_;  // all 1: the factors hold them
  IndexCounts counts_;
  SampledZeros sample_;         // of a step
  SampledZeros fixed_sample_;   // of the objective
  double cells_;                // of the whole tensor
  std::vector<double> scales_;  // of a sweep: of each column of each mode
  double steps_ = 0;            // behind the moments
  double steps_before_ = 0;
  double draws_ = 0;  // of samples, those of failed sweeps included
  double rate_;
  double failures_ = 0;  // in a row
  std::optional<double> objective_;
};

GcpAdam::GcpAdam(const FitContext& context)
    : context_(context),
      method_(method_of(context.options)),
      nonnegative_(needs_nonnegative_model(method_.loss)),
      weights_(static_cast<std::size_t>(context.options.rank), 1.0),
      sample_(TensorChunks::of(context.tensor), context.workers,
              samples_of_step(context.tensor.summary(), context.options)),
      fixed_sample_(TensorChunks::of(context.tensor), context.workers,
                    samples_of_objective(context.tensor.summary(), context.options)),
      cells_(count_cells(context.tensor.summary())),
      scales_(context.tensor.summary().shape.size() * weights_.size()),
      rate_(method_.learning_rate) {}

void GcpAdam::check(const TensorSummary&, const CpdOptions& options) {
  check_loss(options);
  const Loss& loss = method_of(options).loss;
  if (sums_over_zeros(loss)) {
    refuse(name_in_messages(loss) + " has an exact sum over all cells, which " + option_name("method", "gcp") +
           " takes; use that, or choose another " + option_name("loss"));
  }
}

MethodNeeds GcpAdam::needs(const TensorSummary& tensor, const CpdOptions& options) {
  MethodNeeds needs;
  needs.all_outputs = true;
  needs.any_rows = true;
  needs.stops_after_pass = true;
  needs.reads_chunks = true;
  needs.state_matrices = 2;
  needs.slot_bytes = PackedCells::least_slot_bytes(TensorLayout(tensor.shape));
  needs.vectors.assign(vector_count, vector_of_all_modes(tensor, "moments, and copies of before the sweep"));
  const TensorLayout layout(tensor.shape);
  needs.host.take("sampled cells", PackedCells::bytes(layout, samples_of_step(tensor, options)) +
                                       PackedCells::bytes(layout, samples_of_objective(tensor, options)));
  needs.host.take("entries of each row", factor_numbers(tensor, 1) * sizeof(double));
  needs.host.take("blocks of rows", numbers_of_block(options.rank) * sizeof(double));
  return needs;
}

void GcpAdam::start(std::span<const double> weights) {
  check_gcp_signs(context_, weights);
  count_indices();
  fixed_sample_.draw(RandomStream(context_.options.seed, fixed_stream), counts_);
  fixed_sample_.leave_out_listed(TensorChunks::of(context_.tensor));
  std::vector<double> scaled(weights.begin(), weights.end());
  if (weights.empty() && method_.loss.kind == LossKind::huber) {
    scaled = start_by(context_, AlsMethod{.constraints = method_.constraints});
  }
  scale_initial_factors(context_, method_.loss, scaled);
}

// Where all factors are 1, each entry adds R to its rows of the outputs.
void GcpAdam::count_indices() {
  Factors& factors = context_.workers.factors();
  copy_all_to_vector(factors, order(), factors_before);
  const std::vector<double> none(weights_.size(), 0.0);
  for (int mode = 0; mode < order(); ++mode) factors.scale_columns(mode, none, weights_);
  context_.workers.pass(PassRequest(EntryFunction{.rule = EntryRule::model}, all_modes(order())));
  std::vector<double> rows(numbers_of_block(context_.options.rank));
  for (std::size_t n = 0; n < shape().size(); ++n) {
    std::vector<double>& sums = counts_.emplace_back();
    sums.reserve(static_cast<std::size_t>(shape()[n]));
    for_each_row_block(shape()[n], context_.options.rank, [&](std::uint64_t first, std::size_t count) {
      factors.read_output(static_cast<int>(n), first, std::span(rows).first(count));
      for (std::size_t at = 0; at < count; at += weights_.size()) {
        sums.push_back((sums.empty() ? 0 : sums.back()) + rows[at]);
      }
      return true;
    });
  }
  copy_all_from_vector(factors, order(), factors_before);
}

void GcpAdam::run_step(SweepReport& report) {
  if (!objective_) objective_ = estimate();
  keep_copies();
  find_scales();
  report.cut_short = !take_steps();
  const double before = *objective_;
  const double now = estimate();
  if (now <= before) {
    objective_ = now;
  } else {
    return_to_copies();
  }
  const double tolerance = tolerance_of(context_.options);
  const bool was_stopped = context_.stop && context_.stop();
  if (now <= before && before - now >= tolerance * context_.constant.deviance()) {
    failures_ = 0;
  } else if (!was_stopped) {
    ++failures_;
    rate_ *= rate_decay;
  }
  report.objective = *objective_;
  report.explained = context_.constant.explained(*objective_);
  report.converged = failures_ >= max_failures && report.explained > tolerance;
}

// A learning rate is a share of a column's root mean square; where the model is a logarithm, at most what changes it by
// that rate, because its offset is large beside what the components tell apart.
void GcpAdam::find_scales() {
  const auto rank = static_cast<std::size_t>(context_.options.rank);
  for (std::size_t n = 0; n < shape().size(); ++n) {
    const std::span<const double> gram = context_.workers.factors().gram(static_cast<int>(n));
    double squares = 0;
    for (std::size_t r = 0; r < rank; ++r) squares += gram[r * rank + r];
    const double least = least_scale * least_scale * squares / static_cast<double>(rank);
    for (std::size_t r = 0; r < rank; ++r) {
      scales_[n * rank + r] = std::sqrt(std::max(gram[r * rank + r], least) / static_cast<double>(shape()[n]));
    }
  }
  if (scale_of(method_.loss) != ModelScale::logarithm) return;
  const std::vector<double> sizes = scales_;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    double others = 1;
    for (std::size_t j = i % rank; j < sizes.size(); j += rank) others *= j == i ? 1 : sizes[j];
    scales_[i] = std::min(scales_[i], 1 / others);
  }
}

// The entries' losses, and those of the sampled absent cells: a model that expects much of entries alone has the
// objective that it has. The steps take listed cells for zeros too, and put that right at the entries, so that nobody
// has to look which cells are listed: an estimate of the same mean, but from rare draws of large weight.
double GcpAdam::estimate() {
  context_.workers.pass(PassRequest(EntryFunction{.rule = EntryRule::given, .loss = method_.loss}, 0));
  fixed_sample_.add_to_pass(method_.loss, cells_ / static_cast<double>(fixed_sample_.count()), 0);
  return context_.workers.sum_of_terms();
}

bool GcpAdam::take_steps() {
  const std::uint64_t chunk_count = context_.workers.chunk_count();
  const std::uint64_t at_once = chunks_of_step(chunk_count);
  std::vector<std::uint64_t> order(chunk_count);
  for (std::uint64_t steps = 0; steps < min_steps;) {
    std::iota(order.begin(), order.end(), std::uint64_t{0});
    const RandomStream random(context_.options.seed, order_stream + static_cast<std::uint64_t>(draws_));
    for (std::size_t i = chunk_count - 1; i > 0; --i) std::swap(order[i], order[random.bits(i) % (i + 1)]);
    for (std::uint64_t first = 0; first < chunk_count; first += at_once, ++steps) {
      if (context_.stop && context_.stop()) return false;
      take_step(std::span(order).subspan(first, std::min(at_once, chunk_count - first)));
    }
  }
  return true;
}

void GcpAdam::take_step(std::span<const std::uint64_t> chunks) {
  std::uint64_t nonzeros = 0;
  for (const std::uint64_t chunk : chunks) nonzeros += TensorChunks::of(context_.tensor).info().nnz_of_chunk(chunk);
  const ModeSet outputs = all_modes(order());
  const double scale = static_cast<double>(context_.tensor.summary().nnz) / static_cast<double>(nonzeros);
  context_.workers.pass(
      PassRequest(EntryFunction{.rule = EntryRule::beyond_zero, .loss = method_.loss, .scale = scale}, outputs),
      chunks);
  sample_.draw(RandomStream(context_.options.seed, sample_stream + static_cast<std::uint64_t>(draws_)), counts_);
  sample_.add_to_pass(method_.loss, cells_ / static_cast<double>(sample_.count()), outputs);
  ++draws_;
  ++steps_;
  for (int mode = 0; mode < order(); ++mode) update_mode(mode);
}

void GcpAdam::update_mode(int mode) {
  const RowSet set = row_set(context_.options.method, static_cast<std::size_t>(mode));
  if (set == RowSet::held) return;
  std::vector<double> rates(weights_.size(), rate_ * std::min(1.0, steps_ / warm_up));
  for (std::size_t r = 0; r < rates.size(); ++r) rates[r] *= scales_[static_cast<std::size_t>(mode) * rates.size() + r];
  context_.workers.factors().adam_step(mode, {.rates = rates,
                                              .first_decay = first_decay,
                                              .second_decay = second_decay,
                                              .first_share = 1 - std::pow(first_decay, steps_),
                                              .second_share = 1 - std::pow(second_decay, steps_),
                                              .epsilon = epsilon,
                                              .nonnegative = nonnegative_ || set == RowSet::nonnegative});
}

void GcpAdam::keep_copies() {
  context_.workers.factors().copy_vector(first_moments, first_before);
  context_.workers.factors().copy_vector(second_moments, second_before);
  steps_before_ = steps_;
  copy_all_to_vector(context_.workers.factors(), order(), factors_before);
}

void GcpAdam::return_to_copies() {
  context_.workers.factors().copy_vector(first_before, first_moments);
  context_.workers.factors().copy_vector(second_before, second_moments);
  steps_ = steps_before_;
  copy_all_from_vector(context_.workers.factors(), order(), factors_before);
}

MethodState GcpAdam::state() const {
  if (!objective_) return {};
  return {.numbers = {static_cast<double>(context_.workers.next_pass()), steps_, draws_, rate_, failures_, *objective_},
          .matrices = moment_names()};
}

void GcpAdam::store_rows(std::size_t matrix, int mode, std::uint64_t first_row, std::span<double> rows) const {
  context_.workers.factors().store_vector(matrix == 0 ? first_moments : second_moments, mode, first_row, rows);
}

void GcpAdam::restore(ResumedState& state) {
  state.require(6, moment_names());
  context_.workers.set_next_pass(state.next_count(number_of_next_pass));
  steps_ = static_cast<double>(state.next_count("the number of steps"));
  draws_ = static_cast<double>(state.next_count("the number of samples drawn"));
  rate_ = state.next_number("the learning rate", 0);
  failures_ =
      static_cast<double>(state.next_count("the number of sweeps in a row that gained nothing", state.sweeps()));
  objective_ = state.next_number("the objective");
  state.read_rows([&](std::size_t matrix, std::size_t mode, std::uint64_t first_row, std::span<const double> rows) {
    // Their roots are divisors.
    if (matrix == 1 && std::ranges::any_of(rows, [](double moment) { return moment < 0; })) {
      state.fail("state/second moments has negative numbers");
    }
    context_.workers.factors().load_vector(matrix == 0 ? first_moments : second_moments, static_cast<int>(mode),
                                           first_row, rows);
  });
}

}  // namespace

const MethodEntry gcp_adam_method{
    {.name = "gcp-adam", .takes_loss = true}, GcpAdam::check, check_gcp_entries, GcpAdam::needs, make_of<GcpAdam>};

}  // namespace blco
