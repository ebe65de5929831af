#include "engine/fit/methods/lbfgs_b.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/fit/methods/line_search.hpp"
#include "kernels/part_ranges.hpp"
#include "kernels/tile_products.hpp"

namespace blco {
namespace {

constexpr std::uint64_t most_ranges = 256;
constexpr std::uint64_t least_tiles_of_range = 16;
constexpr std::size_t most_columns = CompactHessian::most_columns;
constexpr double infinity = std::numeric_limits<double>::infinity();

using TileVector = double[product_tile];

std::uint64_t tiles_of(std::uint64_t count) { return (count + product_tile - 1) / product_tile; }

// Of breakpoints at once: they take little memory beside the numbers.
std::uint64_t rows_of(std::uint64_t count) { return std::clamp<std::uint64_t>(count / 64, 1, 512); }

// Eight sums, which a processor adds up side by side.
double inner_product(const double* a, const double* b, std::size_t size) {
  constexpr std::size_t lanes = 8;
  std::array<double, lanes> sums{};
  std::size_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  for (; i < size; ++i) sums[0] += a[i] * b[i];
  double sum = 0;
  for (const double lane : sums) sum += lane;
  return sum;
}

double product(const CompactHessian::Coefficients& a, const CompactHessian::Coefficients& b) {
  return inner_product(a.data(), b.data(), most_columns);
}

}  // namespace

struct LbfgsB::Tile {
  std::size_t first;
  std::size_t size;
  double* columns;
};

std::uint64_t LbfgsB::ranges_of(std::uint64_t count) {
  return std::clamp<std::uint64_t>(tiles_of(count) / least_tiles_of_range, 1, most_ranges);
}

LbfgsB::LbfgsB(std::uint64_t count, Executor& executor, const MemorySource& memory)
    : executor_(executor),
      x_(count, memory),
      start_(count, memory),
      best_(count, memory),
      gradient_(count, memory),
      old_gradient_(count, memory),
      direction_(count, memory),
      pairs_(tiles_of(count) * product_tile * most_columns, memory),
      breakpoints_(count, memory),
      rows_(rows_of(count), memory),
      bounded_(count, memory),
      held_(count, memory),
      sums_(ranges_of(count), memory),
      total_{} {}

void LbfgsB::bound(std::size_t first, std::size_t count) {
  std::fill_n(bounded_.data() + first, count, true);
  has_bounds_ = true;
}

// Calls visit(tile, sums of its range) for all, and adds the sums up.
template <class Visit>
void LbfgsB::for_each_tile(const Visit& visit) {
  const std::size_t count = x_.size();
  run_parts(executor_, sums_.size(), tiles_of(count), [&](std::size_t range, std::uint64_t begin, std::uint64_t end) {
    Sums& sums = sums_.data()[range];
    sums = {};
    sums.least.fill(infinity);
    for (std::size_t tile = begin; tile < end; ++tile) {
      const std::size_t first = tile * product_tile;
      visit(Tile{first, std::min(product_tile, count - first), pairs_.data() + first * most_columns}, sums);
    }
  });
  total_ = sums_.data()[0];
  const auto add = [](auto& to, const auto& from) { std::ranges::transform(to, from, to.begin(), std::plus()); };
  for (const Sums& sums : sums_.span().subspan(1)) {
    add(total_.products, sums.products);
    add(total_.changes, sums.changes);
    add(total_.added, sums.added);
    std::ranges::transform(total_.least, sums.least, total_.least.begin(),
                           [](double a, double b) { return std::min(a, b); });
  }
}

// Which numbers of a tile are at their bounds, and kept there by the gradient, or taken there on the way to the Cauchy
// point.
void LbfgsB::find_held(const Tile& tile, bool* held) const {
  std::fill_n(held, product_tile, false);
  if (!has_bounds_) return;
  const double* const x = x_.data() + tile.first;
  const double* const gradient = gradient_.data() + tile.first;
  const bool* const bounded = bounded_.data() + tile.first;
  const double last_break = last_break_;
  for (std::size_t k = 0; k < tile.size; ++k) {
    const bool is_kept = x[k] <= 0 && gradient[k] >= 0;
    const bool is_taken = x[k] > 0 && gradient[k] > 0 && x[k] / gradient[k] <= last_break;
    held[k] = bounded[k] && (is_kept || is_taken);
  }
}

// Begins at x: adds a pair for the step, if there is one, and finds the products with the first direction of the
// projected gradient path. False if the pair makes the Hessian indefinite.
bool LbfgsB::measure(std::optional<double> step, double curvature) {
  has_new_pair_ = step.has_value();
  new_slot_ = hessian_.next_slot();
  last_break_ = -1;
  const std::size_t pairs = std::max(hessian_.pairs(), has_new_pair_ ? new_slot_ + 1 : 0);
  for_each_tile([&](const Tile& tile, Sums& sums) {
    alignas(cache_line_bytes) TileVector vectors[product_vectors]{};
    bool held[product_tile];
    find_held(tile, held);
    const double* const gradient = gradient_.data() + tile.first;
    for (std::size_t k = 0; k < tile.size; ++k) vectors[2][k] = held[k] ? 0 : -gradient[k];
    const bool* const bounded = bounded_.data() + tile.first;
    std::size_t breaks = 0;
    std::size_t open = 0;
    for (std::size_t k = 0; k < tile.size && has_bounds_; ++k) {
      breaks += bounded[k] && vectors[2][k] < 0 ? 1 : 0;
      open += !bounded[k] || vectors[2][k] > 0 ? 1 : 0;
    }
    if (has_new_pair_) {
      const double* const direction = direction_.data() + tile.first;
      const double* const old_gradient = old_gradient_.data() + tile.first;
      double* const s = tile.columns + 2 * new_slot_ * product_tile;
      double* const y = s + product_tile;
      for (std::size_t k = 0; k < tile.size; ++k) {
        s[k] = vectors[0][k] = *step * direction[k];
        y[k] = vectors[1][k] = gradient[k] - old_gradient[k];
      }
    }
    sums.added[0] += inner_product(vectors[2], vectors[2], product_tile);
    sums.added[1] += static_cast<double>(breaks);
    sums.added[2] += static_cast<double>(open);
    add_products(tile.columns, 2 * pairs, vectors[0], sums.products.data());
  });
  squares_ = total_.added[0];
  breaks_ = total_.added[1];
  open_ = total_.added[2];
  if (!has_new_pair_) return true;
  const bool is_definite = hessian_.add(total_.products, curvature);
  if (!has_bounds_) hessian_.free_all(total_.products);
  return is_definite;
}

// Those up to `most`, in order.
void LbfgsB::find_breakpoints(double above, double most) {
  std::array<std::size_t, most_ranges> counts{};
  const std::uint64_t tiles = tiles_of(x_.size());
  run_parts(executor_, sums_.size(), tiles, [&](std::size_t range, std::uint64_t begin, std::uint64_t end) {
    Breakpoint* const found = breakpoints_.data() + begin * product_tile;
    std::size_t count = 0;
    for (std::size_t i = begin * product_tile; i < std::min<std::size_t>(end * product_tile, x_.size()); ++i) {
      const double slope = gradient_.data()[i];
      if (!bounded_.data()[i] || !(slope > 0)) continue;
      const double reach = x_.data()[i] / slope;
      if (reach > above && reach <= most) found[count++] = {reach, i};
    }
    counts[range] = count;
  });
  found_ = 0;
  for (std::size_t range = 0; range < sums_.size(); ++range) {
    const Breakpoint* const from = breakpoints_.data() + tiles * range / sums_.size() * product_tile;
    std::copy_n(from, counts[range], breakpoints_.data() + found_);
    found_ += counts[range];
  }
  std::ranges::sort(breakpoints_.span().first(found_), {},
                    [](const Breakpoint& point) { return std::pair(point.reach, point.number); });
}

// What passing the next breakpoints changes.
void LbfgsB::load_rows(std::size_t first) {
  constexpr std::size_t ahead = 8;  // of rows that are fetched before they are needed
  const auto columns_of = [&](std::size_t point) {
    const std::size_t number = breakpoints_.data()[point].number;
    const std::size_t in_tile = number % product_tile;
    return pairs_.data() + (number - in_tile) * most_columns + in_tile;
  };
  run_shares(executor_, std::min<std::size_t>(rows_.size(), found_ - first),
             [&](std::uint64_t begin, std::uint64_t end) {
               for (std::uint64_t i = begin; i < end; ++i) {
                 const std::size_t number = breakpoints_.data()[first + i].number;
                 const double* const columns = columns_of(first + i);
                 const double* const later = columns_of(first + std::min(i + ahead, end - 1));
                 for (std::size_t k = 0; k < 2 * hessian_.pairs(); ++k) __builtin_prefetch(later + k * product_tile);
                 Row& row = rows_.data()[i];
                 row = {};
                 for (std::size_t k = 0; k < 2 * hessian_.pairs(); ++k) row.numbers[k] = columns[k * product_tile];
                 row.middle = hessian_.middle(row.numbers);
                 row.bend = hessian_.theta() + product(row.numbers, row.middle);
                 row.fall = gradient_.data()[number];
               }
             });
}

// The first minimum of the model along the projected gradient (section 4 of the paper). Returns M c.
CompactHessian::Coefficients LbfgsB::find_cauchy_point() {
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
  double searched = 0;
  std::size_t next = found_ = 0;
  while (left > 0) {
    const double end = cauchy_reach_ - slope / bend;
    if (next == found_) {
      if (!(end > searched)) break;
      find_breakpoints(searched, end);
      searched = end;
      next = 0;
      if (found_ == 0) break;
    }
    const Breakpoint& point = breakpoints_.data()[next];
    if (end < point.reach) break;
    if (next % rows_.size() == 0) load_rows(next);
    const Row& row = rows_.data()[next++ % rows_.size()];
    --left;
    const double way = point.reach - cauchy_reach_;
    cauchy_reach_ = last_break_ = point.reach;
    const double fall = row.fall;
    for (std::size_t k = 0; k < most_columns; ++k) c[k] += way * p[k];
    // x is reach * fall.
    slope += way * bend + fall * (fall * (1 - theta * point.reach) - product(c, row.middle));
    bend -= fall * (fall * row.bend + 2 * product(p, row.middle));
    for (std::size_t k = 0; k < most_columns; ++k) p[k] += fall * row.numbers[k];
    bend = std::max(bend, least_bend);
  }
  const double rest = left == 0 && open_ == 0 ? 0 : std::max(0.0, -slope / bend);
  cauchy_reach_ += rest;
  for (std::size_t k = 0; k < most_columns; ++k) c[k] += rest * p[k];
  return hessian_.middle(c);
}

// Finds which numbers are free at the Cauchy point, and what the reduced system needs: of the negative gradient there
// the products with W are left in total_.
void LbfgsB::find_free(const Coefficients& middle) {
  const double before = 1 - hessian_.theta() * cauchy_reach_;  // of the gradient, without W's part
  const std::size_t columns = 2 * hessian_.pairs();
  for_each_tile([&](const Tile& tile, Sums& sums) {
    alignas(cache_line_bytes) TileVector vectors[product_vectors]{};
    bool held[product_tile];
    find_held(tile, held);
    TileVector& residual = vectors[2];
    add_columns(tile.columns, columns, middle.data(), residual);
    const double* const gradient = gradient_.data() + tile.first;
    const double* const s = tile.columns + 2 * new_slot_ * product_tile;
    const double* const y = s + product_tile;
    for (std::size_t k = 0; k < tile.size; ++k) residual[k] = held[k] ? 0 : residual[k] - before * gradient[k];
    for (std::size_t k = 0; k < tile.size && has_new_pair_; ++k) {
      vectors[0][k] = held[k] ? s[k] : 0;
      vectors[1][k] = held[k] ? 0 : y[k];
    }
    bool* const was_held = held_.data() + tile.first;
    for (std::size_t k = 0; k < tile.size; ++k) {
      if (held[k] == was_held[k]) continue;
      was_held[k] = held[k];
      std::array<double, most_columns> row{};
      for (std::size_t a = 0; a < columns; ++a) row[a] = tile.columns[a * product_tile + k];
      for (std::size_t a = 0; a < columns; ++a) {
        const double factor = held[k] ? -row[a] : row[a];
        for (std::size_t b = 0; b < most_columns; ++b) sums.changes[a * most_columns + b] += factor * row[b];
      }
    }
    for (std::size_t k = tile.size; k < product_tile; ++k) residual[k] = 0;
    add_products(tile.columns, columns, vectors[0], sums.products.data());
  });
}

// Goes to the minimum of the model among the free numbers, or the given share of that way from the Cauchy point, and
// within bounds. Leaves x there in start_. Returns the share that ends at the first bound.
double LbfgsB::take_step(double share, const Coefficients& factors) {
  const double rest = 1 / hessian_.theta() - cauchy_reach_;
  for_each_tile([&](const Tile& tile, Sums& sums) {
    alignas(cache_line_bytes) TileVector way{};
    bool held[product_tile];
    find_held(tile, held);
    add_columns(tile.columns, 2 * hessian_.pairs(), factors.data(), way);
    const double* const x = x_.data() + tile.first;
    const double* const gradient = gradient_.data() + tile.first;
    const bool* const bounded = bounded_.data() + tile.first;
    double* const end = start_.data() + tile.first;
    double* const direction = direction_.data() + tile.first;
    for (std::size_t k = 0; k < tile.size; ++k) {
      way[k] = held[k] ? 0 : way[k] - rest * gradient[k];
      end[k] = held[k] ? 0 : x[k] - cauchy_reach_ * gradient[k] + share * way[k];
    }
    for (std::size_t k = 0; k < tile.size && has_bounds_; ++k) {
      if (!bounded[k] || held[k]) continue;
      const double cauchy = std::max(0.0, x[k] - cauchy_reach_ * gradient[k]);
      end[k] = std::max(0.0, end[k]);
      sums.added[2] += end[k] == 0 ? 1 : 0;
      if (way[k] < 0) sums.least[0] = std::min(sums.least[0], cauchy / -way[k]);
    }
    for (std::size_t k = 0; k < tile.size; ++k) direction[k] = end[k] - x[k];
    for (std::size_t k = 0; k < tile.size && has_bounds_; ++k) {
      if (bounded[k] && direction[k] < 0) sums.least[1] = std::min(sums.least[1], x[k] / -direction[k]);
    }
    sums.added[0] += inner_product(gradient, direction, tile.size);
    sums.added[1] += inner_product(direction, direction, tile.size);
  });
  return total_.least[0];
}

// Nothing if rounding has spoilt the Hessian.
std::optional<LbfgsB::Aim> LbfgsB::find_aim() {
  Coefficients factors = find_cauchy_point();
  if (hessian_.pairs() > 0) {
    if (has_bounds_) {
      find_free(factors);
      hessian_.restrict_to_free(total_.products, total_.changes, has_new_pair_);
    }
    if (!hessian_.factor_reduced()) return std::nullopt;
    Coefficients residual{};
    for (std::size_t k = 0; k < most_columns; ++k) residual[k] = total_.products[3 * k + 2];
    residual = hessian_.reduced(residual);
    const double theta = hessian_.theta();
    for (std::size_t k = 0; k < most_columns; ++k) factors[k] = (factors[k] + residual[k] / theta) / theta;
  }
  const double to_bound = take_step(1, factors);
  if (total_.added[2] > 0 && total_.added[0] > 0) take_step(std::min(to_bound, 1.0), factors);
  return Aim{total_.added[0], total_.added[1], total_.least[1]};
}

double LbfgsB::find_slope() {
  for_each_tile([&](const Tile& tile, Sums& sums) {
    sums.added[0] += inner_product(gradient_.data() + tile.first, direction_.data() + tile.first, tile.size);
  });
  return total_.added[0];
}

void LbfgsB::move(double step) {
  for_each_tile([&](const Tile& tile, Sums&) {
    for (std::size_t i = tile.first; i < tile.first + tile.size; ++i) {
      const double to = start_.data()[i] + step * direction_.data()[i];
      x_.data()[i] = bounded_.data()[i] ? std::max(0.0, to) : to;
    }
  });
}

LbfgsB::Result LbfgsB::minimize(const Function& function, int max_evaluations, const StopPoll& stop) {
  constexpr int most_trials = 20;
  constexpr double longest = 1e10;
  Result result;
  double value = 0;
  const double* best = nullptr;
  const auto goes_on_after_evaluation = [&] {
    if (result.evaluations == max_evaluations) return false;
    value = function(x_.span(), gradient_.span());
    if (result.evaluations++ == 0) result.first_value = result.value = value;
    result.is_best_last = result.evaluations == 1 || value < result.value;
    if (result.is_best_last) {
      result.value = value;
      best = x_.data();
    }
    return std::isfinite(value) && !(stop && stop());
  };
  const auto keep_best = [&](AlignedBuffer<double>& overwritten) {
    if (overwritten.data() == best) std::swap(overwritten, best_);
  };
  // False once nothing better can be found.
  const auto goes_on_after_search = [&](bool is_first) {
    keep_best(start_);
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
    std::swap(x_, start_);
    std::swap(gradient_, old_gradient_);
    for (int trial = 0; trial < most_trials; ++trial) {
      if (trial > 0) keep_best(x_);
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
    std::swap(x_, start_);
    std::swap(gradient_, old_gradient_);
    value = first_value;
    return starts_anew();
  };

  hessian_.forget();
  for_each_tile([&](const Tile& tile, Sums&) {
    for (std::size_t i = tile.first; i < tile.first + tile.size; ++i) {
      if (bounded_.data()[i]) x_.data()[i] = std::max(0.0, x_.data()[i]);
    }
  });
  if (goes_on_after_evaluation()) {
    measure(std::nullopt, 0);
    for (bool is_first = true; goes_on_after_search(is_first); is_first = false) {
    }
  }
  if (best == start_.data()) std::swap(x_, start_);
  if (best == best_.data()) std::swap(x_, best_);
  return result;
}

}  // namespace blco
