// The pseudo-inverse of a matrix with many rows, in place.
#pragma once

#include <span>

namespace blco {

// Replaces A, row-major I x R, by (A^+)^T = A (A^T A)^+, where singular values up to 16 R eps of the largest count as
// zero. As accurate as from A's own singular value decomposition: the condition of A counts once, not squared as in
// A^T A. Beside A it takes a few R x R matrices and a block of rows; I R^2 operations times a small number, one thread.
// The numbers must be finite.
void invert_tall(std::span<double> matrix, int rank);

}  // namespace blco
