// The sentence, and the JSON object.
#include "tools/programs/cancellation_words.hpp"

#include <fmt/format.h>

namespace blco::cli {

std::string describe_cancellation(const Cancellation& found) {
  return fmt::format(
      "components cancel each other, most of all {} and {} (congruence {:.3f}): the largest has {:.3g} times the norm "
      "of "
      "the tensor, so a component by itself means little; fit again with a smaller rank, "
      "or with a ridge (--ridge)",
      found.first, found.second, found.congruence, found.excess);
}

Json cancellation_json(const std::optional<Cancellation>& found) {
  if (!found) return nullptr;
  return {{"components", {found->first, found->second}}, {"congruence", found->congruence}, {"excess", found->excess}};
}

}  // namespace blco::cli
