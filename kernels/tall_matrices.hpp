// Matrices with many rows: pseudo-inverse, orthonormal columns, leading singular vectors. All go by the triangular
// factor of a QR decomposition, block of rows by block, and so are as accurate as the matrix's own singular value
// decomposition: its condition counts once, not squared as in A^T A. Beside the matrix they take a few squares of its
// columns and a block of rows; I R^2 operations times a small number, one thread. The numbers must be finite.
#pragma once

#include <span>
#include <vector>

namespace blco {

// Replaces A, row-major I x R, by (A^+)^T = A (A^T A)^+, where singular values up to 16 R eps of the largest count as
// zero.
void invert_tall(std::span<double> matrix, int rank);

// Replaces A, row-major I x R with R <= I, by an orthonormal basis Q of its columns, A = Q C with C upper triangular
// and no negative number on its diagonal. Columns that depend on those before them become others, drawn at random,
// always the same.
void orthonormalise_columns(std::span<double> matrix, int rank);

// The left singular vectors of the `count` largest singular values of A, row-major I x K, by falling singular value: an
// orthonormal I x count, whose columns are those of orthonormalise_columns beyond the rank of A. In each column the
// number of largest magnitude is positive. Requires count <= I.
std::vector<double> leading_left_vectors(std::span<const double> matrix, int columns, int count);

}  // namespace blco
