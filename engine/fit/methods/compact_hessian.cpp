#include "engine/fit/methods/compact_hessian.hpp"

#include <algorithm>
#include <cmath>

namespace blco {
namespace {

constexpr std::size_t stride = CompactHessian::most_pairs;

std::size_t s_of(std::size_t slot) { return 2 * slot; }
std::size_t y_of(std::size_t slot) { return 2 * slot + 1; }

// L with A = L L', in the lower triangle. False if A is not positive definite.
bool factor_cholesky(double* a, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double rest = a[i * stride + j];
      for (std::size_t k = 0; k < j; ++k) rest -= a[i * stride + k] * a[j * stride + k];
      if (i == j && !(rest > 0)) return false;
      a[i * stride + j] = i == j ? std::sqrt(rest) : rest / a[j * stride + j];
    }
  }
  return true;
}

// x = L^-1 x, or L'^-1 x.
void solve_lower(const double* l, std::size_t size, double* x) {
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t k = 0; k < i; ++k) x[i] -= l[i * stride + k] * x[k];
    x[i] /= l[i * stride + i];
  }
}
void solve_upper(const double* l, std::size_t size, double* x) {
  for (std::size_t i = size; i-- > 0;) {
    x[i] /= l[i * stride + i];
    for (std::size_t k = 0; k < i; ++k) x[k] -= l[i * stride + k] * x[i];
  }
}

}  // namespace

void CompactHessian::forget() {
  pairs_ = 0;
  head_ = 0;
  theta_ = 1;
}

bool CompactHessian::System::factor(std::size_t size) {
  if (!factor_cholesky(p.numbers.data(), size)) return false;
  for (std::size_t i = 0; i < size; ++i) solve_lower(p.numbers.data(), size, &q.at(i, 0));
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      for (std::size_t k = 0; k < size; ++k) t.at(i, j) += q.at(i, k) * q.at(j, k);
    }
  }
  return factor_cholesky(t.numbers.data(), size);
}

// In terms of W = [Y theta S], as in the paper.
CompactHessian::Coefficients CompactHessian::solve(const System& system, const Coefficients& v) const {
  std::array<double, most_pairs> a{};
  std::array<double, most_pairs> b{};
  for (std::size_t i = 0; i < pairs_; ++i) {
    a[i] = v[y_of(slot(i))];
    b[i] = theta_ * v[s_of(slot(i))];
  }
  solve_lower(system.p.numbers.data(), pairs_, a.data());
  for (std::size_t i = 0; i < pairs_; ++i) {
    for (std::size_t k = 0; k < pairs_; ++k) b[i] += system.q.at(i, k) * a[k];
  }
  solve_lower(system.t.numbers.data(), pairs_, b.data());
  solve_upper(system.t.numbers.data(), pairs_, b.data());
  for (std::size_t i = 0; i < pairs_; ++i) a[i] = -a[i];
  for (std::size_t k = 0; k < pairs_; ++k) {
    for (std::size_t i = 0; i < pairs_; ++i) a[i] += system.q.at(k, i) * b[k];
  }
  solve_upper(system.p.numbers.data(), pairs_, a.data());
  Coefficients solution{};
  for (std::size_t i = 0; i < pairs_; ++i) {
    solution[y_of(slot(i))] = a[i];
    solution[s_of(slot(i))] = theta_ * b[i];
  }
  return solution;
}

bool CompactHessian::add(const Products& products, double curvature) {
  if (pairs_ < most_pairs) {
    ++pairs_;
  } else {
    head_ = (head_ + 1) % most_pairs;
    for (Matrix* matrix : {&s_s_, &s_y_, &free_y_y_, &held_s_s_, &parted_s_y_}) {
      std::copy(matrix->numbers.begin() + most_pairs + 1, matrix->numbers.end(), matrix->numbers.begin());
    }
  }
  const std::size_t last = pairs_ - 1;
  for (std::size_t j = 0; j < pairs_; ++j) {
    s_s_.at(last, j) = products[3 * s_of(slot(j))];
    s_y_.at(last, j) = products[3 * y_of(slot(j))];
  }
  s_y_.at(last, last) = curvature;
  theta_ = products[3 * y_of(slot(last)) + 1] / curvature;
  System inverse;
  for (std::size_t i = 0; i < pairs_; ++i) {
    for (std::size_t j = 0; j < pairs_; ++j) {
      inverse.p.at(i, j) = i == j ? s_y_.at(i, i) : 0;
      inverse.q.at(i, j) = i > j ? s_y_.at(i, j) : 0;
      inverse.t.at(i, j) = i >= j ? theta_ * s_s_.at(i, j) : 0;
    }
  }
  if (!inverse.factor(pairs_)) return false;
  for (std::size_t k = 0; k < most_columns; ++k) {
    Coefficients unit{};
    unit[k] = 1;
    middle_[k] = solve(inverse, unit);
  }
  return true;
}

CompactHessian::Coefficients CompactHessian::middle(const Coefficients& v) const {
  Coefficients sum{};
  for (std::size_t k = 0; k < 2 * pairs_; ++k) {
    for (std::size_t j = 0; j < most_columns; ++j) sum[j] += v[k] * middle_[k][j];
  }
  return sum;
}

void CompactHessian::restrict_to_free(const Products& products, std::span<const double> changes, bool has_new_pair) {
  const std::size_t old = has_new_pair ? pairs_ - 1 : pairs_;
  const auto change = [&](std::size_t a, std::size_t b) {
    return changes[std::max(a, b) * most_columns + std::min(a, b)];
  };
  for (std::size_t i = 0; i < old; ++i) {
    for (std::size_t j = 0; j < old; ++j) {
      free_y_y_.at(i, j) += change(y_of(slot(i)), y_of(slot(j)));
      held_s_s_.at(i, j) -= change(s_of(slot(i)), s_of(slot(j)));
      parted_s_y_.at(i, j) += (i > j ? -1 : 1) * change(s_of(slot(i)), y_of(slot(j)));
    }
  }
  if (!has_new_pair) return;
  for (std::size_t j = 0; j < pairs_; ++j) {
    const std::size_t s = 3 * s_of(slot(j));
    const std::size_t y = 3 * y_of(slot(j));
    free_y_y_.at(old, j) = free_y_y_.at(j, old) = products[y + 1];
    held_s_s_.at(old, j) = held_s_s_.at(j, old) = products[s];
    parted_s_y_.at(old, j) = products[y];
    parted_s_y_.at(j, old) = products[s + 1];
  }
}

void CompactHessian::free_all(const Products& products) {
  Products free = products;
  for (std::size_t i = 0; i < free.size(); i += 3) free[i] = 0;
  restrict_to_free(free, std::array<double, most_columns * most_columns>{}, true);
}

bool CompactHessian::factor_reduced() {
  for (std::size_t i = 0; i < pairs_; ++i) {
    for (std::size_t j = 0; j < pairs_; ++j) {
      reduced_.p.at(i, j) = (i == j ? s_y_.at(i, i) : 0) + free_y_y_.at(i, j) / theta_;
      reduced_.q.at(i, j) = (i > j ? 1 : -1) * parted_s_y_.at(i, j);
      reduced_.t.at(i, j) = theta_ * held_s_s_.at(i, j);
    }
  }
  return reduced_.factor(pairs_);
}

}  // namespace blco
