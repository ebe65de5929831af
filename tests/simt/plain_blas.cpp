#include "tests/simt/plain_blas.hpp"

#include <cstddef>

namespace simt {
namespace {

std::size_t place(int row, int column, int leading) {
  return static_cast<std::size_t>(row) + static_cast<std::size_t>(column) * static_cast<std::size_t>(leading);
}

}  // namespace

void plain_gemm(cublasOperation_t a_op, cublasOperation_t b_op, int m, int n, int k, double alpha, const double* a,
                int lda, long long a_stride, const double* b, int ldb, long long b_stride, double beta, double* c,
                int ldc, long long c_stride, int batch) {
  for (int one = 0; one < batch; ++one) {
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < m; ++i) {
        double sum = 0;
        for (int l = 0; l < k; ++l) {
          sum += a[one * a_stride + static_cast<long long>(a_op == CUBLAS_OP_N ? place(i, l, lda) : place(l, i, lda))] *
                 b[one * b_stride + static_cast<long long>(b_op == CUBLAS_OP_N ? place(l, j, ldb) : place(j, l, ldb))];
        }
        double& entry = c[one * c_stride + static_cast<long long>(place(i, j, ldc))];
        entry = alpha * sum + (beta == 0 ? 0 : beta * entry);
      }
    }
  }
}

void plain_syrk(int n, int k, double alpha, const double* a, int lda, double beta, double* c, int ldc) {
  for (int j = 0; j < n; ++j) {
    for (int i = j; i < n; ++i) {
      double sum = 0;
      for (int l = 0; l < k; ++l) sum += a[place(i, l, lda)] * a[place(j, l, lda)];
      double& entry = c[place(i, j, ldc)];
      entry = alpha * sum + (beta == 0 ? 0 : beta * entry);
    }
  }
}

void plain_trsm(cublasOperation_t op, int m, int n, double alpha, const double* a, int lda, double* b, int ldb) {
  const bool forward = op == CUBLAS_OP_N;
  for (int column = 0; column < n; ++column) {
    double* x = b + place(0, column, ldb);
    for (int step = 0; step < m; ++step) {
      const int i = forward ? step : m - 1 - step;
      double rest = alpha * x[i];
      for (int l = forward ? 0 : i + 1; l < (forward ? i : m); ++l) {
        rest -= (forward ? a[place(i, l, lda)] : a[place(l, i, lda)]) * x[l];
      }
      x[i] = rest / a[place(i, i, lda)];
    }
  }
}

double plain_dot(int n, const double* x, const double* y) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

}  // namespace simt
