// Kingma & Ba, Adam: A Method for Stochastic Optimization, 2015, algorithm 1; for tensors: Kolda & Hong, Stochastic
// Gradients for Large-Scale Tensor Decomposition, SIAM J. Math. Data Sci. 2020, algorithm 5.1.
#include "engine/fit/methods/gcp_adam.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "engine/fit/methods/factor_steps.hpp"
#include "engine/fit/methods/gcp.hpp"
#include "engine/fit/methods/initial_scale.hpp"
#include "engine/fit/methods/row_blocks.hpp"

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

AdamOptimizer optimizer_of(const CpdOptions& options) {
  const auto* const adam = std::get_if<AdamOptimizer>(&std::get<GcpMethod>(options.method).optimizer);
  return adam != nullptr ? *adam : AdamOptimizer();
}

std::vector<std::string> moment_names() { return {"first moments", "second moments"}; }

std::uint64_t chunks_of_step(std::uint64_t chunk_count) {
  return std::clamp<std::uint64_t>(chunk_count / steps_of_round, 1, max_chunks_of_step);
}

std::uint64_t samples_of_step(const TensorSummary& tensor, const CpdOptions& options) {
  const std::uint64_t chosen = optimizer_of(options).sampled_zeros;
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

}  // namespace

GcpAdam::GcpAdam(const FitContext& context)
    : context_(context),
      method_(std::get<GcpMethod>(context.options.method)),
      nonnegative_(needs_nonnegative_model(method_.loss)),
      weights_(static_cast<std::size_t>(context.options.rank), 1.0),
      sample_(context.tensor.chunks(), context.workers, samples_of_step(context.tensor.summary(), context.options)),
      fixed_sample_(context.tensor.chunks(), context.workers,
                    samples_of_objective(context.tensor.summary(), context.options)),
      cells_(count_cells(context.tensor.summary())),
      first_moments_(factor_numbers(context.tensor.summary(), context.options.rank)),
      second_moments_(first_moments_.size()),
      factors_before_(first_moments_.size()),
      first_before_(first_moments_.size()),
      second_before_(first_moments_.size()),
      scales_(context.tensor.summary().shape.size() * weights_.size()),
      gradient_(numbers_of_block(context.options.rank)),
      rows_(gradient_.size()),
      rate_(optimizer_of(context.options).learning_rate) {}

void GcpAdam::check(const TensorSummary&, const CpdOptions& options) {
  const double rate = optimizer_of(options).learning_rate;
  if (!(rate > 0) || !std::isfinite(rate)) refuse(option_name("learning_rate") + " must be greater than 0");
}

MethodNeeds GcpAdam::needs(const TensorSummary& tensor, const CpdOptions& options) {
  MethodNeeds needs;
  needs.all_outputs = true;
  needs.stops_after_pass = true;
  needs.reads_chunks = true;
  needs.state_matrices = 2;
  needs.slot_bytes = SampledZeros::least_slot_bytes(TensorLayout(tensor.shape));
  constexpr std::uint64_t vectors = 5;  // moments, and copies of these and the factors
  constexpr std::uint64_t blocks = 2;
  const TensorLayout layout(tensor.shape);
  needs.host_bytes = SampledZeros::bytes(layout, samples_of_step(tensor, options)) +
                     SampledZeros::bytes(layout, samples_of_objective(tensor, options)) +
                     (vectors * factor_numbers(tensor, options.rank) + factor_numbers(tensor, 1) +
                      blocks * numbers_of_block(options.rank)) *
                         sizeof(double);
  return needs;
}

void GcpAdam::start(std::span<const double> weights) {
  Gcp::check_signs(context_, weights);
  count_indices();
  fixed_sample_.draw(RandomStream(context_.options.seed, fixed_stream), counts_);
  fixed_sample_.leave_out_listed(context_.tensor.chunks());
  std::vector<double> scaled(weights.begin(), weights.end());
  if (weights.empty() && method_.loss.kind == LossKind::huber) {
    scaled = Gcp::start_by(context_, AlsMethod{.constraints = method_.constraints});
  }
  scale_initial_factors(context_, method_.loss, scaled);
}

// Where all factors are 1, each entry adds R to its rows of the outputs.
void GcpAdam::count_indices() {
  store_all_factors(context_.workers.factors(), shape(), factors_before_);
  std::ranges::fill(first_before_, 1.0);
  load_all_factors(context_.workers.factors(), shape(), first_before_);
  context_.workers.pass(
      PassRequest(EntryFunction{.rule = EntryRule::model}, all_modes(static_cast<int>(shape().size()))));
  for (std::size_t n = 0; n < shape().size(); ++n) {
    std::vector<double>& sums = counts_.emplace_back();
    sums.reserve(static_cast<std::size_t>(shape()[n]));
    for_each_row_block(shape()[n], context_.options.rank, [&](std::uint64_t first, std::size_t count) {
      context_.workers.factors().read_output(static_cast<int>(n), first, std::span(rows_).first(count));
      for (std::size_t at = 0; at < count; at += weights_.size()) {
        sums.push_back((sums.empty() ? 0 : sums.back()) + rows_[at]);
      }
      return true;
    });
  }
  load_all_factors(context_.workers.factors(), shape(), factors_before_);
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
  const Numbers sizes = scales_;
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
  return context_.workers.factors().sum_of_terms();
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
  for (const std::uint64_t chunk : chunks) nonzeros += context_.tensor.chunks().info().nnz_of_chunk(chunk);
  const ModeSet outputs = all_modes(static_cast<int>(shape().size()));
  const double scale = static_cast<double>(context_.tensor.summary().nnz) / static_cast<double>(nonzeros);
  context_.workers.pass(
      PassRequest(EntryFunction{.rule = EntryRule::beyond_zero, .loss = method_.loss, .scale = scale}, outputs),
      chunks);
  sample_.draw(RandomStream(context_.options.seed, sample_stream + static_cast<std::uint64_t>(draws_)), counts_);
  sample_.add_to_pass(method_.loss, cells_ / static_cast<double>(sample_.count()), outputs);
  ++draws_;
  ++steps_;
  for (std::size_t n = 0; n < shape().size(); ++n) {
    if (row_set(context_.options.method, n) != RowSet::held) update_mode(static_cast<int>(n));
  }
}

