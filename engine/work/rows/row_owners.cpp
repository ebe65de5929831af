#include "engine/work/rows/row_owners.hpp"

#include <algorithm>
#include <numeric>

namespace blco {

RowOwners RowOwners::by_touches(const std::vector<std::uint64_t>& shape, const Peers& peers,
                                std::span<const double> touches) {
  std::vector<double> ends;  // of the shares of the workers up to each
  for (int rank = 0; rank < peers.size(); ++rank) ends.push_back((rank == 0 ? 0 : ends.back()) + peers.share(rank));
  std::vector<std::uint64_t> first_rows;
  for (const std::uint64_t length : shape) {
    const std::span<const double> units = touches.first(static_cast<std::size_t>(TouchedRows::units_of(length)));
    touches = touches.subspan(units.size());
    const double all = std::accumulate(units.begin(), units.end(), 0.0);
    first_rows.push_back(0);
    double sum = 0;
    std::size_t unit = 0;
    for (std::size_t rank = 0; rank + 1 < ends.size(); ++rank) {
      // A unit goes to the worker in whose part its middle lies.
      while (unit < units.size() && sum + units[unit] / 2 < all * ends[rank] / ends.back()) sum += units[unit++];
      first_rows.push_back(std::min(length, unit * TouchedRows::unit_rows(length)));
    }
    first_rows.push_back(length);
  }
  return {ends.size(), std::move(first_rows)};
}

std::vector<IndexRange> RowOwners::rows_of(std::size_t worker) const {
  std::vector<IndexRange> owned;
  for (std::size_t mode = 0; mode < first_rows_.size() / (workers_ + 1); ++mode) {
    owned.push_back(rows(mode, worker));
  }
  return owned;
}

}  // namespace blco
