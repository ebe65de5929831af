// The steps of methods over all rows of a factor (kernels/row_steps.hpp) in device memory, by CUB.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cuda/device_sizes.hpp"
#include "kernels/cuda/staged_transfer.hpp"
#include "kernels/row_steps.hpp"

namespace blco::cuda {

// Of B and Phi, see AprStep: what the steps of APR read and write, number by number.
template <class Sum, class Factor>
struct AprRows {
  const Sum* output;
  Factor* factor;
  std::uint64_t numbers;
  std::uint64_t columns;
  const double* weights;
  const double* held_sums;  // nullptr: all 1
  double kappa;
  double kappa_tolerance;
  double tolerance;
};

// The steps of Factors of these names. Matrices are as in dense.hpp, Sum and Factor too; arithmetic and sums are f64,
// and sizes alone decide the order of sums.
class DeviceSteps {
 public:
  // Queues all work on `stream`. `scratch` is that of DenseWork, of which this uses parts that lie idle between calls;
  // it outlives this object, as do stream and transfer. Functions throw Error{cuda}.
  DeviceSteps(const DenseSizes& sizes, void* scratch, Stream& stream, StagedTransfer& transfer);

  template <class Factor>
  std::vector<double> column_sums(const Factor* factor, std::uint64_t rows);
  template <class Factor>
  void scale_columns(Factor* factor, std::uint64_t rows, std::span<const double> scales,
                     std::span<const double> shifts);
  template <class Factor>
  void raise_to_zero(Factor* factor, std::uint64_t rows);

  template <class Sum, class Factor>
  AprViolation apr_measure(const Sum* output, Factor* factor, std::uint64_t rows, const AprStep& step);
  template <class Sum, class Factor>
  void apr_free_zeros(const Sum* output, Factor* factor, std::uint64_t rows, const AprStep& step);
  template <class Sum, class Factor>
  void apr_multiply(const Sum* output, Factor* factor, std::uint64_t rows, const AprStep& step);

 private:
  double* at(std::uint64_t offset) const { return scratch_ + offset; }
  std::uint64_t threads_of_columns(std::uint64_t rows) const;
  const double* upload(std::span<const double> columns, std::uint64_t offset);
  std::vector<double> download(std::uint64_t count);
  template <class Sum, class Factor>
  AprRows<Sum, Factor> apr_rows(const Sum* output, Factor* factor, std::uint64_t rows, const AprStep& step);

  DenseSizes sizes_;
  double* scratch_;
  Stream& stream_;
  StagedTransfer& transfer_;
};

}  // namespace blco::cuda
