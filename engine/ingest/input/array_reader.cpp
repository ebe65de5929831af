// Copies batches of the arrays side by side, looking for what is not acceptable on the way.
#include "engine/ingest/input/array_reader.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <variant>

#include "blco/error.hpp"
#include "blco/option_name.hpp"

namespace blco {
namespace {

constexpr std::size_t batch_entries = std::size_t{1} << 18;
constexpr std::size_t slice_entries = std::size_t{1} << 14;
constexpr std::uint64_t narrow_limit = std::uint64_t{1} << 32;
constexpr std::uint64_t no_entry = std::numeric_limits<std::uint64_t>::max();

std::uint64_t length_of(const IndexSpan& span) {
  return std::visit([](const auto& numbers) -> std::uint64_t { return numbers.size(); }, span);
}

}  // namespace

// What a task finds in its part of a batch.
struct ArrayReader::Slice {
  std::vector<std::uint64_t> upper;
  std::uint64_t refused = no_entry;
};

ArrayReader::ArrayReader(const CoordinateArrays& arrays, const std::vector<std::uint64_t>& shape, Executor& executor)
    : arrays_(&arrays), executor_(&executor), limits_(shape) {
  const std::size_t order = arrays.coordinates.size();
  if (order == 0) refuse("there are no coordinate arrays; a tensor requires one per mode");
  if (!shape.empty() && shape.size() != order) {
    refuse("there are " + std::to_string(order) + " coordinate arrays, but " + option_name("shape") + " has " +
           std::to_string(shape.size()) + " lengths; give one per mode");
  }
  count_ = length_of(arrays.coordinates[0]);
  for (std::size_t n = 1; n < order; ++n) {
    if (length_of(arrays.coordinates[n]) != count_) {
      refuse("the coordinate array of mode " + std::to_string(n) + " has " +
             std::to_string(length_of(arrays.coordinates[n])) + " entries, but that of mode 0 has " +
             std::to_string(count_) + "; give arrays of one length");
    }
  }
  if (!arrays.values.empty() && arrays.values.size() != count_) {
    refuse("there are " + std::to_string(arrays.values.size()) + " values for " + std::to_string(count_) +
           " entries; give one value per entry, or none if all values are 1");
  }
  if (count_ == 0) refuse("the coordinate arrays have no nonzeros; a tensor requires at least one");
  // A mode's length is a 64-bit number too.
  if (limits_.empty()) limits_.assign(order, std::numeric_limits<std::uint64_t>::max());
}

std::vector<std::uint64_t> ArrayReader::find_extents() const {
  std::vector<std::uint64_t> extents(limits_.size());
  executor_->run(extents.size(), [&](std::size_t n) {
    extents[n] = std::visit([](const auto& numbers) -> std::uint64_t { return *std::ranges::max_element(numbers); },
                            arrays_->coordinates[n]);
  });
  if (std::ranges::find(extents, no_entry) != extents.end()) return {};
  for (std::uint64_t& extent : extents) ++extent;
  return extents;
}

bool ArrayReader::next(CoordinateBatch& batch) {
  if (taken_ == count_) return false;
  const std::size_t order = limits_.size();
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(batch_entries, count_ - taken_));
  const bool narrow = std::ranges::all_of(arrays_->coordinates, [&](const IndexSpan& span) {
    const auto* wide = std::get_if<std::span<const std::uint64_t>>(&span);
    return wide == nullptr ||
           std::ranges::all_of(wide->subspan(taken_, count), [](std::uint64_t x) { return x < narrow_limit; });
  });
  batch.resize(count, order, narrow);
  std::vector<Slice> slices((count + slice_entries - 1) / slice_entries);
  executor_->run(slices.size(), [&](std::size_t task) {
    const std::size_t first = task * slice_entries;
    copy(batch, first, std::min(slice_entries, count - first), slices[task]);
  });
  batch.upper.assign(order, 0);
  for (const Slice& slice : slices) {
    if (slice.refused != no_entry) refuse_entry(slice.refused);
    for (std::size_t n = 0; n < order; ++n) batch.upper[n] = std::max(batch.upper[n], slice.upper[n]);
  }
  taken_ += count;
  return true;
}

// Entries [first, first + count) of the batch.
void ArrayReader::copy(CoordinateBatch& batch, std::size_t first, std::size_t count, Slice& slice) const {
  const std::size_t order = limits_.size();
  const auto begin = static_cast<std::size_t>(taken_) + first;
  slice.upper.assign(order, 0);
  bool acceptable = true;
  for (std::size_t n = 0; n < order; ++n) {
    std::visit(
        [&](const auto& numbers) {
          for (std::size_t i = 0; i < count; ++i) {
            const std::uint64_t at = numbers[begin + i];
            slice.upper[n] = std::max(slice.upper[n], at);
            batch.set(first + i, n, at);
          }
        },
        arrays_->coordinates[n]);
    acceptable = acceptable && slice.upper[n] < limits_[n];
  }
  for (std::size_t i = 0; i < count; ++i) {
    const double value = arrays_->values.empty() ? 1.0 : arrays_->values[begin + i];
    batch.values[first + i] = value;
    acceptable = acceptable && std::isfinite(value);
  }
  if (acceptable) return;
  slice.refused = begin;
  while (is_acceptable(slice.refused)) ++slice.refused;
}

std::uint64_t ArrayReader::coordinate(std::uint64_t entry, std::size_t mode) const {
  return std::visit([&](const auto& numbers) -> std::uint64_t { return numbers[static_cast<std::size_t>(entry)]; },
                    arrays_->coordinates[mode]);
}

bool ArrayReader::is_acceptable(std::uint64_t entry) const {
  for (std::size_t n = 0; n < limits_.size(); ++n) {
    if (coordinate(entry, n) >= limits_[n]) return false;
  }
  return arrays_->values.empty() || std::isfinite(arrays_->values[static_cast<std::size_t>(entry)]);
}

void ArrayReader::refuse_entry(std::uint64_t entry) const {
  const std::string place = "entry " + std::to_string(entry) + " of the coordinate arrays: ";
  for (std::size_t n = 0; n < limits_.size(); ++n) {
    if (coordinate(entry, n) < limits_[n]) continue;
    refuse(place + "the coordinate " + std::to_string(coordinate(entry, n)) + " in mode " + std::to_string(n) +
           " is not below the mode's length of " + std::to_string(limits_[n]) + "; coordinates count from 0");
  }
  refuse(place + "its value is not a finite number; remove the entry");
}

}  // namespace blco
