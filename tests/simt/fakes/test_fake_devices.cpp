// Several fake devices: what belongs to one is refused by another, and none has a context that no call asked for. And
// what no test of this program may do unsaid.
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <utility>

#include "kernels/device_kind.hpp"
#include "tests/simt/fakes/fake_device.hpp"
#include "tests/simt/simt_control.hpp"

namespace simt {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

__global__ void mark_kernel(int* to) { to[threadIdx.x] = 1; }

// Memory, a stream and an event of each of two devices; the second is current.
class FakeDevices : public ::testing::Test {
 protected:
  static constexpr unsigned count = 4;
  static constexpr std::size_t bytes = count * sizeof(int);

  FakeDevices() {
    reset();
    set_device({.count = 2});
    for (const int number : {0, 1}) {
      EXPECT_EQ(cudaSetDevice(number), cudaSuccess);
      EXPECT_EQ(cudaMalloc(&memory_[number], bytes), cudaSuccess);
      EXPECT_EQ(cudaStreamCreateWithFlags(&stream_[number], cudaStreamNonBlocking), cudaSuccess);
      EXPECT_EQ(cudaEventCreateWithFlags(&event_[number], cudaEventDefault), cudaSuccess);
    }
  }
  ~FakeDevices() override {
    for (const int number : {0, 1}) {
      EXPECT_EQ(cudaStreamDestroy(stream_[number]), cudaSuccess);
      EXPECT_EQ(cudaEventDestroy(event_[number]), cudaSuccess);
      EXPECT_EQ(cudaFree(memory_[number]), cudaSuccess);
    }
    EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
    reset();
  }

  static cudaError_t mark(int* to, cudaStream_t stream) { return launch(&mark_kernel, 1, count, 0, stream, to); }

  int* memory_[2] = {};
  cudaStream_t stream_[2] = {};
  cudaEvent_t event_[2] = {};
};

TEST_F(FakeDevices, RefuseStreamsAndEventsOfAnother) {
  EXPECT_EQ(mark(memory_[1], stream_[1]), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(event_[1], stream_[1]), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(stream_[0], event_[1]), cudaSuccess) << "a stream may wait for another device";

  EXPECT_EQ(mark(memory_[0], stream_[0]), cudaErrorInvalidResourceHandle);
  EXPECT_THAT(last_failure(), HasSubstr("another device than the thread's"));
  EXPECT_EQ(cudaEventRecord(event_[0], stream_[1]), cudaErrorInvalidResourceHandle);
  EXPECT_THAT(last_failure(), HasSubstr("an event of another device"));
  float milliseconds = 0;
  EXPECT_EQ(cudaEventRecord(event_[0], stream_[0]), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, event_[0], event_[1]), cudaErrorInvalidResourceHandle);
}

