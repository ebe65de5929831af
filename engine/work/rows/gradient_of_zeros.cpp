#include "engine/work/rows/gradient_of_zeros.hpp"

#include <algorithm>
#include <cstddef>

#include "kernels/part_ranges.hpp"

namespace blco {

void add_gradient_of_zeros(const OtherModes& others, int columns, const Rows& factors, int mode,
                           std::uint64_t first_row, std::span<double> block, Executor& executor,
                           std::span<double> rows) {
  const auto rank = static_cast<std::size_t>(columns);
  const std::span<const double> product = others.product;
  if (product.empty()) return;
  if (!others.is_of_squares) {
    return run_shares(executor, rows.size() / rank, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::size_t start = begin * rank; start < end * rank; start += rank) {
        for (std::size_t r = 0; r < rank; ++r) rows[start + r] += product[r];
      }
    });
  }
  // rows += 2 A V, where V is symmetric.
  constexpr std::size_t rows_of_task = 256;
  const auto add = [&](std::span<const double> factor, std::span<double> sums) {
    for (std::size_t start = 0; start < sums.size(); start += rank) {
      for (std::size_t s = 0; s < rank; ++s) {
        const double twice = 2 * factor[start + s];
        for (std::size_t r = 0; r < rank; ++r) sums[start + r] += twice * product[s * rank + r];
      }
    }
  };
  const std::size_t most = block.size() / rank * rank;
  for (std::size_t first = 0; first < rows.size(); first += most) {
    const std::span<double> sums = rows.subspan(first, std::min(most, rows.size() - first));
    const std::span<double> factor = block.first(sums.size());
    factors.store_factor(mode, first_row + first / rank, factor);
    const std::size_t step = rows_of_task * rank;
    executor.run((sums.size() + step - 1) / step, [&](std::size_t task) {
      const std::size_t numbers = std::min(step, sums.size() - task * step);
      add(factor.subspan(task * step, numbers), sums.subspan(task * step, numbers));
    });
  }
}

}  // namespace blco
