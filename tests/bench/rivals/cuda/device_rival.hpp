// What rivals on a CUDA device have in common: factors and output, copies of the format's arrays, one stream.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/cuda/staged_transfer.hpp"
#include "tests/bench/rivals/rival.hpp"

namespace blco::cuda {

// Copies arrays to the device, and adds up the seconds that this takes.
class Uploader {
 public:
  explicit Uploader(Stream& stream) : stream_(stream) {}

  // From: a vector or an AlignedBuffer.
  template <class From>
  DeviceBuffer copy(const From& numbers, const char* purpose) {
    const auto bytes = std::as_bytes(std::span(numbers.data(), numbers.size()));
    return timed(bytes.size(), purpose, [&](std::byte* to) { transfer_.upload(bytes, to, stream_); });
  }
  // In the precision T.
  template <class T>
  DeviceBuffer copy_numbers(std::span<const double> numbers, const char* purpose) {
    return timed(numbers.size() * sizeof(T), purpose,
                 [&](std::byte* to) { transfer_.upload_numbers(numbers, reinterpret_cast<T*>(to), stream_); });
  }
  double seconds() const { return seconds_; }

 private:
  template <class Fill>
  DeviceBuffer timed(std::uint64_t bytes, const char* purpose, const Fill& fill) {
    DeviceBuffer buffer(bytes, purpose);
    const auto start = std::chrono::steady_clock::now();
    fill(buffer.as<std::byte>());
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return buffer;
  }

  Stream& stream_;
  StagedTransfer transfer_;
  double seconds_ = 0;
};

// Row-major, without padding.
template <class T>
struct DeviceMatrices {
  std::vector<DeviceBuffer> factors;  // per mode: I_n x R
  DeviceBuffer output;                // of the longest mode
};

// T: double or float, for factors, values, products and sums.
template <class T>
class DeviceRival : public Rival {
 public:
  DeviceRival(std::span<const std::uint64_t> shape, const RivalOptions& options)
      : shape_(shape.begin(), shape.end()), rank_(options.rank) {
    if (const auto* sibling = dynamic_cast<const DeviceRival*>(options.sibling)) {
      matrices_ = sibling->matrices_;
      return;
    }
    matrices_ = std::make_shared<DeviceMatrices<T>>();
    for (const std::uint64_t length : shape) matrices_->factors.emplace_back(bytes_of(length), "a factor");
    matrices_->output = DeviceBuffer(bytes_of(*std::ranges::max_element(shape)), "the output");
  }

  void load_factor(int mode, std::span<const double> rows) override {
    transfer_.upload_numbers(rows, matrices_->factors[static_cast<std::size_t>(mode)].template as<T>(), stream_);
  }
  void mttkrp(int mode) final {
    fill_zero(output(), bytes_of(shape_[static_cast<std::size_t>(mode)]), stream_.get());
    add(static_cast<std::size_t>(mode));
    done_.record(stream_.get());
    done_.wait("waiting for the MTTKRP of a rival");
  }
  void read_output(std::span<double> rows) const override {
    transfer_.download_numbers(static_cast<const T*>(output()), rows, stream_);
  }
  double upload_seconds() const override { return uploader_.seconds(); }

 protected:
  // Queues what adds every nonzero to the output, which is zero, on stream().
  virtual void add(std::size_t mode) = 0;

  std::size_t order() const { return shape_.size(); }
  int rank() const { return rank_; }
  const T* factor(std::size_t mode) const { return matrices_->factors[mode].template as<const T>(); }
  T* output() const { return matrices_->output.template as<T>(); }
  cudaStream_t stream() const { return stream_.get(); }
  Uploader& uploader() { return uploader_; }

 private:
  std::uint64_t bytes_of(std::uint64_t rows) const { return rows * static_cast<std::uint64_t>(rank_) * sizeof(T); }

  std::vector<std::uint64_t> shape_;
  int rank_;
  mutable Stream stream_;
  mutable StagedTransfer transfer_;
  Uploader uploader_{stream_};
  Event done_;
  std::shared_ptr<DeviceMatrices<T>> matrices_;
};

}  // namespace blco::cuda
