// One number of the counter-based generator per element.
#include "engine/initial_factors.hpp"

#include "engine/counter_random.hpp"

namespace blco {

void fill_initial_rows(std::uint64_t seed, int mode, std::uint64_t first_row, int rank, std::span<double> rows) {
  const RandomStream random(seed, static_cast<std::uint64_t>(mode));
  const std::uint64_t first = first_row * static_cast<std::uint64_t>(rank);
  for (std::uint64_t i = 0; i < rows.size(); ++i) rows[i] = random.uniform(first + i);
}

}  // namespace blco
