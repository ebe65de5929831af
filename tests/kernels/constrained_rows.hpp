// Constrained row updates by loops in extended precision, and by trying every set of bounds that can hold.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "tests/kernels/backend_cases.hpp"
#include "tests/kernels/wide_rows.hpp"
#include "tests/random_tensor.hpp"

namespace blco::testing {

inline constexpr RowConstraint nonnegative{.set = RowSet::nonnegative};
inline constexpr RowConstraint unit_box{.set = RowSet::box, .lower = 0.1, .upper = 0.6};
inline constexpr RowConstraint on_simplex{.set = RowSet::simplex};
inline constexpr RowConstraint sparse{.l1 = 0.3};
inline constexpr RowConstraint sparse_box{.set = RowSet::box, .lower = -0.2, .upper = 0.5, .l1 = 0.2};
inline constexpr double test_rho = 1.25;

// A system, and V + rho I factored.
struct TestSystem {
  TestSystem(std::vector<double> matrix, int rank, double rho)
      : v(std::move(matrix)), solver(shifted(rank, rho), rank) {}
  explicit TestSystem(int rank, double rho = 0) : TestSystem(definite_matrix(rank), rank, rho) {}

  std::vector<double> shifted(int rank, double rho) const {
    std::vector<double> sum = v;
    for (std::size_t r = 0; r < static_cast<std::size_t>(rank); ++r) sum[r * static_cast<std::size_t>(rank) + r] += rho;
    return sum;
  }

  RowProblem problem(const RowConstraint& constraint, std::span<const double> weights = {}) const {
    RowProblem made(solver);
    made.system = v;
    made.weights = weights;
    made.constraint = constraint;
    made.rho = test_rho;
    return made;
  }

  std::vector<double> v;
  RowSolver solver;
};

// A backend whose output of mode 0 can be any matrix X: the MTTKRP of X as a tensor with the identity.
class UpdatedRows {
 public:
  UpdatedRows(const BackendCase& which, std::uint64_t rows, int rank, bool keep_previous = true)
      : shape_{rows, static_cast<std::uint64_t>(rank)},
        rank_(rank),
        backend_(which.threads, {.layout = TensorLayout(shape_),
                                 .rank = rank,
                                 .precision = which.precision,
                                 .keep_previous = keep_previous,
                                 .dual_modes = mode_bit(0)}) {
    const auto n = static_cast<std::size_t>(rank);
    std::vector<double> identity(n * n);
    for (std::size_t r = 0; r < n; ++r) identity[r * n + r] = 1;
    backend_->load_factor(1, 0, identity);
  }

  Backend* operator->() { return &*backend_; }
  std::vector<double> factor() const { return backend_.factor(0); }
  std::vector<double> dual() {
    std::vector<double> numbers(factor().size());
    backend_->store_dual(0, 0, numbers);
    return numbers;
  }
  // Loads a factor and a dual, and makes `output` the output; zeros of it are no nonzeros.
  void start(const std::vector<double>& old, const std::vector<double>& dual, const std::vector<double>& output) {
    backend_->load_factor(0, 0, old);
    if (!dual.empty()) backend_->load_dual(0, 0, dual);
    fill(output);
  }
  // Returns the output as the backend holds it.
  std::vector<double> fill(const std::vector<double>& output) {
    CooTensor tensor{shape_, {}, {}};
    for (std::size_t i = 0; i < output.size(); ++i) {
      if (output[i] == 0) continue;
      tensor.coordinates.insert(tensor.coordinates.end(), {i / shape_[1], i % shape_[1]});
      tensor.values.push_back(output[i]);
    }
    return backend_.pass(encode(coalesce(tensor), 1000), 0);
  }

