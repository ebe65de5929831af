// What the rows of a factor have to satisfy, and what is added to the objective for them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace blco {

// A set that each row lies in. simplex: entries of 0 or more that add up to 1. held: what the initial model has.
enum class RowSet { all, nonnegative, box, simplex, held };

struct RowConstraint {
  RowSet set = RowSet::all;
  double lower = 0;  // box only
  double upper = 0;
  double l1 =
      0;  // adds l1 * (the sum of the absolute entries) to |X - M|^2; 0 with simplex, where it would be constant

  bool operator==(const RowConstraint&) const = default;

  // Columns may be normalised: that changes neither the set nor the penalty.
  bool normalises() const { return l1 == 0 && (set == RowSet::all || set == RowSet::nonnegative); }
  // Solved by plain least squares, by HALS, or by ADMM with a dual variable per entry.
  bool is_least_squares() const { return l1 == 0 && set == RowSet::all; }
  bool needs_dual() const { return !is_least_squares() && set != RowSet::nonnegative && !is_held(); }
  bool is_held() const { return set == RowSet::held; }
};

// These constraints; an empty list where no mode has one.
std::vector<RowConstraint> without_empty(std::vector<RowConstraint> constraints);

// Such as "nonnegative", "nonnegative l1=0.5", "box=0:1", "simplex"; "none".
std::string to_string(const RowConstraint& constraint);
// The other way round; nothing for a text of another form.
std::optional<RowConstraint> parse_constraint(std::string_view text);

}  // namespace blco
