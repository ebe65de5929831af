// Dense work on the device: row updates and Gram matrices by cuBLAS, elementwise work by CUB.
//
// Matrices are row-major with `rank` columns and no padding, which for cuBLAS are column-major ones of `rank` rows. Sum
// is the type of MTTKRP outputs, Factor that of factors; arithmetic and sums are f64 whatever they are. Sizes alone
// decide the order of sums.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/cuda/cublas.hpp"
#include "kernels/cuda/device_sizes.hpp"
#include "kernels/cuda/staged_transfer.hpp"
#include "kernels/row_solver.hpp"

namespace blco::cuda {

// Device memory that constrained updates start from. Each may be that of the new numbers.
template <class Factor>
struct OldDeviceRows {
  const Factor* factor = nullptr;
  const Factor* dual = nullptr;  // ADMM only
  Factor* new_dual = nullptr;    // ADMM only
};

class DenseWork {
 public:
  // Queues all work on `stream`. `scratch` has sizes.bytes of device memory, aligned to 256 bytes; it outlives this
  // object, as do stream and transfer. Throws Error{cuda}, also if cuBLAS is not found.
  DenseWork(const DenseSizes& sizes, void* scratch, Stream& stream, StagedTransfer& transfer);

  // factor = the solution of `problem` for the rows of `output`, for least squares by forward and back substitution or
  // times the pseudo-inverse: see Steps::solve_rows. Sums are those of rows not yet rounded to Factor, and so is the
  // solution's Gram, which `gram` receives.
  // Requires: output and factor differ. The output has the solution instead of the factor if Sum and Factor differ.
  template <class Sum, class Factor>
  SolvedRows solve_rows(Sum* output, std::uint64_t rows, const RowProblem& problem, const OldDeviceRows<Factor>& old,
                        Factor* factor, std::vector<double>& gram);
  // Divides the columns of that solution: see Steps::scale_rows. `filling` goes into columns whose divisor is 0. `gram`
  // becomes that of the factor, or empty if rounding or filling has changed the factor.
  template <class Sum, class Factor>
  void scale_rows(const Sum* output, std::uint64_t rows, std::span<const double> divisors, double filling,
                  Factor* factor, std::vector<double>& gram);

  // factor^T factor, R x R.
  template <class Factor>
  std::vector<double> gram(const Factor* factor, std::uint64_t rows);

 private:
  double* at(std::uint64_t offset) const { return scratch_ + offset; }
  std::vector<double> download(std::uint64_t offset, std::uint64_t count);
  void add_gram(const double* slab, std::uint64_t rows) const;
  std::vector<double> finish_gram();
  void upload_system(const RowProblem& problem);
  void solve(bool cholesky, const double* given, std::uint64_t rows, double* made) const;
  void run_hals(const RowProblem& problem, const double* given, std::uint64_t rows, double* made) const;
  void run_admm(const RowProblem& problem, const double* given, std::uint64_t rows, double* made, double* dual) const;
  template <class Factor>
  void solve_slab(const RowProblem& problem, const double* given, const OldDeviceRows<Factor>& old, std::uint64_t first,
                  std::uint64_t count, double* made) const;
  // Where the factor is less exact than the output, rows wait there until they are scaled, and are rounded once.
  template <class Sum, class Factor>
  static constexpr bool waits = !std::is_same_v<Sum, Factor>;

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
