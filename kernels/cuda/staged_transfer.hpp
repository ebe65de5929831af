// Small or dense transfers between pageable memory and the device, through one pinned buffer. Each returns when its
// numbers have arrived.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "kernels/cuda/device_memory.hpp"

namespace blco::cuda {

// Rows of a matrix on the device, in pinned memory, which kernels reach by the same address.
struct ScatteredRows {
  const std::uint32_t* listed;
  double* numbers;
  std::uint64_t count;
  std::uint64_t columns;
};

class StagedTransfer {
 public:
  void upload(std::span<const std::byte> from, void* to, Stream& stream) {
    for (std::size_t at = 0; at < from.size(); at += block_bytes) {
      const std::size_t bytes = std::min(block_bytes, from.size() - at);
      std::memcpy(pinned_.as<std::byte>(), from.data() + at, bytes);
      send(static_cast<std::byte*>(to) + at, bytes, stream);
    }
  }

  void download(const void* from, std::span<std::byte> to, Stream& stream) {
    for (std::size_t at = 0; at < to.size(); at += block_bytes) {
      const std::size_t bytes = std::min(block_bytes, to.size() - at);
      fetch(static_cast<const std::byte*>(from) + at, bytes, stream);
      std::memcpy(to.data() + at, pinned_.as<std::byte>(), bytes);
    }
  }

  // Rows of `columns` numbers that lie scattered in a matrix on the device: calls move(ScatteredRows) for as many as
  // the pinned buffer has room for at once.
  template <class Number, class Move>
  void move_rows(std::span<const std::uint32_t> rows, std::span<Number> values, int columns, Stream& stream,
                 const Move& move) {
    constexpr bool sends = std::is_const_v<Number>;
    const auto width = static_cast<std::size_t>(columns);
    const std::size_t block = block_bytes / (width * sizeof(double) + sizeof(std::uint32_t));
    double* const numbers = pinned_.as<double>();
    for (std::size_t at = 0; at < rows.size(); at += block) {
      const std::size_t count = std::min(block, rows.size() - at);
      const std::span<Number> part = values.subspan(at * width, count * width);
      std::uint32_t* const listed = reinterpret_cast<std::uint32_t*>(numbers + part.size());
      std::ranges::copy(rows.subspan(at, count), listed);
      if constexpr (sends) std::ranges::copy(part, numbers);
      move(ScatteredRows{listed, numbers, count, width});
      done_.record(stream.get());
      done_.wait("moving rows");
      if constexpr (!sends) std::copy_n(numbers, part.size(), part.data());
    }
  }

  // From f64 to the device's precision.
  template <class Real>
  void upload_numbers(std::span<const double> from, Real* to, Stream& stream) {
    constexpr std::size_t block = block_bytes / sizeof(Real);
    for (std::size_t at = 0; at < from.size(); at += block) {
      const std::size_t count = std::min(block, from.size() - at);
      std::transform(from.data() + at, from.data() + at + count, pinned_.as<Real>(),
                     [](double number) { return static_cast<Real>(number); });
      send(to + at, count * sizeof(Real), stream);
    }
  }

  // From the device's precision to f64.
  template <class Real>
  void download_numbers(const Real* from, std::span<double> to, Stream& stream) {
    constexpr std::size_t block = block_bytes / sizeof(Real);
    for (std::size_t at = 0; at < to.size(); at += block) {
      const std::size_t count = std::min(block, to.size() - at);
      fetch(from + at, count * sizeof(Real), stream);
      std::copy_n(pinned_.as<Real>(), count, to.data() + at);
    }
  }

 private:
  static constexpr std::size_t block_bytes = std::size_t{1} << 20;

  void send(void* to, std::size_t bytes, Stream& stream) {
    copy_to_device(to, {pinned_.as<const std::byte>(), bytes}, stream.get());
    done_.record(stream.get());
    done_.wait("sending to the device");
  }
  void fetch(const void* from, std::size_t bytes, Stream& stream) {
    copy_to_host({pinned_.as<std::byte>(), bytes}, from, stream.get());
    done_.record(stream.get());
    done_.wait("waiting for the device");
  }

  PinnedBuffer pinned_{block_bytes};
  Event done_;
};

}  // namespace blco::cuda
