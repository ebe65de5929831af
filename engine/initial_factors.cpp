// One number of the counter-based generator per element.
#include "engine/initial_factors.hpp"

#include "engine/counter_random.hpp"

namespace blco {

std::vector<double> initial_factor(std::uint64_t seed, int mode, std::uint64_t length, int rank) {
  std::vector<double> rows(length * static_cast<std::uint64_t>(rank));
  for (std::uint64_t i = 0; i < rows.size(); ++i) rows[i] = random_uniform(seed, static_cast<std::uint64_t>(mode), i);
  return rows;
}

}  // namespace blco
