// Matrices with many rows: pseudo-inverse, orthonormal columns, leading singular vectors. All go by the triangular
// factor of a QR decomposition, block of rows by block, and so are as accurate as the matrix's own singular value
// decomposition: its condition counts once, not squared as in A^T A. I R^2 operations times a small number, on
// up to eight threads, whose number changes no bit. The numbers must be finite.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "blco/executor.hpp"
#include "kernels/stop_poll.hpp"

namespace blco {

// Replaces A, row-major I x R, by (A^+)^T = A (A^T A)^+, where singular values up to 16 R eps of the largest count as
// zero.
void invert_tall(std::span<double> matrix, int rank, Executor& executor);

// Replaces A, row-major I x R with R <= I, by an orthonormal basis Q of its columns, A = Q C with C upper triangular
// and no negative number on its diagonal. Columns that depend on those before them become others, drawn at random,
// always the same. Throws Error{cancelled} once `stop` says so.
void orthonormalise_columns(std::span<double> matrix, int rank, Executor& executor, const StopPoll& stop = {});

// The left singular vectors of the `count` largest singular values of A, row-major I x K, by falling singular value: an
// orthonormal I x count, whose columns are those of orthonormalise_columns beyond the rank of A. In each column the
// number of largest magnitude is positive. Requires count <= I. Throws Error{cancelled} once `stop` says so, which the
// decomposition of the triangular factor does not ask.
std::vector<double> leading_left_vectors(std::span<const double> matrix, int columns, int count, Executor& executor,
                                         const StopPoll& stop = {});

// The angles between the spaces of the columns of two orthonormal matrices, row-major I x `first_columns` and I x
// `second_columns`, in radians and rising; as many as the smaller one has columns (Björck & Golub, Numerical methods
// for computing angles between linear subspaces, Mathematics of Computation 1973). Small ones keep their digits.
std::vector<double> principal_angles(std::span<const double> first, int first_columns, std::span<const double> second,
                                     int second_columns);

// The memory that each of these takes beside a matrix of so many rows and columns, and beside what it returns.
std::uint64_t tall_scratch_bytes(std::uint64_t rows, std::uint64_t columns);

}  // namespace blco
