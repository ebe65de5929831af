// Counts and prints rank-deficient normal equations.
#include "tools/programs/rank_note.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace blco::cli {

void RankNote::print(Reporter& reporter, int rank) const {
  const std::size_t modes = system_ranks_.empty() ? 0 : system_ranks_.front().size();
  for (std::size_t n = 0; n < modes; ++n) {
    int min = rank;
    int sweeps = 0;
    for (const std::vector<int>& ranks : system_ranks_) {
      min = std::min(min, ranks[n]);
      sweeps += ranks[n] < rank ? 1 : 0;
    }
    if (sweeps == 0) continue;
    reporter.print(
        fmt::format("note    the normal equations of mode {} were rank-deficient (rank {} instead of {}) in {} "
                    "sweep{}: a smaller --rank would fit as well",
                    n, min, rank, sweeps, sweeps == 1 ? "" : "s"));
  }
}

}  // namespace blco::cli
