// Dense work on the device: row updates and Gram matrices by cuBLAS, elementwise work by CUB.
//
// Matrices are row-major with `rank` columns and no padding, which for cuBLAS are column-major ones of `rank` rows. Sum
// is the type of MTTKRP outputs, Factor that of factors; arithmetic and sums are f64 whatever they are. Sizes alone
// decide the order of sums.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/cuda/cublas.hpp"
#include "kernels/cuda/dense_sizes.hpp"
#include "kernels/cuda/staged_transfer.hpp"
#include "kernels/row_solver.hpp"

namespace blco::cuda {

class DenseWork {
 public:
  // Queues all work on `stream`. `scratch` has sizes.bytes of device memory, aligned to 256 bytes; it outlives this
  // object, as do stream and transfer. Throws Error{cuda}, also if cuBLAS is not found.
  DenseWork(const DenseSizes& sizes, void* scratch, Stream& stream, StagedTransfer& transfer);

  // factor = the rows of `output`, solved (RowSolver: forward and back substitution, or times the pseudo-inverse), then
  // divided by the 2-norms of its columns; a zero column stays. Norms and inner product are those of rows not yet
  // rounded to Factor. `gram` receives the new factor's Gram, or becomes empty if rounding has changed the factor.
  // Requires: output and factor differ. The output is overwritten if Sum and Factor differ.
  template <class Sum, class Factor>
  RowUpdate update_rows(Sum* output, std::uint64_t rows, const RowSolver& solver, Factor* factor,
                        std::vector<double>& gram);

  // factor^T factor, R x R.
  template <class Factor>
  std::vector<double> gram(const Factor* factor, std::uint64_t rows);

 private:
  double* at(std::uint64_t offset) const { return scratch_ + offset; }
  std::vector<double> download(std::uint64_t offset, std::uint64_t count);
  void add_gram(const double* slab, std::uint64_t rows) const;
  std::vector<double> finish_gram();
  void solve(bool cholesky, const double* given, std::uint64_t rows, double* made) const;

  DenseSizes sizes_;
  int rank_;
  double* scratch_;
  Stream& stream_;
  StagedTransfer& transfer_;
  Cublas cublas_;
};

// output[i] += sum over c of copies[c * count + i], copies in ascending order.
template <class Sum>
void merge_copies(Sum* output, const Sum* copies, int copy_count, std::uint64_t count, cudaStream_t stream);

}  // namespace blco::cuda
