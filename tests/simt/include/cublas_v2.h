// Stands in for the header of this name of cuBLAS: the few calls that blco makes, as fakes of tests/simt.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

struct cublasContext;
using cublasHandle_t = cublasContext*;

enum cublasStatus_t : int {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
};
enum cublasFillMode_t : int { CUBLAS_FILL_MODE_LOWER = 0, CUBLAS_FILL_MODE_UPPER = 1 };
enum cublasDiagType_t : int { CUBLAS_DIAG_NON_UNIT = 0, CUBLAS_DIAG_UNIT = 1 };
enum cublasSideMode_t : int { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 };
enum cublasOperation_t : int { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };
enum cublasPointerMode_t : int { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 };

cublasStatus_t cublasCreate(cublasHandle_t* handle);
cublasStatus_t cublasDestroy(cublasHandle_t handle);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void* workspace, std::size_t bytes);
cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode);
const char* cublasGetStatusString(cublasStatus_t status);

cublasStatus_t cublasDgemmStridedBatched(cublasHandle_t handle, cublasOperation_t a_op, cublasOperation_t b_op, int m,
                                         int n, int k, const double* alpha, const double* a, int lda,
                                         long long a_stride, const double* b, int ldb, long long b_stride,
                                         const double* beta, double* c, int ldc, long long c_stride, int batch);
cublasStatus_t cublasDsyrk(cublasHandle_t handle, cublasFillMode_t triangle, cublasOperation_t op, int n, int k,
                           const double* alpha, const double* a, int lda, const double* beta, double* c, int ldc);
cublasStatus_t cublasDtrsm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t triangle,
                           cublasOperation_t op, cublasDiagType_t diagonal, int m, int n, const double* alpha,
                           const double* a, int lda, double* b, int ldb);
cublasStatus_t cublasDdot(cublasHandle_t handle, int n, const double* x, int x_step, const double* y, int y_step,
                          double* result);
