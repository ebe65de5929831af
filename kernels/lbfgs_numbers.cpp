#include "kernels/lbfgs_numbers.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

#include "kernels/part_ranges.hpp"
#include "kernels/tile_products.hpp"

namespace blco {
namespace {

constexpr std::uint64_t most_ranges = 256;
constexpr std::uint64_t least_tiles_of_range = 16;

using TileVector = double[product_tile];

std::uint64_t tiles_of(std::uint64_t count) { return (count + product_tile - 1) / product_tile; }

std::uint64_t ranges_of(std::uint64_t count) {
  return std::clamp<std::uint64_t>(tiles_of(count) / least_tiles_of_range, 1, most_ranges);
}

std::uint64_t count_of(const std::vector<LbfgsNumbers::Range>& ranges) {
  return std::accumulate(ranges.begin(), ranges.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const LbfgsNumbers::Range& range) { return sum + range.count; });
}

std::vector<double> first_of(const LbfgsSums& sums, std::size_t count) {
  std::vector<double> numbers(count);
  auto to = numbers.begin();
  const auto append = [&](const auto& part) {
    const auto left = static_cast<std::size_t>(numbers.end() - to);
    to = std::copy_n(part.begin(), std::min(left, part.size()), to);
  };
  append(sums.least);
  append(sums.added);
  append(sums.products);
  append(sums.changes);
  return numbers;
}

constexpr std::size_t with_added = offsetof(LbfgsSums, products) / sizeof(double);
constexpr std::size_t with_products = offsetof(LbfgsSums, changes) / sizeof(double);
constexpr std::size_t with_changes = sizeof(LbfgsSums) / sizeof(double);

}  // namespace

struct LbfgsNumbers::Tile {
  std::size_t first;
  std::size_t size;
  double* columns;
};

struct LbfgsNumbers::View {
  double* x;
  double* start;
  double* gradient;
  const double* old_gradient;
};

LbfgsNumbers::LbfgsNumbers(std::vector<Range> ranges, Executor& executor, const MemorySource& memory)
    : executor_(executor), ranges_(std::move(ranges)) {
  const std::uint64_t count = count_of(ranges_);
  for (AlignedBuffer<double>& point : points_) point = AlignedBuffer<double>(count, memory);
  for (AlignedBuffer<double>& gradient : gradients_) gradient = AlignedBuffer<double>(count, memory);
  direction_ = AlignedBuffer<double>(count, memory);
  pairs_ = AlignedBuffer<double>(tiles_of(count) * product_tile * lbfgs_columns, memory);
  breakpoints_ = AlignedBuffer<Found>(count, memory);
  bounded_ = AlignedBuffer<bool>(count, memory);
  held_ = AlignedBuffer<bool>(count, memory);
  sums_ = AlignedBuffer<LbfgsSums>(ranges_of(count), memory);
}

void LbfgsNumbers::bound(std::size_t first, std::size_t count) { std::fill_n(bounded_.data() + first, count, true); }

LbfgsNumbers::View LbfgsNumbers::view(const LbfgsPlaces& places) {
  return {points_[places.x].data(), points_[places.start].data(), gradients_[places.gradient].data(),
          gradients_[1 - places.gradient].data()};
}

std::vector<double> LbfgsNumbers::take(const LbfgsStep& step) {
  switch (step.kind) {
    case LbfgsStepKind::raise_to_bounds:
      raise_to_bounds(step);
      return {};
    case LbfgsStepKind::measure:
      return first_of(measure(step), with_products);
    case LbfgsStepKind::next_breakpoints:
      return next_breakpoints(step);
    case LbfgsStepKind::find_free:
      return first_of(find_free(step), with_changes);
    case LbfgsStepKind::aim:
      return first_of(aim(step), with_added);
    case LbfgsStepKind::find_slope:
      return first_of(find_slope(step), with_added);
    case LbfgsStepKind::move:
      move(step);
      return {};
  }
  return {};
}

