// The small matrices of L-BFGS-B: what the Hessian and its part for the free numbers are made of.
//
// Byrd, Lu, Nocedal & Zhu, A Limited Memory Algorithm for Bound Constrained Optimization, SIAM J. Sci. Comput. 1995:
// B = theta I - W M W', where the columns of W are the last steps s and changes y of the gradient (section 3).
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "kernels/lbfgs_numbers.hpp"

namespace blco {

class CompactHessian {
 public:
  static constexpr std::size_t most_pairs = lbfgs_pairs;
  static constexpr std::size_t most_columns = lbfgs_columns;
  // Of each column with three vectors.
  using Products = std::array<double, 3 * most_columns>;
  // Per column of W, in the order in which they lie in memory: s and y of the first slot, of the second one, ...
  using Coefficients = std::array<double, most_columns>;

  std::size_t pairs() const { return pairs_; }
  double theta() const { return theta_; }
  void forget();
  // Where the next pair goes: the first free slot, or that of the oldest pair.
  std::size_t next_slot() const { return pairs_ < most_pairs ? pairs_ : head_; }

  // Adds the pair that now is in next_slot(), by products with its s and its y; `curvature` is s'y. False if the
  // Hessian is not positive definite any more.
  bool add(const Products& products, double curvature);
  // Of the newest pair, if there is a new one: products with s where numbers are held, and with y where they are free.
  // `changes` has a product of each two columns, over the numbers that are free now, less that over those that were.
  void restrict_to_free(const Products& products, std::span<const double> changes, bool has_new_pair);
  // The same, where all are free: by the products of add().
  void free_all(const Products& products);
  // Factors the system below. False if it is singular.
  bool factor_reduced();

  // M v, and K^-1 v, where K = M^-1 - Z'W'W Z / theta and Z are the free numbers: B's inverse for these is
  // I / theta + W K^-1 W' / theta^2.
  Coefficients middle(const Coefficients& v) const;
  Coefficients reduced(const Coefficients& v) const { return solve(reduced_, v); }

 private:
  struct Matrix {
    std::array<double, most_pairs * most_pairs> numbers{};
    double& at(std::size_t i, std::size_t j) { return numbers[i * most_pairs + j]; }
    double at(std::size_t i, std::size_t j) const { return numbers[i * most_pairs + j]; }
  };
  // [-P Q'; Q T], where P and T are symmetric: by Cholesky factors of P and of T + Q P^-1 Q'.
  struct System {
    Matrix p;
    Matrix q;
    Matrix t;
    bool factor(std::size_t size);
  };

  std::size_t slot(std::size_t pair) const {
    const std::size_t at = head_ + pair;
    return at < most_pairs ? at : at - most_pairs;
  }
  Coefficients solve(const System& system, const Coefficients& v) const;

  std::size_t pairs_ = 0;
  std::size_t head_ = 0;  // the slot of the oldest pair
  double theta_ = 1;
  // All by age: the oldest pair first.
  Matrix s_s_;
  Matrix s_y_;
  Matrix free_y_y_;
  Matrix held_s_s_;
  Matrix parted_s_y_;                                // over held numbers where s is younger than y, else over free ones
  std::array<Coefficients, most_columns> middle_{};  // M
  System reduced_;
};

}  // namespace blco
