// The pseudo-inverse of a matrix with many rows, which are seen a block at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace blco {

// A is I x R. First add its rows; then rows of (A^+)^T = A (A^T A)^+ can be had. By a QR decomposition of the blocks
// and the singular values of its R x R factor, so that the condition of A counts once, not squared as in A^T A. Memory:
// a few R x R matrices and a block of rows.
class TallInverse {
 public:
  explicit TallInverse(int rank);
  ~TallInverse();
  TallInverse(const TallInverse&) = delete;
  TallInverse& operator=(const TallInverse&) = delete;

  // Whole rows, row-major, in any number of calls. The numbers must be finite.
  void add_rows(std::span<const double> rows);
  // No rows may follow. Singular values up to 16 R eps of the largest count as zero.
  void finish();
  // Replaces rows of A by those of (A^+)^T.
  void invert_rows(std::span<double> rows) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace blco
