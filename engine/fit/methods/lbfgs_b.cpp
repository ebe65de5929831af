#include "engine/fit/methods/lbfgs_b.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "engine/fit/methods/line_search.hpp"
#include "kernels/part_ranges.hpp"
#include "kernels/tile_products.hpp"

namespace blco {
namespace {

constexpr std::size_t most_columns = CompactHessian::most_columns;

// Of breakpoints at once: they take little memory beside the numbers.
std::uint64_t rows_of(std::uint64_t count) { return std::clamp<std::uint64_t>(count / 64, 1, 512); }

double product(const CompactHessian::Coefficients& a, const CompactHessian::Coefficients& b) {
  return inner_product(a.data(), b.data(), most_columns);
}

}  // namespace

LbfgsB::LbfgsB(std::uint64_t count, bool has_bounds, Take take, Executor& executor, const MemorySource& memory)
    : has_bounds_(has_bounds), take_(std::move(take)), executor_(executor), rows_(rows_of(count), memory) {}

LbfgsStep LbfgsB::step_of(LbfgsStepKind kind) const {
  return {.kind = kind,
          .places = places_,
          .has_bounds = has_bounds_,
          .has_new_pair = has_new_pair_,
          .pairs = hessian_.pairs(),
          .new_slot = new_slot_,
          .theta = hessian_.theta(),
          .cauchy_reach = cauchy_reach_,
          .last_break = last_break_};
}

void LbfgsB::take(const LbfgsStep& step) {
  const std::vector<double> sums = take_(step);
  total_ = {};
  std::memcpy(static_cast<void*>(&total_), sums.data(), sums.size() * sizeof(double));
}

// Begins at x: adds a pair for the step, if there is one, and finds the products with the first direction of the
// projected gradient path. False if the pair makes the Hessian indefinite.
bool LbfgsB::measure(std::optional<double> length, double curvature) {
  has_new_pair_ = length.has_value();
  new_slot_ = hessian_.next_slot();
  last_break_ = -1;
  LbfgsStep step = step_of(LbfgsStepKind::measure);
  step.pairs = std::max(hessian_.pairs(), has_new_pair_ ? new_slot_ + 1 : 0);
  step.step = length.value_or(0);
  take(step);
  squares_ = total_.added[0];
  breaks_ = total_.added[1];
  open_ = total_.added[2];
  if (!has_new_pair_) return true;
  const bool is_definite = hessian_.add(total_.products, curvature);
  if (!has_bounds_) hessian_.free_all(total_.products);
  return is_definite;
}

// What passing the next breakpoints changes. Returns how many there are; fewer than asked for: there are no more.
std::size_t LbfgsB::load_breakpoints(const LbfgsStep& step) {
  const std::vector<double> answer = take_(step);
  const std::size_t count = answer.size() / numbers_of_breakpoint;
  run_shares(executor_, count, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      Row& row = rows_.data()[i];
      std::memcpy(static_cast<void*>(&row.at), answer.data() + 1 + i * numbers_of_breakpoint, sizeof(row.at));
      row.middle = hessian_.middle(row.at.row);
      row.bend = hessian_.theta() + product(row.at.row, row.middle);
    }
  });
  return count;
}

// The first minimum of the model along the projected gradient (section 4 of the paper). Returns M c.
CompactHessian::Coefficients LbfgsB::find_cauchy_point() {
  constexpr std::uint64_t first_rows = 32;  // most paths end after few breakpoints
  cauchy_reach_ = 0;
  if (hessian_.pairs() == 0) {
    cauchy_reach_ = last_break_ = 1;
    return {};
  }
  if (!has_bounds_) return {};
  const double theta = hessian_.theta();
  Coefficients p{};
  Coefficients c{};
  for (std::size_t k = 0; k < most_columns; ++k) p[k] = total_.products[3 * k + 2];
  double slope = -squares_;
  double bend = theta * squares_ - product(p, hessian_.middle(p));
  const double least_bend = std::numeric_limits<double>::epsilon() * theta * squares_;
  double left = breaks_;
  LbfgsStep search = step_of(LbfgsStepKind::next_breakpoints);
  search.most = std::min(first_rows, rows_.size());
  std::size_t next = 0;
  std::size_t found = 0;
  bool has_more = false;
  const auto load = [&] {
    found = load_breakpoints(search);
    has_more = found == search.most;
    next = 0;
  };
  while (left > 0) {
    const double end = cauchy_reach_ - slope / bend;
    if (next == found && has_more) {
      search.begins_search = false;
      search.last = {rows_.data()[found - 1].at.reach, rows_.data()[found - 1].at.number};
      search.most = std::min(4 * search.most, rows_.size());
      load();
    }
    if (next == found) {
      if (!(end > search.up_to)) break;
      search.begins_search = true;
      search.above = std::exchange(search.up_to, end);
      load();
      if (found == 0) break;
    }
    const Row& row = rows_.data()[next];
    if (end < row.at.reach) break;
    ++next;
    --left;
    const double way = row.at.reach - cauchy_reach_;
    cauchy_reach_ = last_break_ = row.at.reach;
    const double fall = row.at.fall;
    for (std::size_t k = 0; k < most_columns; ++k) c[k] += way * p[k];
    // x is reach * fall.
    slope += way * bend + fall * (fall * (1 - theta * row.at.reach) - product(c, row.middle));
    bend -= fall * (fall * row.bend + 2 * product(p, row.middle));
    for (std::size_t k = 0; k < most_columns; ++k) p[k] += fall * row.at.row[k];
    bend = std::max(bend, least_bend);
  }
  const double rest = left == 0 && open_ == 0 ? 0 : std::max(0.0, -slope / bend);
  cauchy_reach_ += rest;
  for (std::size_t k = 0; k < most_columns; ++k) c[k] += rest * p[k];
  return hessian_.middle(c);
}

