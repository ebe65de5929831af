// What the library L-BFGS-B calls, under names of our own (engine/lbfgsb.cmake): the BLAS and LAPACK functions that it
// uses, with Fortran's conventions, and the Fortran runtime, of which all that prints does nothing.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>

namespace {

std::size_t size(const int* n) { return *n > 0 ? static_cast<std::size_t>(*n) : 0; }

// Column-major.
template <class Number>
struct Columns {
  Number* numbers;
  std::size_t leading;
  Number& at(std::size_t i, std::size_t j) const { return numbers[i + j * leading]; }
};

}  // namespace

extern "C" {

void blco_lbfgsb_cpu_time_4() {}
void blco_lbfgsb_st_write() {}
void blco_lbfgsb_st_write_done() {}
void blco_lbfgsb_transfer_array_write() {}
void blco_lbfgsb_transfer_character_write() {}
void blco_lbfgsb_transfer_integer_write() {}
void blco_lbfgsb_transfer_real_write() {}

// Fortran compares texts as if the shorter one ended in blanks.
int blco_lbfgsb_compare_string(std::size_t length, const char* text, std::size_t other_length, const char* other) {
  const std::size_t common = std::min(length, other_length);
  const int difference = common == 0 ? 0 : std::memcmp(text, other, common);
  if (difference != 0) return difference;
  for (std::size_t i = common; i < length; ++i) {
    if (text[i] != ' ') return text[i] > ' ' ? 1 : -1;
  }
  for (std::size_t i = common; i < other_length; ++i) {
    if (other[i] != ' ') return other[i] > ' ' ? -1 : 1;
  }
  return 0;
}

// Strides are positive.
void blco_lbfgsb_daxpy(const int* n, const double* a, const double* x, const int* x_step, double* y,
                       const int* y_step) {
  for (std::size_t i = 0; i < size(n); ++i) y[i * size(y_step)] += *a * x[i * size(x_step)];
}

void blco_lbfgsb_dcopy(const int* n, const double* x, const int* x_step, double* y, const int* y_step) {
  for (std::size_t i = 0; i < size(n); ++i) y[i * size(y_step)] = x[i * size(x_step)];
}

void blco_lbfgsb_dscal(const int* n, const double* a, double* x, const int* x_step) {
  for (std::size_t i = 0; i < size(n); ++i) x[i * size(x_step)] *= *a;
}

// Eight sums, which a processor adds up side by side.
double blco_lbfgsb_ddot(const int* n, const double* x, const int* x_step, const double* y, const int* y_step) {
  constexpr std::size_t lanes = 8;
  std::array<double, lanes> sums{};
  std::size_t i = 0;
  if (*x_step == 1 && *y_step == 1) {
    for (; i + lanes <= size(n); i += lanes) {
      for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += x[i + lane] * y[i + lane];
    }
  }
  for (; i < size(n); ++i) sums[0] += x[i * size(x_step)] * y[i * size(y_step)];
  double sum = 0;
  for (const double lane : sums) sum += lane;
  return sum;
}

// A = U^T U, where A is given and U left in the upper triangle; `info` is the first pivot that is not positive, counted
// from 1, or 0. The library uses only this triangle.
void blco_lbfgsb_dpotrf(const char* triangle, const int* n, double* a, const int* leading, int* info, std::size_t) {
  const Columns<double> u{a, size(leading)};
  *info = *triangle == 'U' ? 0 : -1;
  for (std::size_t j = 0; j < size(n) && *info == 0; ++j) {
    for (std::size_t i = 0; i <= j; ++i) {
      double rest = u.at(i, j);
      for (std::size_t k = 0; k < i; ++k) rest -= u.at(k, i) * u.at(k, j);
      if (i < j) {
        u.at(i, j) = rest / u.at(i, i);
      } else if (rest > 0) {
        u.at(j, j) = std::sqrt(rest);
      } else {
        *info = static_cast<int>(j) + 1;
      }
    }
  }
}

// B = U^-T B or U^-1 B.
void blco_lbfgsb_dtrtrs(const char* triangle, const char* transposed, const char* diagonal, const int* n,
                        const int* columns, const double* a, const int* leading, double* b, const int* b_leading,
                        int* info, std::size_t, std::size_t, std::size_t) {
  const Columns<const double> u{a, size(leading)};
  const Columns<double> x{b, size(b_leading)};
  *info = *triangle == 'U' && *diagonal == 'N' ? 0 : -1;
  for (std::size_t i = 0; i < size(n) && *info == 0; ++i) {
    if (u.at(i, i) == 0) *info = static_cast<int>(i) + 1;
  }
  for (std::size_t column = 0; column < size(columns) && *info == 0; ++column) {
    for (std::size_t step = 0; step < size(n); ++step) {
      const bool forward = *transposed == 'T';
      const std::size_t i = forward ? step : size(n) - 1 - step;
      double rest = x.at(i, column);
      if (forward) {
        for (std::size_t k = 0; k < i; ++k) rest -= u.at(k, i) * x.at(k, column);
      } else {
        for (std::size_t k = i + 1; k < size(n); ++k) rest -= u.at(i, k) * x.at(k, column);
      }
      x.at(i, column) = rest / u.at(i, i);
    }
  }
}

}  // extern "C"