// Calls visit(tile, sums of its range) for all, and adds the sums up.
template <class Visit>
LbfgsSums LbfgsNumbers::for_each_tile(const Visit& visit) {
  const std::size_t count = size();
  run_parts(executor_, sums_.size(), tiles_of(count), [&](std::size_t range, std::uint64_t begin, std::uint64_t end) {
    LbfgsSums& sums = sums_.data()[range];
    sums = {};
    sums.least.fill(std::numeric_limits<double>::infinity());
    for (std::size_t tile = begin; tile < end; ++tile) {
      const std::size_t first = tile * product_tile;
      visit(Tile{first, std::min(product_tile, count - first), pairs_.data() + first * lbfgs_columns}, sums);
    }
  });
  LbfgsSums total = sums_.data()[0];
  const auto add = [](auto& to, const auto& from) { std::ranges::transform(to, from, to.begin(), std::plus()); };
  for (const LbfgsSums& sums : sums_.span().subspan(1)) {
    add(total.products, sums.products);
    add(total.changes, sums.changes);
    add(total.added, sums.added);
    std::ranges::transform(total.least, sums.least, total.least.begin(),
                           [](double a, double b) { return std::min(a, b); });
  }
  return total;
}

// Which numbers of a tile are at their bounds, and kept there by the gradient, or taken there on the way to the Cauchy
// point.
void LbfgsNumbers::find_held(const LbfgsStep& step, const View& of, const Tile& tile, bool* held) const {
  std::fill_n(held, product_tile, false);
  if (!step.has_bounds) return;
  const double* const x = of.x + tile.first;
  const double* const gradient = of.gradient + tile.first;
  const bool* const bounded = bounded_.data() + tile.first;
  const double last_break = step.last_break;
  for (std::size_t k = 0; k < tile.size; ++k) {
    const bool is_kept = x[k] <= 0 && gradient[k] >= 0;
    const bool is_taken = x[k] > 0 && gradient[k] > 0 && x[k] / gradient[k] <= last_break;
    held[k] = bounded[k] && (is_kept || is_taken);
  }
}

// Adds a pair for the last step, if there is a new one, and finds the products with the first direction of the
// projected gradient path. Added: its square, how many numbers it brings to their bounds, and how many it moves for
// ever.
LbfgsSums LbfgsNumbers::measure(const LbfgsStep& step) {
  const View of = view(step.places);
  return for_each_tile([&](const Tile& tile, LbfgsSums& sums) {
    alignas(cache_line_bytes) TileVector vectors[product_vectors]{};
    bool held[product_tile];
    find_held(step, of, tile, held);
    const double* const gradient = of.gradient + tile.first;
    for (std::size_t k = 0; k < tile.size; ++k) vectors[2][k] = held[k] ? 0 : -gradient[k];
    const bool* const bounded = bounded_.data() + tile.first;
    std::size_t breaks = 0;
    std::size_t open = 0;
    for (std::size_t k = 0; k < tile.size && step.has_bounds; ++k) {
      breaks += bounded[k] && vectors[2][k] < 0 ? 1 : 0;
      open += !bounded[k] || vectors[2][k] > 0 ? 1 : 0;
    }
    if (step.has_new_pair) {
      const double* const direction = direction_.data() + tile.first;
      const double* const old_gradient = of.old_gradient + tile.first;
      double* const s = tile.columns + 2 * step.new_slot * product_tile;
      double* const y = s + product_tile;
      for (std::size_t k = 0; k < tile.size; ++k) {
        s[k] = vectors[0][k] = step.step * direction[k];
        y[k] = vectors[1][k] = gradient[k] - old_gradient[k];
      }
    }
    sums.added[0] += inner_product(vectors[2], vectors[2], product_tile);
    sums.added[1] += static_cast<double>(breaks);
    sums.added[2] += static_cast<double>(open);
    add_products(tile.columns, 2 * step.pairs, vectors[0], sums.products.data());
  });
}

