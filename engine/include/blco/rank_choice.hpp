// Which of several fitted ranks suits a tensor.
#pragma once

#include <optional>
#include <span>

namespace blco {

// The best fit of one rank.
struct RankedFit {
  int rank = 0;
  double fit = 0;               // of AlsMethod CpdModel::fit(), of other methods CpdModel::explained
  double core_consistency = 0;  // as core_consistency() says, up to 100
  double match = 1;             // of several starts StartsReport::mean_match
};

// The smallest rank that scores as well as the best, or by no more than 0.02 worse. The score is
//   (fit / best fit - 0.25 log10(2 - core_consistency / 100)) * match
// with at least 1 within the logarithm: the core consistency of good models varies by orders of magnitude. Nothing for
// less than two ranks, or where no fit is above 0. Throws
// Error{invalid_argument} for a number that is not finite.
std::optional<int> choose_rank(std::span<const RankedFit> fits);

}  // namespace blco