// Goes to the minimum of the model among the free numbers, or the given share of that way from the Cauchy point, and
// within bounds.
void LbfgsB::aim(double share, const Coefficients& factors) {
  LbfgsStep step = step_of(LbfgsStepKind::aim);
  step.share = share;
  step.factors = factors;
  take(step);
}

// Nothing if rounding has spoilt the Hessian.
std::optional<LbfgsB::Aim> LbfgsB::find_aim() {
  Coefficients factors = find_cauchy_point();
  if (hessian_.pairs() > 0) {
    if (has_bounds_) {
      LbfgsStep step = step_of(LbfgsStepKind::find_free);
      step.factors = factors;
      take(step);
      hessian_.restrict_to_free(total_.products, total_.changes, has_new_pair_);
    }
    if (!hessian_.factor_reduced()) return std::nullopt;
    Coefficients residual{};
    for (std::size_t k = 0; k < most_columns; ++k) residual[k] = total_.products[3 * k + 2];
    residual = hessian_.reduced(residual);
    const double theta = hessian_.theta();
    for (std::size_t k = 0; k < most_columns; ++k) factors[k] = (factors[k] + residual[k] / theta) / theta;
  }
  aim(1, factors);
  if (total_.added[2] > 0 && total_.added[0] > 0) aim(std::min(total_.least[0], 1.0), factors);
  return Aim{total_.added[0], total_.added[1], total_.least[1]};
}

double LbfgsB::find_slope() {
  take(step_of(LbfgsStepKind::find_slope));
  return total_.added[0];
}

void LbfgsB::move(double length) {
  LbfgsStep step = step_of(LbfgsStepKind::move);
  step.step = length;
  take_(step);
}

LbfgsB::Result LbfgsB::minimize(const Function& function, int max_evaluations, const StopPoll& stop) {
  constexpr int most_trials = 20;
  constexpr double longest = 1e10;
  Result result;
  double value = 0;
  std::optional<std::uint8_t> best;  // its place
  const auto goes_on_after_evaluation = [&] {
    if (result.evaluations == max_evaluations) return false;
    value = function();
    if (result.evaluations++ == 0) result.first_value = result.value = value;
    result.is_best_last = result.evaluations == 1 || value < result.value;
    if (result.is_best_last) {
      result.value = value;
      best = places_.x;
    }
    return std::isfinite(value) && !(stop && stop());
  };
  const auto keep_best = [&](std::uint8_t& overwritten) {
    if (overwritten == best) std::swap(overwritten, places_.best);
  };
  // The line search begins, or has led nowhere.
  const auto exchange_ends = [&] {
    std::swap(places_.x, places_.start);
    places_.gradient = 1 - places_.gradient;
  };
  // False once nothing better can be found.
  const auto goes_on_after_search = [&](bool is_first) {
    keep_best(places_.start);
    const std::optional<Aim> aim = find_aim();
    const auto starts_anew = [&] {
      const bool has_pairs = hessian_.pairs() > 0;
      hessian_.forget();
      has_new_pair_ = false;
      return has_pairs;
    };
    if (!aim || !(aim->slope < 0)) return starts_anew();
    const double limit = !has_bounds_ ? longest : is_first ? 1 : std::min(longest, aim->longest);
    LineSearch search(value, aim->slope, is_first ? std::min(1 / std::sqrt(aim->squares), limit) : 1, limit);
    const double first_value = value;
    exchange_ends();
    for (int trial = 0; trial < most_trials; ++trial) {
      if (trial > 0) keep_best(places_.x);
      if (trial > 0 || search.step() != 1) move(search.step());
      if (!goes_on_after_evaluation()) return false;
      const double slope = find_slope();
      if (!search.ends(value, slope)) continue;
      if (!(value < first_value)) return false;
      const double curvature = (slope - aim->slope) * search.step();
      const bool is_curved = curvature > std::numeric_limits<double>::epsilon() * -aim->slope * search.step();
      if (!measure(is_curved ? std::optional(search.step()) : std::nullopt, curvature)) starts_anew();
      return true;
    }
    exchange_ends();
    value = first_value;
    return starts_anew();
  };

  hessian_.forget();
  take_(step_of(LbfgsStepKind::raise_to_bounds));
  if (goes_on_after_evaluation()) {
    measure(std::nullopt, 0);
    for (bool is_first = true; goes_on_after_search(is_first); is_first = false) {
    }
  }
  if (best == places_.start) std::swap(places_.x, places_.start);
  if (best == places_.best) std::swap(places_.x, places_.best);
  return result;
}

}  // namespace blco
