// The TTMc of decoded nonzeros: out[i_n] += value * the Kronecker product of the other modes' rows, vectorised along
// the last of these.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/backend.hpp"
#include "kernels/host/mttkrp_rows.hpp"
#include "kernels/host/row_matrix.hpp"

namespace blco {

// How an output row of a mode lies in memory: for each choice of a column of every other mode but the last, the last
// one's columns, padded to `last_stride`.
struct KroneckerRow {
  std::uint64_t choices = 1;
  std::uint64_t last_columns = 1;
  std::uint64_t last_stride = 1;
  std::uint64_t stride = 1;  // of the output

  std::uint64_t columns() const { return choices * last_columns; }
};

// `config` has columns. T: of the output.
template <class T>
KroneckerRow kronecker_row(const BackendConfig& config, int mode) {
  KroneckerRow row;
  const int last = mode + 1 == config.layout.order() ? mode - 1 : config.layout.order() - 1;
  for (int other = 0; other < last; ++other) {
    if (other != mode) row.choices *= static_cast<std::uint64_t>(config.columns_of(other));
  }
  row.last_columns = static_cast<std::uint64_t>(config.columns_of(last));
  row.last_stride = padded_rank<T>(config.columns_of(last));
  row.stride = padded_numbers<T>(row.choices * row.last_stride);
  return row;
}

// Nonzeros that are added to an output row at once.
inline constexpr std::size_t most_together = 4;

// What RowsTask does not say of such a product; its `stride` is of no use.
template <class Sum>
struct KroneckerTask {
  KroneckerRow row;
  std::array<std::uint64_t, max_order> columns{};  // per factor
  std::array<std::uint64_t, max_order> strides{};
  Sum* products = nullptr;  // room for most_together times the choices
};

// Adds the nonzeros of `range` to the output, one after the other. The numbers do not depend on how the nonzeros are
// cut into calls, nor on their form; each is that of an MTTKRP whose factors have those columns.
template <class Sum, class Factor>
void ttmc_rows(const RowsTask<Sum, Factor>& task, const KroneckerTask<Sum>& product, NonzeroRange range);

}  // namespace blco