TEST_F(FakeDevices, RefuseDenseWorkOfAnother) {
  double* numbers[2] = {};
  cublasHandle_t handle = nullptr;
  const auto dot = [&](int of_stream, int of_workspace, int of_numbers) {
    const double* from = numbers[of_numbers];
    EXPECT_EQ(cublasSetStream(handle, stream_[of_stream]), CUBLAS_STATUS_SUCCESS);
    const cublasStatus_t status = cublasSetWorkspace(handle, numbers[of_workspace], 256);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    return cublasDdot(handle, 2, from, 1, from, 1, numbers[of_numbers] + 2);
  };
  for (const int number : {0, 1}) {
    EXPECT_EQ(cudaSetDevice(number), cudaSuccess);
    EXPECT_EQ(cudaMalloc(&numbers[number], 256), cudaSuccess);
  }
  EXPECT_EQ(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);

  EXPECT_EQ(dot(1, 1, 1), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(dot(0, 1, 1), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_THAT(last_failure(), HasSubstr("handle of another device"));
  EXPECT_EQ(dot(1, 0, 1), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_THAT(last_failure(), HasSubstr("a workspace"));
  EXPECT_EQ(dot(1, 1, 0), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_THAT(last_failure(), HasSubstr("the handle's device"));

  EXPECT_EQ(cublasDestroy(handle), CUBLAS_STATUS_SUCCESS);
  for (double* const memory : numbers) EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

TEST_F(FakeDevices, RefuseMemoryOfAnother) {
  EXPECT_EQ(cudaMemsetAsync(memory_[0], 0, bytes, stream_[0]), cudaSuccess) << "whatever device is current";

  EXPECT_EQ(cudaMemsetAsync(memory_[0], 0, bytes, stream_[1]), cudaErrorInvalidValue);
  EXPECT_THAT(last_failure(), HasSubstr("memory of another device"));
  EXPECT_EQ(cudaMemcpyAsync(memory_[1], memory_[0], bytes, cudaMemcpyDeviceToDevice, stream_[1]),
            cudaErrorInvalidValue);
#ifdef __SANITIZE_ADDRESS__
  EXPECT_DEATH(static_cast<void>(mark(memory_[0], stream_[1])), "use-after-poison");
#endif
}

TEST_F(FakeDevices, HaveMemoryAndKernelsOfTheirOwn) {
  constexpr auto most = cudaFuncAttributeMaxDynamicSharedMemorySize;
  constexpr std::size_t granule = 2 << 20;  // has the memory that there is
  set_device(1, {.shared_bytes_per_block = 50 << 10, .memory_bytes = 2 * granule});
  void* memory = nullptr;
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;

  EXPECT_EQ(cudaMalloc(&memory, granule + 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMemGetInfo(&free_bytes, &total_bytes), cudaSuccess);
  EXPECT_EQ(free_bytes, granule);
  EXPECT_EQ(cudaFuncSetAttribute(mark_kernel, most, (50 << 10) + 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncSetAttribute(mark_kernel, most, 50 << 10), cudaSuccess);

  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(launch(&mark_kernel, 1, count, 50 << 10, stream_[0], memory_[0]), cudaErrorInvalidValue);
}

TEST(FakeContexts, AreMadeByTheFirstUseOfADevice) {
  reset();
  set_device({.count = 3});
  set_device(2, {.count = 3, .is_taken = true});
  int number = -1;
  cudaDeviceProp properties;
  EXPECT_EQ(cudaGetDeviceCount(&number), cudaSuccess);
  EXPECT_EQ(cudaGetDevice(&number), cudaSuccess);
  EXPECT_EQ(cudaGetDeviceProperties(&properties, 1), cudaSuccess);
  EXPECT_THAT(fake_device().contexts, IsEmpty());

  EXPECT_EQ(cudaSetDevice(2), cudaErrorDevicesUnavailable);
  EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_THAT(fake_device().contexts, ElementsAre(1));

  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  reset();
}

// What a new thread leaves behind on a machine of two devices: one that waits for the second device without saying so,
// one that goes back to its first device by cudaSetDevice, and the two as they should be.
TEST(FakeContexts, TellOfThreadsThatForgetTheirDevice) {
  const auto contexts_after = [](const std::function<void()>& work) {
    reset();
    set_device({.count = 2});
    std::thread(work).join();
    return std::exchange(fake_device().contexts, {});
  };
  const auto wait_for_event = [](const std::function<void(cudaEvent_t)>& wait) {
    const blco::CurrentGpu current(1);
    cudaEvent_t event = nullptr;
    EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
    std::thread(wait, event).join();
    EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  };
  const auto wait = [](cudaEvent_t event) { EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess); };

  EXPECT_THAT(contexts_after([&] { wait_for_event(wait); }), ElementsAre(0, 1));
  EXPECT_THAT(contexts_after([&] {
                wait_for_event([&](cudaEvent_t event) {
                  const blco::CurrentGpu current(1);
                  wait(event);
                });
              }),
              ElementsAre(1));
  EXPECT_THAT(contexts_after([] {
                for (const int number : {1, 0}) EXPECT_EQ(cudaSetDevice(number), cudaSuccess);
              }),
              ElementsAre(0, 1));
  EXPECT_THAT(contexts_after([] { const blco::CurrentGpu current(1); }), ElementsAre(1));
  reset();
}

// Copies of pageable memory keep a thread waiting: a test that wants some takes their number.
class PageableCopies : public ::testing::EmptyTestEventListener {
  void OnTestEnd(const ::testing::TestInfo&) override { EXPECT_EQ(take_pageable_copies(), 0U); }
};
[[maybe_unused]] const bool are_counted = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new PageableCopies);
  return true;
}();

}  // namespace
}  // namespace simt
