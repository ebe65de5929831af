// Copies batches of the arrays side by side, looking for what is not acceptable on the way.
#include "engine/ingest/input/array_reader.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <variant>

#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/common/index_view.hpp"

namespace blco {
namespace {

constexpr std::size_t batch_entries = std::size_t{1} << 18;
constexpr std::size_t slice_entries = std::size_t{1} << 14;
constexpr std::uint64_t narrow_limit = std::uint64_t{1} << 32;
// What a negative number becomes is not below it.
constexpr std::uint64_t first_negative = std::uint64_t{1} << 63;
constexpr std::uint64_t no_entry = std::numeric_limits<std::uint64_t>::max();

bool is_signed(const IndexView& view) {
  return std::visit([](const auto& numbers) { return std::is_signed_v<decltype(numbers[0])>; }, view);
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
  for (std::size_t n = 0; n < order; ++n) {
    check_view(arrays.coordinates[n], "the coordinates of mode " + std::to_string(n));
  }
  check_view(arrays.values, "the values");
  count_ = size_of(arrays.coordinates[0]);
  for (std::size_t n = 1; n < order; ++n) {
    if (size_of(arrays.coordinates[n]) != count_) {
      refuse("the coordinate array of mode " + std::to_string(n) + " has " +
             std::to_string(size_of(arrays.coordinates[n])) + " entries, but that of mode 0 has " +
             std::to_string(count_) + "; give arrays of one length");
    }
  }
  const std::size_t values = size_of(arrays.values);
  if (values != 0 && values != count_) {
    refuse("there are " + std::to_string(values) + " values for " + std::to_string(count_) +
           " entries; give one value per entry, or none if all values are 1");
  }
  if (!arrays.labels.empty() && arrays.labels.size() != order) {
    refuse("there are labels of " + std::to_string(arrays.labels.size()) + " modes, but " + std::to_string(order) +
           " coordinate arrays; give a list per mode, empty for one without");
  }
  if (count_ == 0) refuse("the coordinate arrays have no nonzeros; a tensor requires at least one");
  // A mode's length is a 64-bit number too.
  if (limits_.empty()) limits_.assign(order, std::numeric_limits<std::uint64_t>::max());
  for (std::size_t n = 0; n < order; ++n) {
    if (is_signed(arrays.coordinates[n])) limits_[n] = std::min(limits_[n], first_negative);
    const std::uint64_t labels = arrays.labels.empty() ? 0 : arrays.labels[n].size();
    if (labels == 0) continue;
    if (!shape.empty() && shape[n] != labels) {
      refuse("mode " + std::to_string(n) + " has " + std::to_string(labels) + " labels, but " + option_name("shape") +
             " gives it a length of " + std::to_string(shape[n]) + "; give one label per index");
    }
    limits_[n] = labels;
  }
}

std::vector<std::uint64_t> ArrayReader::find_extents() const {
  std::vector<std::uint64_t> extents(limits_.size());
  executor_->run(extents.size(), [&](std::size_t n) {
    std::visit(
        [&](const auto& numbers) {
          for (std::size_t i = 0; i < numbers.count; ++i) {
            extents[n] = std::max(extents[n], static_cast<std::uint64_t>(numbers[i]));
          }
        },
        arrays_->coordinates[n]);
  });
  for (std::size_t n = 0; n < extents.size(); ++n) {
    if (extents[n] >= limits_[n]) return {};
    extents[n] = has_labels(n) ? limits_[n] : extents[n] + 1;
  }
  return extents;
}

bool ArrayReader::next(CoordinateBatch& batch) {
  if (taken_ == count_) return false;
  const std::size_t order = limits_.size();
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(batch_entries, count_ - taken_));
  const auto begin = static_cast<std::size_t>(taken_);
  const bool narrow = std::ranges::all_of(arrays_->coordinates, [&](const IndexView& view) {
    return std::visit(
        [&](const auto& numbers) {
          if constexpr (sizeof(numbers[0]) == sizeof(std::uint32_t)) return true;
          std::uint64_t bits = 0;
          for (std::size_t i = 0; i < count; ++i) bits |= static_cast<std::uint64_t>(numbers[begin + i]);
          return bits < narrow_limit;
        },
        view);
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
            const auto index = static_cast<std::uint64_t>(numbers[begin + i]);
            slice.upper[n] = std::max(slice.upper[n], index);
            batch.set(first + i, n, index);
          }
        },
        arrays_->coordinates[n]);
    acceptable = acceptable && slice.upper[n] < limits_[n];
  }
  std::visit(
      [&](const auto& values) {
        for (std::size_t i = 0; i < count; ++i) {
          const double value = values.count == 0 ? 1.0 : values[begin + i];
          batch.values[first + i] = value;
          acceptable = acceptable && std::isfinite(value);
        }
      },
      arrays_->values);
  if (acceptable) return;
  slice.refused = begin;
  while (is_acceptable(slice.refused)) ++slice.refused;
}

bool ArrayReader::is_acceptable(std::uint64_t entry) const {
  for (std::size_t n = 0; n < limits_.size(); ++n) {
    if (index_at(arrays_->coordinates[n], static_cast<std::size_t>(entry)) >= limits_[n]) return false;
  }
  return std::visit(
      [&](const auto& values) { return values.count == 0 || std::isfinite(values[static_cast<std::size_t>(entry)]); },
      arrays_->values);
}

void ArrayReader::refuse_entry(std::uint64_t entry) const {
  const std::string place = "entry " + std::to_string(entry) + " of the coordinate arrays: ";
  for (std::size_t n = 0; n < limits_.size(); ++n) {
    const IndexView& view = arrays_->coordinates[n];
    const auto i = static_cast<std::size_t>(entry);
    const std::uint64_t index = index_at(view, i);
    if (index < limits_[n]) continue;
    const bool is_beyond_labels = has_labels(n) && index < first_negative;
    refuse(place + index_fault(view, i, n, limits_[n]) +
           (is_beyond_labels ? "; the mode is as long as its list of labels: give one per index" : ""));
  }
  refuse(place + "its value is not a finite number; remove the entry");
}

}  // namespace blco