std::size_t GcpAdam::offset_of(int mode, std::uint64_t row) const {
  const auto first = shape().begin();
  return std::accumulate(first, first + mode, row) * static_cast<std::uint64_t>(context_.options.rank);
}

void GcpAdam::update_mode(int mode) {
  const int rank = context_.options.rank;
  Numbers rates(static_cast<std::size_t>(rank), rate_ * std::min(1.0, steps_ / warm_up));
  for (std::size_t r = 0; r < rates.size(); ++r) rates[r] *= scales_[static_cast<std::size_t>(mode) * rates.size() + r];
  const bool is_bounded =
      nonnegative_ || row_set(context_.options.method, static_cast<std::size_t>(mode)) == RowSet::nonnegative;
  constexpr std::size_t rows_of_task = 256;
  const std::size_t step = rows_of_task * static_cast<std::size_t>(rank);
  for_each_row_block(shape()[static_cast<std::size_t>(mode)], rank, [&](std::uint64_t first, std::size_t count) {
    const std::span<double> gradient = std::span(gradient_).first(count);
    const std::span<double> rows = std::span(rows_).first(count);
    context_.workers.factors().read_output(mode, first, gradient);
    context_.workers.factors().store_factor(mode, first, rows);
    const std::size_t offset = offset_of(mode, first);
    context_.workers.executor().run((count + step - 1) / step, [&](std::size_t task) {
      const std::size_t begin = task * step;
      const std::size_t numbers = std::min(step, count - begin);
      update_rows(gradient.subspan(begin, numbers), rows.subspan(begin, numbers), rates, offset + begin);
      if (!is_bounded) return;
      for (double& number : rows.subspan(begin, numbers)) number = std::max(number, 0.0);
    });
    context_.workers.factors().load_factor(mode, first, rows);
    return true;
  });
}

void GcpAdam::update_rows(std::span<const double> gradient, std::span<double> factor, std::span<const double> rates,
                          std::size_t offset) {
  const auto rank = static_cast<std::size_t>(context_.options.rank);
  const double first_share = 1 - std::pow(first_decay, steps_);
  const double second_share = 1 - std::pow(second_decay, steps_);
  for (std::size_t row = 0; row < gradient.size(); row += rank) {
    const std::span<const double> slopes = gradient.subspan(row, rank);
    if (std::ranges::all_of(slopes, [](double slope) { return slope == 0; })) continue;
    for (std::size_t r = 0; r < rank; ++r) {
      double& first = first_moments_[offset + row + r];
      double& second = second_moments_[offset + row + r];
      first = first_decay * first + (1 - first_decay) * slopes[r];
      second = second_decay * second + (1 - second_decay) * slopes[r] * slopes[r];
      double& number = factor[row + r];
      number -= rates[r] * (first / first_share) / (std::sqrt(second / second_share) + epsilon);
    }
  }
}

void GcpAdam::keep_copies() {
  first_before_ = first_moments_;
  second_before_ = second_moments_;
  steps_before_ = steps_;
  store_all_factors(context_.workers.factors(), shape(), factors_before_);
}

void GcpAdam::return_to_copies() {
  first_moments_.swap(first_before_);
  second_moments_.swap(second_before_);
  steps_ = steps_before_;
  load_all_factors(context_.workers.factors(), shape(), factors_before_);
}

MethodState GcpAdam::state() const {
  if (!objective_) return {};
  return {.numbers = {static_cast<double>(context_.workers.next_pass()), steps_, draws_, rate_, failures_, *objective_},
          .matrices = moment_names()};
}

void GcpAdam::store_rows(std::size_t matrix, int mode, std::uint64_t first_row, std::span<double> rows) const {
  const std::vector<double>& moments = matrix == 0 ? first_moments_ : second_moments_;
  std::copy_n(&moments[offset_of(mode, first_row)], rows.size(), rows.begin());
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
  state.read_rows([this](std::size_t matrix, std::size_t mode, std::uint64_t first_row, std::span<const double> rows) {
    Numbers& moments = matrix == 0 ? first_moments_ : second_moments_;
    std::ranges::copy(rows, &moments[offset_of(static_cast<int>(mode), first_row)]);
  });
  // Their roots are divisors.
  if (std::ranges::any_of(second_moments_, [](double moment) { return moment < 0; })) {
    state.fail("state/second moments has negative numbers");
  }
}

}  // namespace blco
