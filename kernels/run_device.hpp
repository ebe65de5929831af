// Sorts, coalesces and packs nonzeros on a device: all that ingest knows of it.
//
// make_run_device() exists without CUDA too, and throws then.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "blco/chunk.hpp"
#include "blco/duplicate_policy.hpp"
#include "blco/layout.hpp"

namespace blco {

// Entries in input order. Coordinate m of entry i is at [i * order + m] in one of the two; the other is empty.
struct CoordinateSlice {
  std::span<const std::uint32_t> narrow;
  std::span<const std::uint64_t> wide;
  std::span<const double> values;
};

// What a container has of a chunk, as the device packed it, in host memory.
struct DevicePackedChunk {
  std::array<std::vector<std::byte>, column_count> payload;  // without values: all are 1, or `values` has them
  // Values that are not all integers, or whose squares do not sum to less than 2^53, come as they are: their sum of
  // squares depends on the order of its terms, which is the host's.
  std::vector<double> values;
  double sum_of_squares = 0;         // of values that do not come
  std::vector<std::uint64_t> lower;  // per mode, smallest coordinate
  std::vector<std::uint64_t> upper;  // per mode, largest coordinate

  std::vector<std::byte>& operator[](Column column) { return payload[static_cast<std::size_t>(column)]; }
};

// Nonzeros in line order, equal lines in input order, in device memory. Its functions, and those of RunDevice, throw
// Error (out_of_memory, cuda), or what the device's libraries throw: a std::exception.
class DeviceRun {
 public:
  virtual ~DeviceRun() = default;

  virtual std::uint64_t count() const = 0;

  // The sum of all values' magnitudes; more than 2^53 if a value is no integer.
  virtual double magnitude() const = 0;

  // Coalesces equal lines left to right. Returns the first line that cannot be coalesced: it occurs twice under
  // DuplicatePolicy::error, or its sum is not finite.
  [[nodiscard]] virtual std::optional<LineIndex> coalesce(DuplicatePolicy policy) = 0;

  // Copies entries [first, first + count) to host memory; `key` is null for lines of up to 64 bits.
  virtual void copy(std::uint64_t first, std::uint64_t count, std::uint64_t* low, std::uint64_t* key,
                    double* values) const = 0;

  // Packs entries [first, first + count) to the bytes that encode_line_column() and encode_values() give.
  virtual DevicePackedChunk pack(std::uint64_t first, std::uint64_t count) const = 0;
};

// One call at a time, of the device and all its runs together. The device outlives its runs.
class RunDevice {
 public:
  virtual ~RunDevice() = default;

  // The longest run that the device memory which was free at the start can sort.
  virtual std::uint64_t max_entries(bool has_high_word) const = 0;

  // Copies all entries to the device and sorts them by line. Requires: no more than max_entries(), and no other run.
  virtual std::unique_ptr<DeviceRun> sort(const TensorLayout& layout, std::span<const CoordinateSlice> entries) = 0;
};

// Takes the current CUDA device. Throws Error: not_built, cuda.
std::unique_ptr<RunDevice> make_run_device();

}  // namespace blco
