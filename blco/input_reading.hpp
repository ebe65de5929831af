// How the input of a tensor was read, which whoever compares entries with a model of it must know.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "blco/duplicate_policy.hpp"
#include "blco/enum_names.hpp"

namespace blco {

// Empty members say that the input was read in the usual way.
struct InputReading {
  std::vector<std::string> columns = {};           // of a table: what each mode was asked for as, such as when:day;
                                                   // empty: by its name
  std::string missing = {};                        // of a table: "skip", or the key of missing fields
  std::optional<DuplicatePolicy> duplicates = {};  // by which several entries became one nonzero, if some did

  friend bool operator==(const InputReading&, const InputReading&) = default;
};

namespace detail {
// By DuplicatePolicy.
inline constexpr std::array<std::string_view, 7> duplicate_policy_names = {"sum", "error", "first", "last",
                                                                           "max", "mean",  "count"};
}  // namespace detail

inline std::string to_string(DuplicatePolicy policy) {
  return std::string(detail::duplicate_policy_names[static_cast<std::size_t>(policy)]);
}

// Nothing for a word that to_string() does not give.
inline std::optional<DuplicatePolicy> parse_duplicate_policy(std::string_view word) {
  return find_name<DuplicatePolicy>(detail::duplicate_policy_names, word);
}

}  // namespace blco
