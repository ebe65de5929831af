#include "engine/model/assignment.hpp"

#include <limits>

namespace blco {
namespace {

constexpr std::size_t none = ~std::size_t{0};

// Rows join one by one. Each looks for the cheapest path of alternating pairs to a free column, in costs that the
// potentials of rows and columns keep from falling below zero.
class Assignment {
 public:
  Assignment(std::span<const double> scores, std::size_t columns)
      : scores_(scores),
        columns_(columns),
        row_potential_(scores.size() / columns),
        column_potential_(columns),
        row_of_(columns, none) {}

  std::vector<std::size_t> solve() {
    for (std::size_t row = 0; row < row_potential_.size(); ++row) augment(row);
    std::vector<std::size_t> column_of(row_potential_.size());
    for (std::size_t column = 0; column < columns_; ++column) {
      if (row_of_[column] != none) column_of[row_of_[column]] = column;
    }
    return column_of;
  }

 private:
  double cost(std::size_t row, std::size_t column) const {
    return -scores_[row * columns_ + column] - row_potential_[row] - column_potential_[column];
  }

  void augment(std::size_t new_row) {
    std::vector<double> distance(columns_, std::numeric_limits<double>::infinity());
    std::vector<std::size_t> before(columns_, none);  // the column before it on the path; none: the new row
    std::vector<bool> done(columns_);
    std::vector<std::size_t> visited;
    std::size_t column = none;
    double path = 0;
    for (std::size_t row = new_row; row != none; row = row_of_[column]) {
      std::size_t nearest = none;
      for (std::size_t c = 0; c < columns_; ++c) {
        if (done[c]) continue;
        if (const double through = path + cost(row, c); through < distance[c]) {
          distance[c] = through;
          before[c] = column;
        }
        if (nearest == none || distance[c] < distance[nearest]) nearest = c;
      }
      column = nearest;
      path = distance[column];
      done[column] = true;
      visited.push_back(column);
    }
    // The last column visited is free.
    row_potential_[new_row] += path;
    for (const std::size_t c : visited) {
      if (c == column) break;
      row_potential_[row_of_[c]] += path - distance[c];
      column_potential_[c] -= path - distance[c];
    }
    for (; column != none; column = before[column]) {
      row_of_[column] = before[column] == none ? new_row : row_of_[before[column]];
    }
  }

  std::span<const double> scores_;
  std::size_t columns_;
  std::vector<double> row_potential_;
  std::vector<double> column_potential_;
  std::vector<std::size_t> row_of_;  // per column; none: free
};

}  // namespace

std::vector<std::size_t> assign_columns(std::span<const double> scores, std::size_t columns) {
  if (scores.empty()) return {};
  return Assignment(scores, columns).solve();
}

}  // namespace blco