 private:
  std::vector<std::uint64_t> shape_;
  int rank_;
  BackendUnderTest backend_;
};

// Every third row is zero, as are all rows of one word and more.
inline std::vector<double> output_with_gaps(std::uint64_t rows, int rank, double largest) {
  std::vector<double> output = random_matrix(rows, rank, 17);
  for (std::size_t i = 0; i < output.size(); ++i) {
    const std::size_t row = i / static_cast<std::size_t>(rank);
    output[i] = row % 3 == 1 || (row >= 100 && row < 200) ? 0.0 : output[i] * largest;
  }
  return output;
}

inline std::vector<double> nonnegative_matrix(std::uint64_t rows, int rank, std::uint64_t seed) {
  std::vector<double> numbers = random_matrix(rows, rank, seed);
  for (double& number : numbers) number = std::max(0.0, number);
  return numbers;
}

// The minimum in each column in turn, the other columns held.
inline void wide_hals(const TestSystem& system, double l1, const double* given, long double* row, std::size_t n) {
  if (std::all_of(given, given + n, [](double number) { return number == 0; })) {
    std::fill_n(row, n, 0.0L);
    return;
  }
  for (int pass = 0; pass < hals_passes; ++pass) {
    for (std::size_t r = 0; r < n; ++r) {
      long double right = given[r] - static_cast<long double>(l1) / 2;
      for (std::size_t k = 0; k < n; ++k) right -= k == r ? 0.0L : row[k] * system.v[k * n + r];
      if (system.v[r * n + r] > 0) row[r] = std::max(0.0L, right / system.v[r * n + r]);
    }
  }
}

// The threshold of a row on the simplex, by halving.
inline long double simplex_threshold(const Wide& row) {
  long double lower = *std::ranges::max_element(row) - 1;
  long double upper = lower + 1;
  for (int step = 0; step < 80; ++step) {
    const long double middle = (lower + upper) / 2;
    long double sum = 0;
    for (const long double number : row) sum += std::max(0.0L, number - middle);
    (sum > 1 ? lower : upper) = middle;
  }
  return lower;
}

// Row-major R x R.
inline Wide wide_inverse(const std::vector<double>& matrix, std::size_t n) {
  Wide inverse;
  for (std::size_t r = 0; r < n; ++r) {
    Wide unit(n);
    unit[r] = 1;
    const Wide column = solve(matrix, unit);
    inverse.insert(inverse.end(), column.begin(), column.end());
  }
  return inverse;
}

// `inverse` is that of V + rho I.
inline void wide_admm(const Wide& inverse, const RowConstraint& constraint, const double* given, long double* row,
                      long double* dual, std::size_t n) {
  for (int step = 0; step < admm_steps; ++step) {
    Wide t(n);
    for (std::size_t r = 0; r < n; ++r) {
      for (std::size_t k = 0; k < n; ++k) t[r] += inverse[r * n + k] * (given[k] + test_rho * (row[k] + dual[k]));
    }
    Wide moved(n);
    for (std::size_t r = 0; r < n; ++r) moved[r] = t[r] - dual[r];
    const long double threshold = constraint.set == RowSet::simplex ? simplex_threshold(moved) : 0;
    const long double towards_zero = static_cast<long double>(constraint.l1) / (2 * test_rho);
    for (std::size_t r = 0; r < n; ++r) {
      long double x = moved[r] > towards_zero    ? moved[r] - towards_zero
                      : moved[r] < -towards_zero ? moved[r] + towards_zero
                                                 : 0;
      if (constraint.set == RowSet::simplex) x = std::max(0.0L, moved[r] - threshold);
      if (constraint.set == RowSet::box) {
        x = std::clamp(x, static_cast<long double>(constraint.lower), static_cast<long double>(constraint.upper));
      }
      row[r] = x;
      dual[r] += row[r] - t[r];
    }
  }
}

// What |X - M|^2 and the penalty are up to a constant.
inline long double objective(const std::vector<double>& v, const RowConstraint& constraint, const double* given,
                             const Wide& row) {
  long double sum = 0;
  for (std::size_t j = 0; j < row.size(); ++j) {
    sum += constraint.l1 * std::abs(row[j]) - 2 * row[j] * given[j];
    for (std::size_t k = 0; k < row.size(); ++k) sum += row[j] * row[k] * v[j * row.size() + k];
  }
  return sum;
}

// The optimum of a row of three with entries between bounds: the best of all rows where some entries are at a bound or
// at zero and the others solve the system with the penalty's sign.
inline Wide best_between_bounds(const std::vector<double>& v, const RowConstraint& constraint, const double* given) {
  constexpr std::size_t n = 3;
  constexpr long double infinity = std::numeric_limits<long double>::infinity();
  const bool box = constraint.set == RowSet::box;
  const long double lower = box ? constraint.lower : constraint.set == RowSet::nonnegative ? 0 : -infinity;
  const long double upper = box ? constraint.upper : infinity;
  Wide best;
  for (int states = 0; states < 5 * 5 * 5; ++states) {
    std::vector<double> system = v;
    Wide right(n);
    int left = states;
    bool finite = true;
    for (std::size_t r = 0; r < n; ++r, left /= 5) {
      // Free and positive, free and negative, at a bound, at the other, zero.
      const int state = left % 5;
      right[r] = given[r] - (state == 0 ? 0.5L : -0.5L) * constraint.l1;
      if (state < 2) continue;
      for (std::size_t k = 0; k < n; ++k) system[r * n + k] = k == r ? 1 : 0;
      right[r] = state == 2 ? lower : state == 3 ? upper : 0;
      finite = finite && std::isfinite(right[r]);
    }
    if (!finite) continue;
    const Wide row = solve(system, right);
    if (!std::ranges::all_of(row, [&](long double x) { return x >= lower && x <= upper; })) continue;
    if (best.empty() || objective(v, constraint, given, row) < objective(v, constraint, given, best)) best = row;
  }
  return best;
}

// The same on the simplex: some entries are zero, and the others solve the system with a multiplier for their sum.
inline Wide best_on_simplex(const std::vector<double>& v, const double* given) {
  constexpr std::size_t n = 3;
  Wide best;
  for (unsigned support = 1; support < 8; ++support) {
    std::vector<double> system = v;
    Wide right(n);
    Wide ones(n);
    for (std::size_t r = 0; r < n; ++r) {
      if ((support >> r & 1) != 0) {
        right[r] = given[r];
        ones[r] = 1;
      }
      for (std::size_t k = 0; k < n; ++k) {
        if (((support >> r & support >> k) & 1) == 0) system[r * n + k] = k == r ? 1 : 0;
      }
    }
    Wide row = solve(system, right);
    const Wide direction = solve(system, ones);
    const long double multiplier = (row[0] + row[1] + row[2] - 1) / (direction[0] + direction[1] + direction[2]);
    for (std::size_t r = 0; r < n; ++r) row[r] -= multiplier * direction[r];
    if (!std::ranges::all_of(row, [](long double x) { return x >= 0; })) continue;
    if (best.empty() || objective(v, on_simplex, given, row) < objective(v, on_simplex, given, best)) best = row;
  }
  return best;
}

}  // namespace blco::testing
