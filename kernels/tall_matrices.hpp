// Matrices with many rows: pseudo-inverse, orthonormal columns, leading singular vectors. All go by the triangular
// factor of a QR decomposition, block of rows by block, and so are as accurate as the matrix's own singular value
// decomposition: its condition counts once, not squared as in A^T A. I R^2 operations times a small number, on
// up to eight threads, whose number changes no bit. The numbers must be finite.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "blco/executor.hpp"
#include "kernels/stop_poll.hpp"

namespace blco {

// Replaces A, row-major I x R, by (A^+)^T = A (A^T A)^+, where singular values up to 16 R eps of the largest count as
// zero.
void invert_tall(std::span<double> matrix, int rank, Executor& executor);

// Of two numbers, the one of larger magnitude: the first of two alike, or the first that is not a number.
inline double peak_of(double first, double second) {
  return !std::isnan(first) && !(std::abs(second) <= std::abs(first)) ? second : first;
}

// A matrix of I rows and R columns, wherever its rows lie: in one piece of memory, or at several workers.
class TallMatrix {
 public:
  virtual ~TallMatrix() = default;

  // Of each column the number of largest magnitude: of several, that of the first row; or one that is not a number.
  virtual std::vector<double> peaks() const = 0;
  // F of A = Q F, row-major R x R and upper triangular.
  virtual std::vector<double> triangle() const = 0;
  // Replaces A by A F^-1, for such an F.
  virtual void solve(std::span<const double> triangle) = 0;
  virtual void divide_columns(std::span<const double> divisors) = 0;
  // Sets a column to random numbers, always the same.
  virtual void draw_column(int column) = 0;
};

// Rows in memory, row-major, from row `first_row` of the matrix on. triangle(), solve() and multiply() throw
// Error{cancelled} once `stop` says so.
class TallRows final : public TallMatrix {
 public:
  TallRows(std::span<double> numbers, int columns, Executor& executor, StopPoll stop = {}, std::uint64_t first_row = 0)
      : numbers_(numbers), columns_(columns), executor_(&executor), stop_(std::move(stop)), first_row_(first_row) {}

  std::vector<double> peaks() const override;
  std::vector<double> triangle() const override;
  void solve(std::span<const double> triangle) override;
  void divide_columns(std::span<const double> divisors) override;
  void draw_column(int column) override;

  // Sets `to`, row-major I x `columns`, to A times `right`, R x `columns`.
  void multiply(std::span<const double> right, int columns, std::span<double> to) const;

 private:
  std::span<double> numbers_;
  int columns_;
  Executor* executor_;
  StopPoll stop_;
  std::uint64_t first_row_;
};

// product += A^T B for A row-major I x `columns` and B row-major I x `width`; product is `columns` x `width`. Throws
// Error{cancelled} once `stop` says so.
void add_transposed_product(std::span<const double> a, std::uint64_t columns, std::span<const double> b,
                            std::uint64_t width, std::span<double> product, Executor& executor,
                            const StopPoll& stop = {});

// The triangle of the rows of two matrices, one below the other, from those of each.
std::vector<double> join_triangles(std::span<const double> first, std::span<const double> second);

// Replaces A with R <= I by an orthonormal basis Q of its columns, A = Q C with C upper triangular and no negative
// number on its diagonal. Columns that depend on those before them become others, drawn at random.
void orthonormalise_columns(TallMatrix& matrix);
void orthonormalise_columns(std::span<double> matrix, int rank, Executor& executor, const StopPoll& stop = {});

// The left singular vectors of the `count` largest singular values of A, row-major I x K, by falling singular value: an
// orthonormal I x count, whose columns are those of orthonormalise_columns beyond the rank of A. In each column the
// number of largest magnitude is positive. Requires count <= I. Throws Error{cancelled} once `stop` says so, which the
// decomposition of the triangular factor does not ask.
std::vector<double> leading_left_vectors(std::span<const double> matrix, int columns, int count, Executor& executor,
                                         const StopPoll& stop = {});
// The same of A with K <= I in two steps: A times this, row-major K x count, for its triangle, spans the vectors, which
// settle_left_vectors() then makes of that product.
std::vector<double> maker_of_left_vectors(std::span<const double> triangle, int count);
void settle_left_vectors(TallMatrix& product);

// The angles between the spaces of the columns of two orthonormal matrices, row-major I x `first_columns` and I x
// `second_columns`, in radians and rising; as many as the smaller one has columns (Björck & Golub, Numerical methods
// for computing angles between linear subspaces, Mathematics of Computation 1973). Small ones keep their digits.
std::vector<double> principal_angles(std::span<const double> first, int first_columns, std::span<const double> second,
                                     int second_columns);

// The memory that each of these takes beside a matrix of so many rows and columns, and beside what it returns.
std::uint64_t tall_scratch_bytes(std::uint64_t rows, std::uint64_t columns);

}  // namespace blco
