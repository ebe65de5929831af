// The steps of methods over rows of a factor (kernels/row_steps.hpp) in device memory, by CUB.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/cuda/device_memory.hpp"
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

// A vector of a method: in device memory, or in pinned memory of the host, which kernels reach by the same address.
class DeviceVector {
 public:
  DeviceVector(std::uint64_t numbers, bool on_device) : size_(numbers) {
    if (on_device) {
      device_ = DeviceBuffer(numbers * sizeof(double), "a vector of the method");
    } else {
      pinned_ = std::make_unique<PinnedBuffer>(numbers * sizeof(double));
    }
  }

  // Before any work uses it.
  void clear(Stream& stream) {
    if (!on_device()) std::fill_n(data(), size_, 0.0);
    if (on_device()) fill_zero(data(), device_.bytes(), stream.get());
  }

  double* data() const { return pinned_ ? pinned_->as<double>() : device_.as<double>(); }
  std::uint64_t size() const { return size_; }
  bool on_device() const { return pinned_ == nullptr; }

 private:
  std::uint64_t size_;
  DeviceBuffer device_;
  std::unique_ptr<PinnedBuffer> pinned_;
};

// Of one mode: what conjugate gradients and Adam read and write, row by row. The vectors are the method's first two.
template <class Sum, class Factor>
struct VectorRows {
  const Sum* output;
  Factor* factor;
  double* first;
  double* second;
  std::uint64_t rows;
};

// The functions of Steps of these names. Matrices are as in dense.hpp, Sum and Factor too; arithmetic and sums are f64,
// and sizes alone decide the order of sums.
template <class Sum, class Factor>
class DeviceSteps {
 public:
  // Queues all work on `stream`. `scratch` is that of DenseWork, of which this uses parts that lie idle between calls;
  // it outlives this object, as do stream and transfer. Functions throw Error{cuda}.
  DeviceSteps(const DenseSizes& sizes, void* scratch, Stream& stream, StagedTransfer& transfer);

  std::vector<double> column_sums(const Factor* factor, std::uint64_t rows, bool squared = false);
  void scale_columns(Factor* factor, std::uint64_t rows, std::span<const double> scales,
                     std::span<const double> shifts);
  void raise_to_zero(Factor* factor, std::uint64_t rows);
  // Returns no sums.
  void extrapolate(Factor* factor, double* vector, std::uint64_t rows, const Extrapolation& step);

  AprViolation apr_measure(const Sum* output, Factor* factor, std::uint64_t rows, const AprStep& step);
  void apr_free_zeros(const Sum* output, Factor* factor, std::uint64_t rows, const AprStep& step);
  void apr_multiply(const Sum* output, Factor* factor, std::uint64_t rows, const AprStep& step);

  void cg_begin(const VectorRows<Sum, Factor>& rows, const CgStep& step);
  void cg_step(const VectorRows<Sum, Factor>& rows, const CgStep& step);
  double cg_end(const double* solution, Factor* factor, std::uint64_t rows);
  void adam_step(const VectorRows<Sum, Factor>& rows, const AdamStep& step);

 private:
  template <class Number>
  std::vector<double> sum_columns(const Number* numbers, std::uint64_t rows, bool squared);
  double* at(std::uint64_t offset) const { return scratch_ + offset; }
  std::uint64_t threads_of_columns(std::uint64_t rows) const;
  const double* upload(std::span<const double> columns, std::uint64_t offset);
  std::vector<double> download(std::uint64_t count);
  AprRows<Sum, Factor> apr_rows(const Sum* output, Factor* factor, std::uint64_t rows, const AprStep& step);

  DenseSizes sizes_;
  double* scratch_;
  Stream& stream_;
  StagedTransfer& transfer_;
};

// Scattered rows of a matrix: into them or, with `adds`, to them; and from them.
template <class Number>
void put_rows(const ScatteredRows& rows, Number* matrix, bool adds, const Stream& stream);
template <class Number>
void get_rows(const ScatteredRows& rows, const Number* matrix, const Stream& stream);

// Between factors and vectors.
template <class From, class To>
void copy_numbers(const From* from, To* to, std::uint64_t numbers, const Stream& stream);

}  // namespace blco::cuda
