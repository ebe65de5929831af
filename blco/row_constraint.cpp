#include "blco/row_constraint.hpp"

#include <algorithm>
#include <charconv>

#include "blco/in_full.hpp"

namespace blco {
namespace {

// Takes a number from the beginning of the text.
bool take_number(std::string_view& text, double& number) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return fault == std::errc();
}

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

}  // namespace

std::vector<RowConstraint> without_empty(std::vector<RowConstraint> constraints) {
  if (std::ranges::all_of(constraints, [](const RowConstraint& one) { return one == RowConstraint{}; }))
    constraints.clear();
  return constraints;
}

std::string to_string(const RowConstraint& constraint) {
  std::string text;
  if (constraint.set == RowSet::nonnegative) text = "nonnegative";
  if (constraint.set == RowSet::simplex) text = "simplex";
  if (constraint.is_held()) text = "held";
  if (constraint.set == RowSet::box) text = "box=" + in_full(constraint.lower) + ":" + in_full(constraint.upper);
  if (constraint.l1 > 0) text += (text.empty() ? "l1=" : " l1=") + in_full(constraint.l1);
  return text.empty() ? "none" : text;
}

std::optional<RowConstraint> parse_constraint(std::string_view text) {
  RowConstraint constraint;
  if (text == "none") return constraint;
  if (take(text, "nonnegative")) {
    constraint.set = RowSet::nonnegative;
  } else if (take(text, "simplex")) {
    constraint.set = RowSet::simplex;
  } else if (take(text, "held")) {
    constraint.set = RowSet::held;
  } else if (take(text, "box=")) {
    constraint.set = RowSet::box;
    if (!take_number(text, constraint.lower) || !take(text, ":") || !take_number(text, constraint.upper)) return {};
  }
  if (constraint.set != RowSet::all && text.empty()) return constraint;
  if (constraint.set != RowSet::all && !take(text, " ")) return {};
  if (!take(text, "l1=") || !take_number(text, constraint.l1) || !text.empty()) return {};
  return constraint;
}

}  // namespace blco