// Those up to a reach, in order.
void LbfgsNumbers::find_breakpoints(const LbfgsStep& step) {
  const View of = view(step.places);
  std::array<std::size_t, most_ranges> counts{};
  const std::uint64_t tiles = tiles_of(size());
  run_parts(executor_, sums_.size(), tiles, [&](std::size_t range, std::uint64_t begin, std::uint64_t end) {
    Found* const found = breakpoints_.data() + begin * product_tile;
    std::size_t count = 0;
    for (std::size_t i = begin * product_tile; i < std::min<std::size_t>(end * product_tile, size()); ++i) {
      const double slope = of.gradient[i];
      if (!bounded_.data()[i] || !(slope > 0)) continue;
      const double reach = of.x[i] / slope;
      if (reach > step.above && reach <= step.up_to) found[count++] = {reach, i};
    }
    counts[range] = count;
  });
  found_ = 0;
  for (std::size_t range = 0; range < sums_.size(); ++range) {
    const Found* const from = breakpoints_.data() + tiles * range / sums_.size() * product_tile;
    std::copy_n(from, counts[range], breakpoints_.data() + found_);
    found_ += counts[range];
  }
  std::ranges::sort(breakpoints_.span().first(found_), {},
                    [](const Found& point) { return std::pair(point.reach, point.number); });
  next_ = 0;
}

double LbfgsNumbers::number_of_all(std::uint64_t number) const {
  auto range = ranges_.begin();
  for (; number >= range->count; ++range) number -= range->count;
  return static_cast<double>(range->first + number);
}

std::vector<double> LbfgsNumbers::next_breakpoints(const LbfgsStep& step) {
  constexpr std::size_t ahead = 8;  // of rows of W that are fetched before they are needed
  if (step.begins_search) {
    find_breakpoints(step);
  } else {
    const auto is_passed = [&](const Found& point) {
      return std::array{point.reach, number_of_all(point.number)} <= step.last;
    };
    while (next_ < found_ && is_passed(breakpoints_.data()[next_])) ++next_;
  }
  const double* const gradient = view(step.places).gradient;
  const std::size_t count = std::min<std::size_t>(step.most, found_ - next_);
  const Found* const points = breakpoints_.data() + next_;
  const auto columns_of = [&](std::size_t point) {
    const std::size_t number = points[point].number;
    const std::size_t in_tile = number % product_tile;
    return pairs_.data() + (number - in_tile) * lbfgs_columns + in_tile;
  };
  std::vector<double> answer(1 + count * numbers_of_breakpoint);
  answer[0] = static_cast<double>(step.most);
  run_shares(executor_, count, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      const double* const columns = columns_of(i);
      const double* const later = columns_of(std::min(i + ahead, end - 1));
      for (std::size_t k = 0; k < 2 * step.pairs; ++k) __builtin_prefetch(later + k * product_tile);
      LbfgsBreakpoint point{points[i].reach, number_of_all(points[i].number), gradient[points[i].number], {}};
      for (std::size_t k = 0; k < 2 * step.pairs; ++k) point.row[k] = columns[k * product_tile];
      std::memcpy(answer.data() + 1 + i * numbers_of_breakpoint, &point, sizeof(point));
    }
  });
  return answer;
}

// Which numbers are free at the Cauchy point, and what the reduced system needs: of the negative gradient there the
// products with W are made.
LbfgsSums LbfgsNumbers::find_free(const LbfgsStep& step) {
  const View of = view(step.places);
  const double before = 1 - step.theta * step.cauchy_reach;  // of the gradient, without W's part
  const std::size_t columns = 2 * step.pairs;
  return for_each_tile([&](const Tile& tile, LbfgsSums& sums) {
    alignas(cache_line_bytes) TileVector vectors[product_vectors]{};
    bool held[product_tile];
    find_held(step, of, tile, held);
    TileVector& residual = vectors[2];
    add_columns(tile.columns, columns, step.factors.data(), residual);
    const double* const gradient = of.gradient + tile.first;
    const double* const s = tile.columns + 2 * step.new_slot * product_tile;
    const double* const y = s + product_tile;
    for (std::size_t k = 0; k < tile.size; ++k) residual[k] = held[k] ? 0 : residual[k] - before * gradient[k];
    for (std::size_t k = 0; k < tile.size && step.has_new_pair; ++k) {
      vectors[0][k] = held[k] ? s[k] : 0;
      vectors[1][k] = held[k] ? 0 : y[k];
    }
    bool* const was_held = held_.data() + tile.first;
    for (std::size_t k = 0; k < tile.size; ++k) {
      if (held[k] == was_held[k]) continue;
      was_held[k] = held[k];
      std::array<double, lbfgs_columns> row{};
      for (std::size_t a = 0; a < columns; ++a) row[a] = tile.columns[a * product_tile + k];
      for (std::size_t a = 0; a < columns; ++a) {
        const double factor = held[k] ? -row[a] : row[a];
        for (std::size_t b = 0; b < lbfgs_columns; ++b) sums.changes[a * lbfgs_columns + b] += factor * row[b];
      }
    }
    for (std::size_t k = tile.size; k < product_tile; ++k) residual[k] = 0;
    add_products(tile.columns, columns, vectors[0], sums.products.data());
  });
}

