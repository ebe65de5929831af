// Each step is one operation of cub::DeviceFor.
#include <algorithm>
#include <cub/device/device_for.cuh>
#include <numeric>

#include "kernels/cuda/device_steps.hpp"

namespace blco::cuda {
namespace {

// The sum of a column, or of its squares, over one of `parts` parts of the rows: a thread for each part and column.
template <class Number>
struct SumColumns {
  __device__ void operator()(std::uint64_t i) const {
    const std::uint64_t part = i / columns;
    const std::uint64_t end = rows * (part + 1) / parts;
    double sum = 0;
    for (std::uint64_t row = rows * part / parts; row < end; ++row) {
      const auto number = static_cast<double>(numbers[row * columns + i % columns]);
      sum += squared ? number * number : number;
    }
    sums[i] = sum;
  }
  const Number* numbers;
  bool squared;
  std::uint64_t rows;
  std::uint64_t columns;
  std::uint64_t parts;
  double* sums;
};

template <class Factor>
struct ScaleColumns {
  __device__ void operator()(std::uint64_t i) const {
    const double scaled = static_cast<double>(factor[i]) * scales[i % columns];
    factor[i] = static_cast<Factor>(shifts != nullptr ? scaled + shifts[i % columns] : scaled);
  }
  Factor* factor;
  const double* scales;
  const double* shifts;  // nullptr: none
  std::uint64_t columns;
};

template <class Factor>
struct RaiseToZero {
  __device__ void operator()(std::uint64_t i) const {
    if (factor[i] < 0) factor[i] = 0;
  }
  Factor* factor;
};

template <class Factor>
struct Extrapolate {
  __device__ void operator()(std::uint64_t i) const {
    extrapolate_number(of_factor[i % columns], of_vector[i % columns], nonnegative, factor[i], vector[i]);
  }
  Factor* factor;
  double* vector;
  const double* of_factor;
  const double* of_vector;
  bool nonnegative;
  std::uint64_t columns;
};

// One number of B and of Phi.
struct AprNumber {
  template <class Sum, class Factor>
  __device__ AprNumber(const AprRows<Sum, Factor>& rows, std::uint64_t i, std::uint64_t column)
      : b(static_cast<double>(rows.factor[i])),
        phi(static_cast<double>(rows.output[i])),
        size(b),
        scale(apr_scale(rows.weights[column])) {
    if (rows.held_sums != nullptr) {
      const double sum = rows.held_sums[column];
      phi = sum > 0 ? phi / sum : 0;
      size = b * sum;
    }
    is_stuck = blco::is_stuck(b, phi, rows.kappa_tolerance * scale, rows.tolerance);
  }

  __device__ double violation() const {
    const double least = 1 - phi < size ? 1 - phi : size;
    return least < 0 ? -least : least;
  }

