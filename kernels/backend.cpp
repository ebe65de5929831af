// Default implementations for backends without a faster one.
#include "kernels/backend.hpp"

namespace blco {

void Backend::load_rows(int mode, std::span<const std::uint32_t> rows, std::span<const double> values) {
  const std::size_t rank = rows.empty() ? 0 : values.size() / rows.size();
  for (std::size_t i = 0; i < rows.size(); ++i) load_factor(mode, rows[i], values.subspan(i * rank, rank));
}

void Backend::store_rows(int mode, std::span<const std::uint32_t> rows, std::span<double> values) const {
  const std::size_t rank = rows.empty() ? 0 : values.size() / rows.size();
  for (std::size_t i = 0; i < rows.size(); ++i) store_factor(mode, rows[i], values.subspan(i * rank, rank));
}

}  // namespace blco