// Goes to the minimum of the model among the free numbers, or the given share of that way from the Cauchy point, and
// within bounds. Least: the share that ends at the first bound, and the longest step within bounds. Added: the slope of
// the direction, its square, and how many numbers come to their bounds.
LbfgsSums LbfgsNumbers::aim(const LbfgsStep& step) {
  const View of = view(step.places);
  const double rest = 1 / step.theta - step.cauchy_reach;
  return for_each_tile([&](const Tile& tile, LbfgsSums& sums) {
    alignas(cache_line_bytes) TileVector way{};
    bool held[product_tile];
    find_held(step, of, tile, held);
    add_columns(tile.columns, 2 * step.pairs, step.factors.data(), way);
    const double* const x = of.x + tile.first;
    const double* const gradient = of.gradient + tile.first;
    const bool* const bounded = bounded_.data() + tile.first;
    double* const end = of.start + tile.first;
    double* const direction = direction_.data() + tile.first;
    for (std::size_t k = 0; k < tile.size; ++k) {
      way[k] = held[k] ? 0 : way[k] - rest * gradient[k];
      end[k] = held[k] ? 0 : x[k] - step.cauchy_reach * gradient[k] + step.share * way[k];
    }
    for (std::size_t k = 0; k < tile.size && step.has_bounds; ++k) {
      if (!bounded[k] || held[k]) continue;
      const double cauchy = std::max(0.0, x[k] - step.cauchy_reach * gradient[k]);
      end[k] = std::max(0.0, end[k]);
      sums.added[2] += end[k] == 0 ? 1 : 0;
      if (way[k] < 0) sums.least[0] = std::min(sums.least[0], cauchy / -way[k]);
    }
    for (std::size_t k = 0; k < tile.size; ++k) direction[k] = end[k] - x[k];
    for (std::size_t k = 0; k < tile.size && step.has_bounds; ++k) {
      if (bounded[k] && direction[k] < 0) sums.least[1] = std::min(sums.least[1], x[k] / -direction[k]);
    }
    sums.added[0] += inner_product(gradient, direction, tile.size);
    sums.added[1] += inner_product(direction, direction, tile.size);
  });
}

LbfgsSums LbfgsNumbers::find_slope(const LbfgsStep& step) {
  const View of = view(step.places);
  return for_each_tile([&](const Tile& tile, LbfgsSums& sums) {
    sums.added[0] += inner_product(of.gradient + tile.first, direction_.data() + tile.first, tile.size);
  });
}

void LbfgsNumbers::raise_to_bounds(const LbfgsStep& step) {
  const View of = view(step.places);
  for_each_tile([&](const Tile& tile, LbfgsSums&) {
    for (std::size_t i = tile.first; i < tile.first + tile.size; ++i) {
      if (bounded_.data()[i]) of.x[i] = std::max(0.0, of.x[i]);
    }
  });
}

void LbfgsNumbers::move(const LbfgsStep& step) {
  const View of = view(step.places);
  for_each_tile([&](const Tile& tile, LbfgsSums&) {
    for (std::size_t i = tile.first; i < tile.first + tile.size; ++i) {
      const double to = of.start[i] + step.step * direction_.data()[i];
      of.x[i] = bounded_.data()[i] ? std::max(0.0, to) : to;
    }
  });
}

}  // namespace blco
