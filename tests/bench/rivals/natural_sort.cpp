#include "tests/bench/rivals/natural_sort.hpp"

#include <bit>
#include <cstddef>
#include <numeric>

#include "kernels/host/counting_scatter.hpp"

namespace blco {

std::vector<std::uint32_t> sorted_by(const CoordinateLists& tensor, std::span<const int> modes, Executor& executor) {
  std::vector<std::uint32_t> order(tensor.nnz());
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  std::vector<std::uint32_t> next(order.size());
  for (auto mode = modes.rbegin(); mode != modes.rend(); ++mode) {
    const auto n = static_cast<std::size_t>(*mode);
    const auto bits = static_cast<int>(std::bit_width(tensor.shape[n] - 1));
    for (int shift = 0; shift < bits; shift += scatter_bits) {
      const auto digit = [of_mode = tensor.coordinates[n], shift](std::uint32_t nonzero) {
        return std::size_t{of_mode[nonzero] >> shift} & (scatter_digits - 1);
      };
      counting_scatter(std::span<const std::uint32_t>(order), std::span(next), digit, executor);
      order.swap(next);
    }
  }
  return order;
}

}  // namespace blco