  double b;
  double phi;
  double size;  // b, of which a violation is measured
  double scale;
  bool is_stuck = false;
};

// Each thread takes every threads-th number, all of one column. A maximum does not depend on its order, and numbers
// that are not negative are ordered as their bits are.
template <class Sum, class Factor>
struct AprMeasure {
  __device__ void operator()(std::uint64_t thread) const {
    double largest = 0;
    bool has_stuck = false;
    for (std::uint64_t i = thread; i < rows.numbers; i += threads) {
      const AprNumber number(rows, i, thread % rows.columns);
      const double violation = number.violation();
      if (largest < violation) largest = violation;
      has_stuck = has_stuck || number.is_stuck;
    }
    atomicMax(found, static_cast<unsigned long long>(__double_as_longlong(largest)));
    if (has_stuck) atomicMax(found + 1, static_cast<unsigned long long>(__double_as_longlong(1.0)));
  }
  AprRows<Sum, Factor> rows;
  std::uint64_t threads;
  unsigned long long* found;  // the largest violation, and whether there is a stuck zero
};

template <class Sum, class Factor>
struct AprFreeZeros {
  __device__ void operator()(std::uint64_t i) const {
    const AprNumber number(rows, i, i % rows.columns);
    if (number.is_stuck) rows.factor[i] = static_cast<Factor>(number.b + rows.kappa * number.scale);
  }
  AprRows<Sum, Factor> rows;
};

template <class Sum, class Factor>
struct AprMultiply {
  __device__ void operator()(std::uint64_t i) const {
    const AprNumber number(rows, i, i % rows.columns);
    rows.factor[i] = static_cast<Factor>(number.b * number.phi);
  }
  AprRows<Sum, Factor> rows;
};

template <class From, class To>
struct Copy {
  __device__ void operator()(std::uint64_t i) const { to[i] = static_cast<To>(from[i]); }
  const From* from;
  To* to;
};

// Of scattered rows, number by number.
template <class Number>
struct PutRows {
  __device__ void operator()(std::uint64_t i) const {
    Number& to = matrix[rows.listed[i / rows.columns] * rows.columns + i % rows.columns];
    to = static_cast<Number>(adds ? static_cast<double>(to) + rows.numbers[i] : rows.numbers[i]);
  }
  ScatteredRows rows;
  Number* matrix;
  bool adds;
};

template <class Number>
struct GetRows {
  __device__ void operator()(std::uint64_t i) const {
    const Number* const row = matrix + rows.listed[i / rows.columns] * rows.columns;
    rows.numbers[i] = static_cast<double>(row[i % rows.columns]);
  }
  ScatteredRows rows;
  const Number* matrix;
};

// Conjugate gradients, of a row each, with `columns` columns.
template <class Sum, class Factor>
struct BeginCg {
  __device__ void operator()(std::uint64_t row) const {
    const std::uint64_t at = row * columns;
    cg_begin_row(step, centre, columns, rows.output + at, rows.factor + at, rows.first + at, rows.second + at);
  }
  VectorRows<Sum, Factor> rows;
  std::uint64_t columns;
  CgStep step;
  const double* centre;
};

template <class Sum, class Factor>
struct TakeCgStep {
  __device__ void operator()(std::uint64_t row) const {
    const std::uint64_t at = row * columns;
    cg_step_row(step, columns, rows.output + at, rows.factor + at, rows.first + at, rows.second + at);
  }
  VectorRows<Sum, Factor> rows;
  std::uint64_t columns;
  CgStep step;
};

template <class Sum, class Factor>
struct TakeAdamStep {
  __device__ void operator()(std::uint64_t row) const {
    const std::uint64_t at = row * columns;
    adam_row(step, rates, columns, rows.output + at, rows.factor + at, rows.first + at, rows.second + at);
  }
  VectorRows<Sum, Factor> rows;
  std::uint64_t columns;
  AdamStep step;
  const double* rates;
};

}  // namespace

template <class Sum, class Factor>
DeviceSteps<Sum, Factor>::DeviceSteps(const DenseSizes& sizes, void* scratch, Stream& stream, StagedTransfer& transfer)
    : sizes_(sizes), scratch_(static_cast<double*>(scratch)), stream_(stream), transfer_(transfer) {}

// A multiple of R: enough to fill a device, and so few that a number for each fits the workspace of cuBLAS.
template <class Sum, class Factor>
std::uint64_t DeviceSteps<Sum, Factor>::threads_of_columns(std::uint64_t rows) const {
  constexpr std::uint64_t enough = std::uint64_t{1} << 16;
  constexpr std::uint64_t least_rows = 16;
  const std::uint64_t room = std::min(enough, sizes_.workspace_bytes / sizeof(double));
  return std::clamp<std::uint64_t>(rows / least_rows, 1, room / sizes_.columns) * sizes_.columns;
}

// Numbers of columns; nullptr if there are none.
template <class Sum, class Factor>
const double* DeviceSteps<Sum, Factor>::upload(std::span<const double> columns, std::uint64_t offset) {
  transfer_.upload(std::as_bytes(columns), at(offset), stream_);
  return columns.empty() ? nullptr : at(offset);
}

// From the workspace.
template <class Sum, class Factor>
std::vector<double> DeviceSteps<Sum, Factor>::download(std::uint64_t count) {
  std::vector<double> numbers(static_cast<std::size_t>(count));
  transfer_.download(at(0), std::as_writable_bytes(std::span(numbers)), stream_);
  return numbers;
}

template <class Sum, class Factor>
template <class Number>
std::vector<double> DeviceSteps<Sum, Factor>::sum_columns(const Number* numbers, std::uint64_t rows, bool squared) {
  const std::uint64_t threads = threads_of_columns(rows);
  const SumColumns<Number> sum{numbers, squared, rows, sizes_.columns, threads / sizes_.columns, at(0)};
  check(cub::DeviceFor::Bulk(threads, sum, stream_.get()), "sum columns");
  const std::vector<double> parts = download(threads);
  std::vector<double> sums(static_cast<std::size_t>(sizes_.columns));
  for (std::size_t i = 0; i < parts.size(); ++i) sums[i % sums.size()] += parts[i];
  return sums;
}

template <class Sum, class Factor>
std::vector<double> DeviceSteps<Sum, Factor>::column_sums(const Factor* factor, std::uint64_t rows, bool squared) {
  return sum_columns(factor, rows, squared);
}

template <class Sum, class Factor>
void DeviceSteps<Sum, Factor>::scale_columns(Factor* factor, std::uint64_t rows, std::span<const double> scales,
                                             std::span<const double> shifts) {
  const ScaleColumns<Factor> scale{factor, upload(scales, sizes_.weights), upload(shifts, sizes_.system),
                                   sizes_.columns};
  check(cub::DeviceFor::Bulk(rows * sizes_.columns, scale, stream_.get()), "scale columns");
}

template <class Sum, class Factor>
void DeviceSteps<Sum, Factor>::raise_to_zero(Factor* factor, std::uint64_t rows) {
  check(cub::DeviceFor::Bulk(rows * sizes_.columns, RaiseToZero<Factor>{factor}, stream_.get()), "raise to zero");
}

template <class Sum, class Factor>
void DeviceSteps<Sum, Factor>::extrapolate(Factor* factor, double* vector, std::uint64_t rows,
                                           const Extrapolation& step) {
  const Extrapolate<Factor> take{
      factor,           vector,        upload(step.of_factor, sizes_.weights), upload(step.of_vector, sizes_.system),
      step.nonnegative, sizes_.columns};
  check(cub::DeviceFor::Bulk(rows * sizes_.columns, take, stream_.get()), "extrapolate");
}

template <class Sum, class Factor>
AprRows<Sum, Factor> DeviceSteps<Sum, Factor>::apr_rows(const Sum* output, Factor* factor, std::uint64_t rows,
                                                        const AprStep& step) {
  return {output,
          factor,
          rows * sizes_.columns,
          sizes_.columns,
          upload(step.weights, sizes_.weights),
          upload(step.held_sums, sizes_.system),
          step.kappa,
          step.kappa_tolerance,
          step.tolerance};
}

template <class Sum, class Factor>
AprViolation DeviceSteps<Sum, Factor>::apr_measure(const Sum* output, Factor* factor, std::uint64_t rows,
                                                   const AprStep& step) {
  const std::uint64_t threads = threads_of_columns(rows);
  fill_zero(at(0), 2 * sizeof(double), stream_.get());
  const AprMeasure<Sum, Factor> measure{apr_rows(output, factor, rows, step), threads,
                                        reinterpret_cast<unsigned long long*>(at(0))};
  check(cub::DeviceFor::Bulk(threads, measure, stream_.get()), "measure the violation");
  const std::vector<double> found = download(2);
  return {.largest = found[0], .has_stuck_zeros = step.kappa > 0 && found[1] != 0};
}

template <class Sum, class Factor>
void DeviceSteps<Sum, Factor>::apr_free_zeros(const Sum* output, Factor* factor, std::uint64_t rows,
                                              const AprStep& step) {
  const AprFreeZeros<Sum, Factor> free{apr_rows(output, factor, rows, step)};
  check(cub::DeviceFor::Bulk(rows * sizes_.columns, free, stream_.get()), "free zeros");
}

template <class Sum, class Factor>
void DeviceSteps<Sum, Factor>::apr_multiply(const Sum* output, Factor* factor, std::uint64_t rows,
                                            const AprStep& step) {
  const AprMultiply<Sum, Factor> multiply{apr_rows(output, factor, rows, step)};
  check(cub::DeviceFor::Bulk(rows * sizes_.columns, multiply, stream_.get()), "multiply by phi");
}

template <class Sum, class Factor>
void DeviceSteps<Sum, Factor>::cg_begin(const VectorRows<Sum, Factor>& rows, const CgStep& step) {
  const BeginCg<Sum, Factor> begin{rows, sizes_.columns, step, upload(step.centre, sizes_.weights)};
  check(cub::DeviceFor::Bulk(rows.rows, begin, stream_.get()), "begin conjugate gradients");
}

template <class Sum, class Factor>
void DeviceSteps<Sum, Factor>::cg_step(const VectorRows<Sum, Factor>& rows, const CgStep& step) {
  const TakeCgStep<Sum, Factor> take{rows, sizes_.columns, step};
  check(cub::DeviceFor::Bulk(rows.rows, take, stream_.get()), "take a step of conjugate gradients");
}

template <class Sum, class Factor>
double DeviceSteps<Sum, Factor>::cg_end(const double* solution, Factor* factor, std::uint64_t rows) {
  copy_numbers(solution, factor, rows * sizes_.columns, stream_);
  const std::vector<double> squares = sum_columns(solution, rows, true);
  return std::accumulate(squares.begin(), squares.end(), 0.0);
}

template <class Sum, class Factor>
void DeviceSteps<Sum, Factor>::adam_step(const VectorRows<Sum, Factor>& rows, const AdamStep& step) {
  const TakeAdamStep<Sum, Factor> take{rows, sizes_.columns, step, upload(step.rates, sizes_.weights)};
  check(cub::DeviceFor::Bulk(rows.rows, take, stream_.get()), "take a step of adam");
}

template <class Number>
void put_rows(const ScatteredRows& rows, Number* matrix, bool adds, const Stream& stream) {
  check(cub::DeviceFor::Bulk(rows.count * rows.columns, PutRows<Number>{rows, matrix, adds}, stream.get()), "put rows");
}

template <class Number>
void get_rows(const ScatteredRows& rows, const Number* matrix, const Stream& stream) {
  check(cub::DeviceFor::Bulk(rows.count * rows.columns, GetRows<Number>{rows, matrix}, stream.get()), "get rows");
}

template void put_rows(const ScatteredRows&, double*, bool, const Stream&);
template void put_rows(const ScatteredRows&, float*, bool, const Stream&);
template void get_rows(const ScatteredRows&, const double*, const Stream&);
template void get_rows(const ScatteredRows&, const float*, const Stream&);

template <class From, class To>
void copy_numbers(const From* from, To* to, std::uint64_t numbers, const Stream& stream) {
  check(cub::DeviceFor::Bulk(numbers, Copy<From, To>{from, to}, stream.get()), "copy a vector");
}

template void copy_numbers(const double*, double*, std::uint64_t, const Stream&);
template void copy_numbers(const double*, float*, std::uint64_t, const Stream&);
template void copy_numbers(const float*, double*, std::uint64_t, const Stream&);
template class DeviceSteps<double, double>;
template class DeviceSteps<double, float>;
template class DeviceSteps<float, float>;

}  // namespace blco::cuda
