#include "blco/model_header.hpp"

#include <algorithm>

#include "blco/layout.hpp"

namespace blco {

std::string header_fault(const ModelHeader& header) {
  const std::size_t order = header.shape.size();
  if (order < 1 || order > static_cast<std::size_t>(max_order)) return "a model has 1 to 16 modes";
  if (std::ranges::find(header.shape, 0) != header.shape.end()) return "the length of a mode is 0";
  if (!header.mode_names.empty() && header.mode_names.size() != order) return "it does not have one name per mode";
  if (!header.constraints.empty() && header.constraints.size() != order)
    return "it does not have one constraint per mode";
  if (!header.labels.empty() && header.labels.size() != order) return "it does not have one list of labels per mode";
  for (std::size_t n = 0; n < header.labels.size(); ++n) {
    if (!header.labels[n].empty() && header.labels[n].size() != header.shape[n])
      return "a mode does not have one label per index";
  }
  return {};
}

// Quotients, for products may exceed 64 bits.
std::string factor_fault(const ModelHeader& header, std::span<const std::uint64_t> columns,
                         std::span<const std::vector<double>> factors) {
  const std::size_t order = header.shape.size();
  if (columns.size() != order) return "it does not have one rank per mode";
  if (factors.size() != order) return "it does not have one factor per mode";
  for (std::size_t n = 0; n < order; ++n) {
    if (columns[n] < 1 || factors[n].size() % columns[n] != 0 || factors[n].size() / columns[n] != header.shape[n])
      return "the size of factor " + std::to_string(n) + " is not the length of its mode times the rank";
  }
  return {};
}

}  // namespace blco
