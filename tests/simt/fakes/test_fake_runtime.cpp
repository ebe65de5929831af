// The fake runtime: what runs when under each policy, what it refuses, and what it counts.
#include <cuda_runtime.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/simt/simt_control.hpp"

namespace simt {
namespace {

using ::testing::HasSubstr;

__global__ void set_kernel(int* to, int value) { to[threadIdx.x] = value; }
__global__ void double_kernel(int* to) { to[threadIdx.x] *= 2; }
__global__ void add_kernel(double* to) { to[threadIdx.x] += 1; }
__global__ void copy_kernel(const int* from, int* to) { to[threadIdx.x] = from[threadIdx.x]; }
__global__ void divergent_kernel(int* to) {
  if (threadIdx.x == 0) __syncthreads();
  to[threadIdx.x] = 1;
}

// Two streams, an event and a few numbers on either side.
class FakeRuntime : public ::testing::Test {
 protected:
  static constexpr unsigned count = 4;
  static constexpr std::size_t bytes = count * sizeof(int);

  FakeRuntime() {
    reset();
    EXPECT_EQ(cudaMalloc(&device_, bytes), cudaSuccess);
    EXPECT_EQ(cudaMalloc(&other_, bytes), cudaSuccess);
    EXPECT_EQ(cudaMallocHost(reinterpret_cast<void**>(&host_), bytes), cudaSuccess);
    EXPECT_EQ(cudaStreamCreateWithFlags(&first_, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_EQ(cudaStreamCreateWithPriority(&second_, cudaStreamNonBlocking, 0), cudaSuccess);
    EXPECT_EQ(cudaEventCreateWithFlags(&event_, cudaEventDefault), cudaSuccess);
  }
  ~FakeRuntime() override {
    static_cast<void>(cudaStreamDestroy(first_));
    static_cast<void>(cudaStreamDestroy(second_));
    static_cast<void>(cudaEventDestroy(event_));
    static_cast<void>(cudaFree(device_));
    static_cast<void>(cudaFree(other_));
    static_cast<void>(cudaFreeHost(host_));
    const Counters left = counters();
    EXPECT_EQ(left.live_allocations + left.live_pinned + left.live_streams + left.live_events + left.pending, 0U);
    reset();
  }

  void set_host(int value) { std::fill_n(host_, count, value); }
  cudaError_t upload(cudaStream_t stream) {
    return cudaMemcpyAsync(device_, host_, bytes, cudaMemcpyHostToDevice, stream);
  }
  // What is at `from` when `stream` has run.
  int download(const int* from, cudaStream_t stream) {
    EXPECT_EQ(cudaMemcpyAsync(host_, from, bytes, cudaMemcpyDeviceToHost, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    return host_[count - 1];
  }
  template <class... Parameters, class... Arguments>
  cudaError_t start(cudaStream_t stream, void (*kernel)(Parameters...), Arguments... arguments) {
    return launch(kernel, 1, count, 0, stream, arguments...);
  }

  int* device_ = nullptr;
  int* other_ = nullptr;
  int* host_ = nullptr;
  cudaStream_t first_ = nullptr;
  cudaStream_t second_ = nullptr;
  cudaEvent_t event_ = nullptr;
};

// A sum that starts from what nobody has written is one, and stays it.
TEST_F(FakeRuntime, FillsNewMemoryWithNaNs) {
  const auto sum = [&] {
    auto* const sums = reinterpret_cast<double*>(device_);
    EXPECT_EQ(launch(&add_kernel, 1, 2, 0, first_, sums), cudaSuccess);
    download(device_, first_);
    double number = 0;
    std::memcpy(&number, host_, sizeof(number));
    return number;
  };
  double of_host = 0;
  std::memcpy(&of_host, host_, sizeof(of_host));

  EXPECT_TRUE(std::isnan(of_host));
  EXPECT_TRUE(std::isnan(sum()));
  EXPECT_EQ(cudaMemsetAsync(device_, 0, bytes, first_), cudaSuccess);
  EXPECT_EQ(sum(), 1.0);
}

TEST_F(FakeRuntime, RunsAStreamInItsOrderUnderEveryPolicy) {
  for (const Policy policy : {Policy::eager, Policy::lazy, Policy::shuffled}) {
    set_policy(policy, 3);
    EXPECT_EQ(start(first_, set_kernel, device_, 3), cudaSuccess);
    EXPECT_EQ(start(first_, double_kernel, device_), cudaSuccess);
    EXPECT_EQ(cudaMemcpyAsync(other_, device_, bytes, cudaMemcpyDeviceToDevice, first_), cudaSuccess);
    EXPECT_EQ(cudaMemsetAsync(device_, 0, bytes, first_), cudaSuccess);
    EXPECT_EQ(download(other_, first_), 6);
    EXPECT_EQ(download(device_, first_), 0);
  }
}

TEST_F(FakeRuntime, RunsWorkAtOnceOnlyIfEager) {
  for (const Policy policy : {Policy::eager, Policy::lazy}) {
    set_policy(policy);
    set_host(1);
    EXPECT_EQ(upload(first_), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event_, first_), cudaSuccess);
    EXPECT_EQ(cudaEventQuery(event_), policy == Policy::eager ? cudaSuccess : cudaErrorNotReady);
    EXPECT_EQ(counters().pending, policy == Policy::eager ? 0U : 2U);
    set_host(2);
    EXPECT_EQ(download(device_, first_), policy == Policy::eager ? 1 : 2) << "lazy copies read when they run";
  }
}

TEST_F(FakeRuntime, RunsNoMoreThanIsWaitedForIfLazy) {
  set_policy(Policy::lazy);
  EXPECT_EQ(start(second_, set_kernel, other_, 1), cudaSuccess);
  EXPECT_EQ(start(first_, set_kernel, device_, 1), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(event_, first_), cudaSuccess);
  EXPECT_EQ(start(first_, set_kernel, device_, 2), cudaSuccess);

  EXPECT_EQ(cudaEventSynchronize(event_), cudaSuccess);

  EXPECT_EQ(counters().pending, 2U);
}

TEST_F(FakeRuntime, KeepsAStreamBehindTheEventsThatItWaitsFor) {
  for (const Policy policy : {Policy::eager, Policy::lazy, Policy::shuffled}) {
    for (std::uint64_t seed = 1; seed < 20; ++seed) {
      set_policy(policy, seed);
      EXPECT_EQ(start(first_, set_kernel, device_, 5), cudaSuccess);
      EXPECT_EQ(cudaEventRecord(event_, first_), cudaSuccess);
      EXPECT_EQ(cudaStreamWaitEvent(second_, event_), cudaSuccess);
      EXPECT_EQ(start(second_, copy_kernel, device_, other_), cudaSuccess);
      EXPECT_EQ(download(other_, second_), 5);
      EXPECT_EQ(cudaMemsetAsync(device_, 0, bytes, second_), cudaSuccess);
      EXPECT_EQ(cudaStreamSynchronize(second_), cudaSuccess);
    }
  }
}

TEST_F(FakeRuntime, WaitsForTheRecordThatThereWasWhenTheWaitWasQueued) {
  set_policy(Policy::lazy);
  EXPECT_EQ(start(first_, set_kernel, device_, 5), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(event_, first_), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(second_, event_), cudaSuccess);
  EXPECT_EQ(start(first_, set_kernel, device_, 6), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(event_, first_), cudaSuccess);

  EXPECT_EQ(download(device_, second_), 5) << "only the first record was waited for";
  EXPECT_EQ(cudaEventSynchronize(event_), cudaSuccess);
  EXPECT_EQ(download(device_, second_), 6);
}

TEST_F(FakeRuntime, ShowsAMissingWaitInSomeInterleaving) {
  bool late = false;
  bool early = false;
  for (std::uint64_t seed = 1; seed < 50; ++seed) {
    set_policy(Policy::shuffled, seed);
    EXPECT_EQ(start(first_, set_kernel, device_, 5), cudaSuccess);
    EXPECT_EQ(start(second_, copy_kernel, device_, other_), cudaSuccess);
    (download(other_, second_) == 5 ? late : early) = true;
    EXPECT_EQ(cudaStreamSynchronize(first_), cudaSuccess);
    EXPECT_EQ(cudaMemsetAsync(device_, 0, bytes, first_), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(first_), cudaSuccess);
  }

  EXPECT_TRUE(late && early);
}

TEST_F(FakeRuntime, GivesTheSameInterleavingForTheSameSeed) {
  const auto pending = [&](std::uint64_t seed) {
    std::vector<std::uint64_t> counts;
    set_policy(Policy::shuffled, seed);
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(start(i % 2 == 0 ? first_ : second_, set_kernel, device_, i), cudaSuccess);
      counts.push_back(counters().pending);
    }
    EXPECT_EQ(cudaStreamSynchronize(first_), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(second_), cudaSuccess);
    return counts;
  };

  EXPECT_EQ(pending(1), pending(1));
  EXPECT_NE(pending(1), pending(2));
}

TEST_F(FakeRuntime, LetsAnotherThreadWaitForAnEvent) {
  set_policy(Policy::lazy);
  EXPECT_EQ(start(first_, set_kernel, device_, 5), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(event_, first_), cudaSuccess);

  std::thread([&] { EXPECT_EQ(cudaEventSynchronize(event_), cudaSuccess); }).join();

  EXPECT_EQ(counters().pending, 0U);
}

TEST_F(FakeRuntime, FreesMemoryAfterTheWorkThatUsesIt) {
  set_policy(Policy::lazy);
  int* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, bytes), cudaSuccess);
  EXPECT_EQ(start(first_, set_kernel, memory, 5), cudaSuccess);

