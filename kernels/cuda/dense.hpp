// Launchers of the dense part: row updates, Gram matrices, merges. All queue work on `stream` and return at once; all
// matrices are in device memory, row-major with `rank` columns and no padding. rows and rank are at least 1. Sums run
// in an order that the sizes alone decide. `scratch` has dense_scratch_bytes(rows, rank), aligned to 16 bytes.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/dense_sizes.hpp"

namespace blco::cuda {

// The R x R matrices of a RowSolver, on the device. lower is null for the pseudo-inverse.
struct SolverView {
  const double* matrix = nullptr;
  const double* lower = nullptr;
};

// factor = the rows of `output` solved (RowSolver: forward and back substitution, or times the pseudo-inverse), not
// normalised yet. sums[r], r < rank: the square of the 2-norm of column r; sums[rank]: <output, factor>. Precision and
// sums are f64 whatever Real; the sums are of the rows before they are rounded to Real. output and factor differ.
template <class Real>
void solve_rows(const Real* output, std::uint64_t rows, int rank, const SolverView& solver, Real* factor, double* sums,
                void* scratch, cudaStream_t stream);

// Columns of `factor` divided by sqrt(sums[r]); a column whose sum is zero stays.
template <class Real>
void normalise_columns(Real* factor, std::uint64_t rows, int rank, const double* sums, cudaStream_t stream);

// result = factor^T factor, rank x rank, both triangles; products and sums in f64.
template <class Real>
void gram(const Real* factor, std::uint64_t rows, int rank, double* result, void* scratch, cudaStream_t stream);

// output[i] += sum over c of copies[c * count + i], copies in ascending order.
template <class Real>
void merge_copies(Real* output, const Real* copies, int copy_count, std::uint64_t count, cudaStream_t stream);

}  // namespace blco::cuda
