// Launchers of the dense kernels: row updates, Gram matrices, merges. Each queues work on `stream` and returns at once.
// Matrices are in device memory, row-major with `rank` columns and no padding; rows and rank are at least 1. Sizes
// alone decide the order of sums. `scratch` has dense_scratch_bytes(rows, rank), aligned to 16 bytes.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/dense_sizes.hpp"

namespace blco::cuda {

// The R x R matrices of a RowSolver, on the device. `lower` is null for the pseudo-inverse.
struct SolverView {
  const double* matrix = nullptr;
  const double* lower = nullptr;
};

// factor = the rows of `output`, solved (RowSolver: forward and back substitution, or times the pseudo-inverse), not
// yet normalised. sums[r] for r < rank is the squared 2-norm of column r; sums[rank] is <output, factor>. Arithmetic
// and sums are f64 whatever Real is; the sums are taken before rows are rounded to Real. Requires: output and factor
// differ.
template <class Real>
void solve_rows(const Real* output, std::uint64_t rows, int rank, const SolverView& solver, Real* factor, double* sums,
                void* scratch, cudaStream_t stream);

// Divides the columns of `factor` by sqrt(sums[r]); a column whose sum is zero stays.
template <class Real>
void normalise_columns(Real* factor, std::uint64_t rows, int rank, const double* sums, cudaStream_t stream);

// result = factor^T factor, rank x rank, both triangles; products and sums in f64.
template <class Real>
void gram(const Real* factor, std::uint64_t rows, int rank, double* result, void* scratch, cudaStream_t stream);

// output[i] += sum over c of copies[c * count + i], copies in ascending order.
template <class Real>
void merge_copies(Real* output, const Real* copies, int copy_count, std::uint64_t count, cudaStream_t stream);

}  // namespace blco::cuda
