#include "tools/programs/mode_constraints.hpp"

#include <fmt/format.h>

#include "tools/programs/cli.hpp"

namespace blco::cli {
namespace {

std::vector<std::size_t> modes_of(const std::string& list, const TensorSummary& tensor) {
  std::vector<std::size_t> modes;
  if (list.empty()) {
    for (std::size_t n = 0; n < tensor.shape.size(); ++n) modes.push_back(n);
    return modes;
  }
  for (const std::string& name : parse_names(list)) modes.push_back(find_mode(tensor, name));
  return modes;
}

}  // namespace

void constrain(const std::string& option, const std::string& list, const TensorSummary& tensor,
               const RowConstraint& wanted, std::vector<RowConstraint>& constraints) {
  constraints.resize(tensor.shape.size());
  for (const std::size_t mode : modes_of(list, tensor)) {
    if (list.empty() && constraints[mode].is_held()) continue;
    if (constraints[mode] != RowConstraint{} && constraints[mode] != wanted) {
      refuse(
          fmt::format("{}: mode {} has another constraint already; give each mode one of --hold, --nonnegative, "
                      "--box and --simplex",
                      option, mode));
    }
    constraints[mode] = wanted;
  }
}

}  // namespace blco::cli
