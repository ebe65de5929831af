// The calls of cuBLAS that blco makes, as plain loops on numbers that the caller can read. Matrices are column-major.
// The emulator computes with them, and on hardware cuBLAS is compared with them.
#pragma once

#include <cublas_v2.h>

namespace simt {

// c = alpha a_op(a) b_op(b) + beta c, with c m x n, for each of `batch` matrices a stride apart.
void plain_gemm(cublasOperation_t a_op, cublasOperation_t b_op, int m, int n, int k, double alpha, const double* a,
                int lda, long long a_stride, const double* b, int ldb, long long b_stride, double beta, double* c,
                int ldc, long long c_stride, int batch);

// The lower triangle of c = alpha a a^T + beta c, with a n x k.
void plain_syrk(int n, int k, double alpha, const double* a, int lda, double beta, double* c, int ldc);

// b = alpha times the inverse of op(a) times b, with b m x n; of a, the lower triangle is read.
void plain_trsm(cublasOperation_t op, int m, int n, double alpha, const double* a, int lda, double* b, int ldb);

double plain_dot(int n, const double* x, const double* y);

}  // namespace simt