  EXPECT_EQ(cudaFree(memory), cudaSuccess);

  EXPECT_EQ(counters().pending, 0U);
}

// As the driver, which has its own pinned memory in between: the thread waits for the stream, and for the copy.
TEST_F(FakeRuntime, RunsAndCountsCopiesOfMemoryThatIsNotPinned) {
  set_policy(Policy::lazy);
  std::vector<int> pageable(count, 5);

  EXPECT_EQ(cudaMemcpyAsync(device_, pageable.data(), bytes, cudaMemcpyHostToDevice, first_), cudaSuccess);
  pageable.assign(count, 6);
  EXPECT_EQ(start(first_, double_kernel, device_), cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(pageable.data(), device_, bytes, cudaMemcpyDeviceToHost, first_), cudaSuccess);

  EXPECT_EQ(pageable.back(), 10);
  EXPECT_EQ(counters().pending, 0U);
  EXPECT_EQ(take_pageable_copies(), 2U);
  EXPECT_EQ(take_pageable_copies(), 0U);
}

TEST_F(FakeRuntime, RefusesCopiesOfHostMemoryThatIsPinnedInPart) {
  EXPECT_EQ(cudaMemcpyAsync(device_, host_, bytes + 1, cudaMemcpyHostToDevice, first_), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyAsync(device_, other_, bytes, cudaMemcpyHostToDevice, first_), cudaErrorInvalidValue);
  EXPECT_THAT(cudaGetErrorString(cudaErrorInvalidValue), HasSubstr("neither pinned"));
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(FakeRuntime, PinsNoMoreMemoryThanATestLeaves) {
  set_device({.pinned_bytes = 2 * bytes});
  void* pinned = nullptr;

  EXPECT_EQ(cudaMallocHost(&pinned, bytes + 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMallocHost(&pinned, bytes), cudaSuccess);

  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

TEST_F(FakeRuntime, CountsKernelsForWhichAThreadPolls) {
  cudaEvent_t blocking = nullptr;
  EXPECT_EQ(cudaEventCreateWithFlags(&blocking, cudaEventBlockingSync), cudaSuccess);
  set_policy(Policy::lazy);
  for (const cudaEvent_t event : {event_, blocking}) {
    EXPECT_EQ(start(first_, double_kernel, device_), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event, first_), cudaSuccess);
    EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess);
  }

  EXPECT_EQ(counters().polled_kernels, 1U);

  EXPECT_EQ(cudaEventDestroy(blocking), cudaSuccess);
}

TEST_F(FakeRuntime, RefusesRangesOutsideOfAnAllocation) {
  EXPECT_EQ(cudaMemsetAsync(device_ + 1, 0, bytes, first_), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemsetAsync(host_, 0, bytes, first_), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyAsync(device_, other_ - 1, bytes, cudaMemcpyDeviceToDevice, first_), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemsetAsync(device_ + 1, 0, bytes - sizeof(int), first_), cudaSuccess);
}

TEST_F(FakeRuntime, RefusesTheDefaultStream) {
  EXPECT_EQ(start(nullptr, set_kernel, device_, 1), cudaErrorInvalidResourceHandle);
  EXPECT_THAT(last_failure(), HasSubstr("default stream"));
  EXPECT_EQ(upload(nullptr), cudaErrorInvalidResourceHandle);
  cudaStream_t blocking = nullptr;
  EXPECT_EQ(cudaStreamCreateWithFlags(&blocking, 0), cudaErrorInvalidValue);
}

TEST_F(FakeRuntime, RefusesLaunchesThatTheDeviceHasNoRoomFor) {
  EXPECT_EQ(launch(&double_kernel, 1, 1025, 0, first_, device_), cudaErrorInvalidValue);
  EXPECT_EQ(launch(&double_kernel, 0, 32, 0, first_, device_), cudaErrorInvalidValue);
}

TEST_F(FakeRuntime, RefusesSharedMemoryThatAKernelHasNotOptedInTo) {
  constexpr auto most = cudaFuncAttributeMaxDynamicSharedMemorySize;
  EXPECT_EQ(launch(&double_kernel, 1, 4, 48 << 10, first_, device_), cudaSuccess);
  EXPECT_EQ(launch(&double_kernel, 1, 4, (48 << 10) + 1, first_, device_), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncSetAttribute(double_kernel, most, (160 << 10) + 1), cudaErrorInvalidValue);

  EXPECT_EQ(cudaFuncSetAttribute(double_kernel, most, 160 << 10), cudaSuccess);

  EXPECT_EQ(launch(&double_kernel, 1, 4, 160 << 10, first_, device_), cudaSuccess);
  EXPECT_EQ(launch(&double_kernel, 1, 4, (160 << 10) + 1, first_, device_), cudaErrorInvalidValue);
  EXPECT_EQ(launch(&set_kernel, 1, 4, (48 << 10) + 1, first_, device_, 1), cudaErrorInvalidValue);
}

// Two buffers of a few bytes have two granules already.
TEST_F(FakeRuntime, TakesWholeGranulesOfMemoryAndNoMoreThanThereIs) {
  constexpr std::size_t granule = 2 << 20;
  set_device({.memory_bytes = 5 * granule - 1});
  void* memory = nullptr;

  EXPECT_EQ(cudaMalloc(&memory, 2 * granule + 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMalloc(&memory, granule + 1), cudaSuccess);
  EXPECT_EQ(counters().live_bytes, 4 * granule);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  EXPECT_EQ(counters().live_bytes, 2 * granule);
  EXPECT_EQ(counters().max_bytes, 4 * granule);
}

TEST_F(FakeRuntime, SaysInWordsWhatAKernelDid) {
  set_policy(Policy::lazy);
  EXPECT_EQ(start(first_, divergent_kernel, device_), cudaSuccess) << "the kernel has not run yet";

  EXPECT_EQ(cudaStreamSynchronize(first_), cudaErrorLaunchFailure);

  EXPECT_THAT(cudaGetErrorString(cudaErrorLaunchFailure), HasSubstr("barrier"));
  EXPECT_THAT(last_failure(), HasSubstr("test_fake_runtime.cpp:"));
  EXPECT_EQ(upload(first_), cudaErrorLaunchFailure) << "the device stays broken";
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
}

TEST_F(FakeRuntime, FailsTheCallThatATestNames) {
  fail_call("cudaMemcpyAsync", 2, cudaErrorInvalidValue);
  fail_call("launch", 1, cudaErrorMemoryAllocation);

  EXPECT_EQ(upload(first_), cudaSuccess);
  EXPECT_EQ(upload(first_), cudaErrorInvalidValue);
  EXPECT_EQ(upload(first_), cudaSuccess);
  EXPECT_EQ(start(first_, set_kernel, device_, 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(start(first_, set_kernel, device_, 1), cudaSuccess);
}

TEST_F(FakeRuntime, FailsAKernelInTheMiddleOfAStream) {
  set_policy(Policy::lazy);
  fail_call("kernel", 2, cudaErrorLaunchFailure);
  EXPECT_EQ(start(first_, set_kernel, device_, 1), cudaSuccess);
  EXPECT_EQ(start(first_, set_kernel, device_, 2), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(event_, first_), cudaSuccess);

  EXPECT_EQ(cudaEventSynchronize(event_), cudaErrorLaunchFailure);
}

TEST_F(FakeRuntime, DoesNothingWithoutADeviceOrADriver) {
  set_device({.present = false});
  int devices = 7;
  EXPECT_EQ(cudaGetDeviceCount(&devices), cudaErrorNoDevice);
  EXPECT_EQ(devices, 0);

  set_device({.driver_version = 12090});
  int version = 0;
  EXPECT_EQ(cudaGetDeviceCount(&devices), cudaErrorInsufficientDriver);
  EXPECT_THAT(cudaGetErrorString(cudaErrorInsufficientDriver), HasSubstr("driver"));
  EXPECT_EQ(cudaDriverGetVersion(&version), cudaSuccess);
  EXPECT_EQ(version, 12090);
}

TEST_F(FakeRuntime, CountsWhatWasMovedAndLaunched) {
  set_policy(Policy::lazy);
  EXPECT_EQ(upload(first_), cudaSuccess);
  EXPECT_EQ(counters().bytes_to_device, 0U) << "queued only";
  EXPECT_EQ(start(first_, double_kernel, device_), cudaSuccess);
  download(device_, first_);

  EXPECT_EQ(counters().bytes_to_device, bytes);
  EXPECT_EQ(counters().bytes_to_host, bytes);
  EXPECT_EQ(counters().kernels, 1U);
}

TEST_F(FakeRuntime, TellsTimeByEventsThatMayTellIt) {
  cudaEvent_t later = nullptr;
  cudaEvent_t timeless = nullptr;
  EXPECT_EQ(cudaEventCreateWithFlags(&later, cudaEventDefault), cudaSuccess);
  EXPECT_EQ(cudaEventCreateWithFlags(&timeless, cudaEventDisableTiming), cudaSuccess);
  for (const cudaEvent_t event : {event_, later, timeless}) EXPECT_EQ(cudaEventRecord(event, first_), cudaSuccess);
  float milliseconds = -1;

  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, event_, later), cudaSuccess);
  EXPECT_GE(milliseconds, 0);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, event_, timeless), cudaErrorInvalidResourceHandle);

  EXPECT_EQ(cudaEventDestroy(later), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(timeless), cudaSuccess);
}

TEST_F(FakeRuntime, EndsTheProgramWhereOwnersMisuseIt) {
  set_policy(Policy::lazy);
  EXPECT_EQ(upload(first_), cudaSuccess);

  EXPECT_DEATH(static_cast<void>(cudaFreeHost(host_)), "memory that a queued copy uses");
  EXPECT_DEATH(static_cast<void>(cudaFree(device_ + 1)), "not allocated");
  EXPECT_DEATH(static_cast<void>(cudaStreamDestroy(nullptr)), "no stream");
}

#ifdef __SANITIZE_ADDRESS__
TEST_F(FakeRuntime, KeepsTheHostOutOfDeviceMemory) {
  EXPECT_DEATH(device_[0] = 1, "use-after-poison");
  EXPECT_DEATH(static_cast<void>(start(first_, set_kernel, device_ + 1, 1)), "heap-buffer-overflow");
}
#endif

}  // namespace
}  // namespace simt
