// With S the sum of the entries, Q that of their squares and C the number of cells, the best constant has a closed form
// for all losses but huber, and so has its objective: f(x, m) is f(0, m) + (x / u) (f(u, m) - f(0, m)) for any u, for
// rayleigh with (x / u)^2.
#include "engine/fit/methods/constant_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "engine/fit/methods/value_check.hpp"
#include "kernels/losses.hpp"

namespace blco {
namespace {

double count_absent(const TensorSummary& tensor) { return count_cells(tensor) - static_cast<double>(tensor.nnz); }

bool has_poisson_deviance(const Loss& loss) {
  return loss.kind == LossKind::poisson || loss.kind == LossKind::poisson_log;
}

struct Sums {
  double entries = 0;
  double least = 0;  // of the losses of the entries, each with what suits it best
};

Sums sum_entries(const Tensor& tensor, const Loss& loss, double factor, const std::string& demand,
                 ProgressMeter& meter) {
  Sums sums;
  with_loss(loss, [&](const auto& f) {
    const EntryRange range = entries_of(loss);
    const auto least_of = [&](double x) {
      if (range == EntryRange::all || range == EntryRange::bits) return 0.0;
      if (has_poisson_deviance(loss)) return x > 0 ? x - x * std::log(x) : 0.0;
      const double best = loss.kind == LossKind::rayleigh ? std::sqrt(losses::Rayleigh::half_pi / 2) * x : x;
      return f.value(x, std::max(best - loss_epsilon, 0.0));
    };
    check_values(
        tensor,
        [&](double value, std::uint64_t times) {
          if (!takes_entry(loss, value)) return false;
          const double x = value * factor;
          sums.entries += x * static_cast<double>(times);
          sums.least += least_of(x) * static_cast<double>(times);
          return true;
        },
        demand, meter);
    sums.least += count_absent(tensor.summary()) * least_of(0);
  });
  return sums;
}

// By Newton's method; where a step would leave the interval in which the slope changes its sign, it halves that. The
// first step is from 0 where most cells are, because curvature is that of the cells nearby.
ConstantModel find_huber(const Tensor& tensor, const losses::Huber& f, double factor, double mean,
                         ProgressMeter& meter) {
  constexpr int max_steps = 100;
  constexpr double small_step = 1e-6;
  const double cells = count_cells(tensor.summary());
  const double absent = count_absent(tensor.summary());
  ConstantModel model{.value = 2 * absent > cells ? 0 : mean};
  double low = 0;
  double high = 0;
  for (int steps = 0;; ++steps) {
    double slope = 0;
    double curvature = 0;
    model.objective = 0;
    const auto add = [&](double x, double times) {
      slope += times * f.derivative(x, model.value);
      if (std::abs(x - model.value) <= f.threshold) curvature += 2 * times;
      model.objective += times * f.value(x, model.value);
      if (steps == 0) low = std::min(low, x);
      if (steps == 0) high = std::max(high, x);
      return true;
    };
    check_values(
        tensor, [&](double x, std::uint64_t times) { return add(x * factor, static_cast<double>(times)); }, "", meter);
    add(0, absent);
    (slope > 0 ? high : low) = model.value;
    double next = curvature > 0 ? model.value - slope / curvature : high;
    if (!(next > low && next < high)) next = slope == 0 ? model.value : low + (high - low) / 2;
    if (steps == max_steps || std::abs(next - model.value) <= small_step * std::abs(next)) return model;
    model.value = next;
  }
}

}  // namespace

double count_cells(const TensorSummary& tensor) {
  double cells = 1;
  for (const std::uint64_t length : tensor.shape) cells *= static_cast<double>(length);
  return cells;
}

double ConstantModel::explained(double of_model) const {
  constexpr double rounding = 1e-12;
  // Where all cells are equal, nothing is left to explain.
  if (deviance() <= rounding * (std::abs(objective) + std::abs(least))) return 1;
  return std::min((objective - of_model) / deviance(), 1.0);
}

ConstantModel find_constant_model(const Tensor& tensor, const Loss& loss, int value_exponent, const std::string& demand,
                                  ProgressMeter& meter) {
  const double cells = count_cells(tensor.summary());
  const double factor = std::ldexp(1.0, -value_exponent);
  const double squares = tensor.summary().sum_of_squares * factor * factor;
  const Sums sums = sum_entries(tensor, loss, factor, demand, meter);
  // A logarithm is finite: of bits half a cell is the least, and all but half a cell the most.
  const bool has_floor = entries_of(loss) == EntryRange::bits || !(sums.entries > 0);
  const double mean = (has_floor ? std::max(sums.entries, 0.5) : sums.entries) / cells;
  const double odds = mean / std::max(1 - mean, 0.5 / cells);
  if (loss.kind == LossKind::huber) {
    return find_huber(tensor, losses::Huber{{}, loss.parameter}, factor, sums.entries / cells, meter);
  }
  ConstantModel model{.value = sums.entries / cells, .least = sums.least};
  if (loss.kind == LossKind::gaussian) {
    model.objective = squares - model.value * sums.entries;
    return model;
  }
  if (loss.kind == LossKind::poisson_log) model.value = std::log(mean);
  if (loss.kind == LossKind::bernoulli_odds) model.value = odds;
  if (loss.kind == LossKind::bernoulli_logit) model.value = std::log(odds);
  if (loss.kind == LossKind::rayleigh) model.value = std::sqrt(losses::Rayleigh::half_pi / 2 * squares / cells);
  with_loss(loss, [&](const auto& f) {
    // An entry as large as the model says what one adds: beside much larger ones the terms of 1 would be rounded off.
    const double unit = scale_of(loss) == ModelScale::size && model.value > 0 ? model.value : 1;
    const double units = loss.kind == LossKind::rayleigh ? squares / (unit * unit) : sums.entries / unit;
    const double zero = f.value(0.0, model.value);
    const double beyond = has_poisson_deviance(loss) ? -unit * std::log(mean) : f.beyond_zero(unit, model.value);
    model.objective = cells * zero + units * beyond;
  });
  return model;
}

}  // namespace blco
