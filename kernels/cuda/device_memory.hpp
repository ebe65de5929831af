// Owners of CUDA resources: device and pinned memory, streams, events. All are move-only.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "kernels/backend.hpp"
#include "kernels/cuda/check.hpp"
#include "kernels/device_kind.hpp"

namespace blco::cuda {

// Shared memory of a block, static and dynamic, for which a kernel need not set
// cudaFuncAttributeMaxDynamicSharedMemorySize.
inline constexpr std::size_t usual_shared_bytes = std::size_t{48} << 10;

// Uninitialised device memory, aligned to 256 bytes. Its destructor does not throw.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  // The message names `purpose` if memory runs out.
  DeviceBuffer(std::uint64_t bytes, const char* purpose) : bytes_(bytes) {
    if (bytes == 0) return;
    const std::string call = "cudaMalloc of " + std::to_string(bytes) + " bytes for " + purpose;
    check(cudaMalloc(&data_, static_cast<std::size_t>(bytes)), call.c_str());
  }
  ~DeviceBuffer() { static_cast<void>(cudaFree(data_)); }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  std::uint64_t bytes() const { return bytes_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

// Page-locked host memory: only from it do copies overlap with kernels. Throws NoPinnedMemory where there is none.
class PinnedBuffer final : public HostBuffer {
 public:
  explicit PinnedBuffer(std::uint64_t bytes) : bytes_(static_cast<std::size_t>(bytes)) {
    if (bytes == 0) return;
    const std::string call = "cudaHostAlloc of " + std::to_string(bytes) + " bytes";
    try {
      check(cudaHostAlloc(&data_, bytes_, cudaHostAllocDefault), call.c_str());
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::out_of_memory) throw;
      throw NoPinnedMemory(error.kind(), error.what());
    }
  }
  ~PinnedBuffer() override { static_cast<void>(cudaFreeHost(data_)); }
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;

  std::span<std::byte> bytes() override { return {static_cast<std::byte*>(data_), bytes_}; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

class Event {
 public:
  enum class Timing { off, on };

  explicit Event(Timing timing = Timing::off, unsigned more_flags = 0) {
    const unsigned flags = timing == Timing::on ? cudaEventDefault : cudaEventDisableTiming;
    check(cudaEventCreateWithFlags(&event_, flags | more_flags), "cudaEventCreateWithFlags");
  }
  ~Event() {
    if (event_ != nullptr) static_cast<void>(cudaEventDestroy(event_));
  }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }

  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "cudaEventRecord"); }
  // Returns when all work queued before the last record has ended; `what` names it in messages. Thread-safe.
  void wait(const char* what) const { check(cudaEventSynchronize(event_), what); }
  double milliseconds_since(const Event& earlier) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, earlier.event_, event_), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds);
  }
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

class Stream {
 public:
  enum class Priority { normal, urgent };

  explicit Stream(Priority priority = Priority::normal) {
    int least = 0;
    int greatest = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    check(
        cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, priority == Priority::urgent ? greatest : least),
        "cudaStreamCreateWithPriority");
  }
  // Waits for queued work, which may use memory that is freed next.
  ~Stream() {
    if (stream_ == nullptr) return;
    static_cast<void>(cudaStreamSynchronize(stream_));
    static_cast<void>(cudaStreamDestroy(stream_));
  }
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }

  // Later work on this stream starts after all work queued before the event's last record.
  void wait(const Event& event) { check(cudaStreamWaitEvent(stream_, event.get(), 0), "cudaStreamWaitEvent"); }
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

inline void copy_to_device(void* to, std::span<const std::byte> from, cudaStream_t stream) {
  check(cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync to the device");
}
inline void copy_to_host(std::span<std::byte> to, const void* from, cudaStream_t stream) {
  check(cudaMemcpyAsync(to.data(), from, to.size(), cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync to the host");
}
inline void copy_on_device(void* to, const void* from, std::uint64_t bytes, cudaStream_t stream) {
  check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice, stream),
        "cudaMemcpyAsync on the device");
}
inline void fill_zero(void* to, std::uint64_t bytes, cudaStream_t stream) {
  if (bytes == 0) return;  // there is no memory
  check(cudaMemsetAsync(to, 0, static_cast<std::size_t>(bytes), stream), "cudaMemsetAsync");
}

}  // namespace blco::cuda
