// Numbers in device memory, for tests that call launchers themselves.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "kernels/cuda/staged_transfer.hpp"

namespace blco::testing {

// `size` numbers of type T. Transfers return when they are done, and wait for what is queued on the stream.
template <class T>
class DeviceArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit DeviceArray(std::size_t size) : memory_(size * sizeof(T), "a test"), size_(size) {}
  DeviceArray(std::span<const T> numbers, cuda::Stream& stream) : DeviceArray(numbers.size()) {
    upload(numbers, stream);
  }

  T* data() const { return memory_.template as<T>(); }
  std::size_t size() const { return size_; }

  void upload(std::span<const T> numbers, cuda::Stream& stream) {
    cuda::StagedTransfer().upload(std::as_bytes(numbers), data(), stream);
  }
  std::vector<T> download(cuda::Stream& stream) const {
    std::vector<T> numbers(size_);
    cuda::StagedTransfer().download(data(), std::as_writable_bytes(std::span(numbers)), stream);
    return numbers;
  }

 private:
  cuda::DeviceBuffer memory_;
  std::size_t size_;
};

}  // namespace blco::testing
