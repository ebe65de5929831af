// The few calls of cuBLAS that blco makes, queued on the fake streams: plain loops, run when their turn comes.
// Arguments that blco has no use for are refused.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>

#include "kernels/cuda/cublas.hpp"
#include "tests/simt/fakes/fake_device.hpp"
#include "tests/simt/plain_blas.hpp"

struct cublasContext {
  int device = 0;
  cudaStream_t stream = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
  cublasPointerMode_t pointers = CUBLAS_POINTER_MODE_HOST;
};

namespace {

using simt::FakeDevice;
using simt::refuse;

constexpr std::size_t workspace_alignment = 256;

cublasStatus_t status_of(cudaError_t error) {
  if (error == cudaSuccess) return CUBLAS_STATUS_SUCCESS;
  return error == cudaErrorInvalidValue ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_EXECUTION_FAILED;
}

// Numbers in device memory; a matrix of `columns` columns that are `leading` numbers apart, or a batch of such.
struct Argument {
  Argument(const double* begin, long long count) : numbers(begin), bytes(static_cast<std::size_t>(count) * 8) {}
  Argument(const double* begin, int rows, int columns, int leading, long long stride = 0, int batch = 1)
      : Argument(begin, (batch - 1) * stride + static_cast<long long>(columns - 1) * leading + rows) {}

  const double* numbers;
  std::size_t bytes;
};

// Checks what all calls have in common and queues `work`. While it runs, the workspace belongs to it.
template <class Work>
cublasStatus_t queue(const char* name, cublasHandle_t handle, bool is_known, cublasPointerMode_t pointers,
                     std::initializer_list<Argument> arguments, Work work) {
  return status_of(simt::call(name, [&](FakeDevice& device) {
    if (!is_known) return refuse(cudaErrorInvalidValue, std::string(name) + " in a form that the fake does not know");
    if (handle->pointers != pointers) return refuse(cudaErrorInvalidValue, "scalars in the wrong memory");
    if (handle->workspace == nullptr) return refuse(cudaErrorInvalidValue, "a handle without a workspace of its own");
    if (device.streams.exists(handle->stream) && handle->stream->device != handle->device) {
      return refuse(cudaErrorInvalidValue, "a handle of another device than the stream's");
    }
    for (const Argument& argument : arguments) {
      if (device.memory.device_of(argument.numbers, argument.bytes) != handle->device) {
        return refuse(cudaErrorInvalidValue,
                      std::string(name) + " on numbers that are not in one allocation of the handle's device");
      }
    }
    return simt::queue_kernel(nullptr, 1, 1, 0, handle->stream,
                              [work, workspace = handle->workspace, bytes = handle->workspace_bytes] {
                                std::memset(workspace, 0xA5, bytes);
                                work();
                              });
  }));
}

}  // namespace

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  return status_of(simt::call("cublasCreate", [&](FakeDevice&) {
    *handle = new cublasContext{.device = simt::current_device()};
    return cudaSuccess;
  }));
}

cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

// As cuBLAS does, goes back to a workspace of its own.
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  handle->workspace = nullptr;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void* workspace, std::size_t bytes) {
  return status_of(simt::call("cublasSetWorkspace", [&](FakeDevice& device) {
    const bool aligned = reinterpret_cast<std::uintptr_t>(workspace) % workspace_alignment == 0;
    if (!aligned || device.memory.device_of(workspace, bytes) != handle->device) {
      return refuse(cudaErrorInvalidValue, "a workspace that is not aligned memory of the handle's device");
    }
    handle->workspace = workspace;
    handle->workspace_bytes = bytes;
    return cudaSuccess;
  }));
}

cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode) {
  handle->pointers = mode;
  return CUBLAS_STATUS_SUCCESS;
}

const char* cublasGetStatusString(cublasStatus_t status) {
  static thread_local std::string text;
  text = (status == CUBLAS_STATUS_EXECUTION_FAILED ? "launch failure: " : "invalid value: ") + simt::last_failure();
  return text.c_str();
}

cublasStatus_t cublasDgemmStridedBatched(cublasHandle_t handle, cublasOperation_t a_op, cublasOperation_t b_op, int m,
                                         int n, int k, const double* alpha, const double* a, int lda,
                                         long long a_stride, const double* b, int ldb, long long b_stride,
                                         const double* beta, double* c, int ldc, long long c_stride, int batch) {
  const bool a_plain = a_op == CUBLAS_OP_N;
  const bool b_plain = b_op == CUBLAS_OP_N;
  return queue(
      "cublasDgemmStridedBatched", handle, true, CUBLAS_POINTER_MODE_HOST,
      {Argument(a, a_plain ? m : k, a_plain ? k : m, lda, a_stride, batch),
       Argument(b, b_plain ? k : n, b_plain ? n : k, ldb, b_stride, batch), Argument(c, m, n, ldc, c_stride, batch)},
      [=, alpha = *alpha, beta = *beta] {
        simt::plain_gemm(a_op, b_op, m, n, k, alpha, a, lda, a_stride, b, ldb, b_stride, beta, c, ldc, c_stride, batch);
      });
}

cublasStatus_t cublasDsyrk(cublasHandle_t handle, cublasFillMode_t triangle, cublasOperation_t op, int n, int k,
                           const double* alpha, const double* a, int lda, const double* beta, double* c, int ldc) {
  return queue("cublasDsyrk", handle, triangle == CUBLAS_FILL_MODE_LOWER && op == CUBLAS_OP_N, CUBLAS_POINTER_MODE_HOST,
               {Argument(a, n, k, lda), Argument(c, n, n, ldc)},
               [=, alpha = *alpha, beta = *beta] { simt::plain_syrk(n, k, alpha, a, lda, beta, c, ldc); });
}

cublasStatus_t cublasDtrsm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t triangle,
                           cublasOperation_t op, cublasDiagType_t diagonal, int m, int n, const double* alpha,
                           const double* a, int lda, double* b, int ldb) {
  const bool is_known =
      side == CUBLAS_SIDE_LEFT && triangle == CUBLAS_FILL_MODE_LOWER && diagonal == CUBLAS_DIAG_NON_UNIT;
  return queue("cublasDtrsm", handle, is_known, CUBLAS_POINTER_MODE_HOST,
               {Argument(a, m, m, lda), Argument(b, m, n, ldb)},
               [=, alpha = *alpha] { simt::plain_trsm(op, m, n, alpha, a, lda, b, ldb); });
}

cublasStatus_t cublasDdot(cublasHandle_t handle, int n, const double* x, int x_step, const double* y, int y_step,
                          double* result) {
  return queue("cublasDdot", handle, x_step == 1 && y_step == 1, CUBLAS_POINTER_MODE_DEVICE,
               {Argument(x, n), Argument(y, n), Argument(result, 1)}, [=] { *result = simt::plain_dot(n, x, y); });
}

namespace blco::cuda {

CublasSearch find_cublas() {
  if (!simt::fake_device().properties.has_cublas) return {std::nullopt, "a test took cuBLAS away"};
  return {CublasCalls{.create = &cublasCreate,
                      .destroy = &cublasDestroy,
                      .set_stream = &cublasSetStream,
                      .set_workspace = &cublasSetWorkspace,
                      .set_pointer_mode = &cublasSetPointerMode,
                      .get_status_string = &cublasGetStatusString,
                      .gemm_strided_batched = &cublasDgemmStridedBatched,
                      .syrk = &cublasDsyrk,
                      .trsm = &cublasDtrsm,
                      .dot = &cublasDdot},
          {}};
}

}  // namespace blco::cuda
