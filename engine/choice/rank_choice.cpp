// Weighs fit, core consistency and the agreement of starts.
#include <algorithm>
#include <blco/rank_choice.hpp>
#include <cmath>
#include <string>

#include "blco/refuse.hpp"

namespace blco {

std::optional<int> choose_rank(std::span<const RankedFit> fits) {
  constexpr double weight = 0.25;  // of a tenfold deviation, as a share of the best fit
  constexpr double equal = 0.02;
  for (const RankedFit& one : fits) {
    if (std::isfinite(one.fit) && std::isfinite(one.core_consistency) && std::isfinite(one.match)) continue;
    refuse("the fit of rank " + std::to_string(one.rank) + " has a number that is not finite; leave it out");
  }
  if (fits.size() < 2) return std::nullopt;
  const double best_fit = std::ranges::max(fits, {}, &RankedFit::fit).fit;
  if (best_fit <= 0) return std::nullopt;
  const auto score = [&](const RankedFit& one) {
    const double deviation = std::max(0.0, 1 - one.core_consistency / 100);
    return (one.fit / best_fit - weight * std::log10(1 + deviation)) * one.match;
  };
  const double best = score(std::ranges::max(fits, {}, score));
  std::optional<int> choice;
  for (const RankedFit& one : fits) {
    if (score(one) >= best - equal && (!choice || one.rank < *choice)) choice = one.rank;
  }
  return choice;
}

}  // namespace blco
