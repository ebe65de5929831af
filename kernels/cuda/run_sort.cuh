// Sorts, coalesces and packs runs of nonzeros by Thrust: on a GPU, and by Thrust's CPU backend in tests.
//
// Coordinates become lines by bit deposit; stable radix sorts of 64-bit words order them, the low word first; one
// thread coalesces the duplicates of a line, left to right; one thread packs a frame.
#pragma once

#include <thrust/find.h>
#include <thrust/for_each.h>
#include <thrust/functional.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "blco/coalesce_values.hpp"
#include "blco/frame_encoder.hpp"
#include "blco/payload_builder.hpp"
#include "kernels/run_device.hpp"

namespace blco::run_sort {

using Word = std::uint64_t;
using Index = thrust::counting_iterator<Word>;

// Peak device memory of an entry, for lines of one word and of two; and what does not grow with a run.
constexpr Word narrow_entry_bytes = 36, wide_entry_bytes = 72, fixed_bytes = Word{64} << 20;
constexpr Word max_run_entries = (Word{1} << 31) - 1;

// A Device has memory (an allocator of char), copies to and from it, and Thrust's policy. to_host() and wait() wait.
template <class Device>
struct Release {
  Device* device;
  void operator()(void* data) const { device->deallocate(static_cast<char*>(data), 0); }
};
template <class T, class Device>
using Array = std::unique_ptr<T[], Release<Device>>;
template <class T, class Device>
Array<T, Device> make_array(Device& device, Word count) {
  char* data = device.allocate(static_cast<std::ptrdiff_t>(count * sizeof(T)));
  return Array<T, Device>(reinterpret_cast<T*>(data), Release<Device>{&device});
}

// Makes lines of coordinates in host memory. `key` may be null.
template <class Coordinate, class Device>
void load(Device& device, const LayoutView& view, std::span<const Coordinate> coordinates, Word* low, Word* key) {
  if (coordinates.empty()) return;
  const auto order = static_cast<Word>(view.order);
  const auto staged = make_array<Coordinate>(device, coordinates.size());
  const Coordinate* from = staged.get();
  device.to_device(staged.get(), coordinates.data(), coordinates.size_bytes());
  thrust::for_each_n(device.policy(), Index(0), coordinates.size() / order, [=] BLCO_HOST_DEVICE(Word i) {
    const LineIndex line = linearize_portable(view, from + i * order);
    low[i] = line.low;
    if (key != nullptr) key[i] = line.key;
  });
}

template <class Device>
void find_bounds(Device& device, const LayoutView& view, const Word* low, const Word* key, Word count,
                 DevicePackedChunk& chunk) {
  for (std::size_t n = 0; n < static_cast<std::size_t>(view.order); ++n) {
    const ModeLayout mode = view.modes[n];
    const auto coordinate = [=] BLCO_HOST_DEVICE(Word i) -> Word {
      const Word high = mode.high_mask == 0 ? 0 : pext_portable(key[i], mode.high_mask) << mode.low_bits;
      return high | pext_portable(low[i], mode.low_mask);
    };
    const auto reduce = [&](Word from, auto by) {
      return thrust::transform_reduce(device.policy(), Index(0), Index(count), coordinate, from, by);
    };
    chunk.lower.push_back(reduce(~Word{0}, thrust::minimum<Word>()));
    chunk.upper.push_back(reduce(0, thrust::maximum<Word>()));
  }
}

template <class Value, class Device>
std::vector<std::byte> pack_column(Device& device, const Value* column, Word count, Codec codec, Word base) {
  const FrameCoding coding = codec == Codec::line ? FrameCoding::differences : FrameCoding::plain;
  const Word frames = (count + frame_entries - 1) / frame_entries;
  constexpr Word header = sizeof(PayloadHeader) / sizeof(Word);
  const auto planned = make_array<FramePlan>(device, frames);
  const auto placed = make_array<Word>(device, frames + 1);
  FramePlan* plans = planned.get();
  Word* starts = placed.get();  // of each frame in the payload, and the end
  thrust::for_each_n(device.policy(), Index(0), frames, [=] BLCO_HOST_DEVICE(Word f) {
    plans[f] = plan_frame(ColumnFrame<Value>(column, count, f), coding, base);
    if (f == 0) starts[0] = header + frames;
    starts[f + 1] = frame_bytes(plans[f].shape) / sizeof(Word);
  });
  thrust::inclusive_scan(device.policy(), starts, starts + frames + 1, starts);
  Word end = 0;
  device.to_host(&end, starts + frames, sizeof(end));
  const auto packed = make_array<Word>(device, end - header);
  Word* table = packed.get();
  thrust::for_each_n(device.policy(), Index(0), frames, [=] BLCO_HOST_DEVICE(Word f) {
    table[f] = starts[f] | Word{pack_descriptor(plans[f].shape)} << 32;
    write_frame(ColumnFrame<Value>(column, count, f), coding, plans[f], table + (starts[f] - header));
  });
  PayloadBuilder builder(codec, count, 0, base);
  const std::span<std::byte> bytes = builder.add_packed((end - header) * sizeof(Word));
  device.to_host(bytes.data(), table, bytes.size());
  return builder.finish();
}

// Integers with an exact norm are packed here; other values come as they are.
template <class Device>
void pack_values(Device& device, const double* values, Word count, DevicePackedChunk& chunk) {
  const auto square = [] BLCO_HOST_DEVICE(double v) -> double { return is_integer(v) ? v * v : exact_integer_limit; };
  chunk.sum_of_squares =
      thrust::transform_reduce(device.policy(), values, values + count, square, 0.0, thrust::plus<double>());
  if (!(chunk.sum_of_squares < exact_integer_limit)) {
    chunk.values.resize(count);
    device.to_host(chunk.values.data(), values, count * sizeof(double));
    return;
  }
  std::vector<std::int64_t> smallest((count + frame_entries - 1) / frame_entries);
  const auto found = make_array<std::int64_t>(device, smallest.size());
  std::int64_t* of_frames = found.get();
  thrust::for_each_n(device.policy(), Index(0), smallest.size(),
                     [=] BLCO_HOST_DEVICE(Word f) { of_frames[f] = ColumnFrame<double>(values, count, f).smallest(); });
  device.to_host(smallest.data(), of_frames, smallest.size() * sizeof(std::int64_t));
  const bool are_ones = chunk.sum_of_squares == static_cast<double>(count) && std::ranges::min(smallest) == 1;
  const auto base = static_cast<Word>(shared_base(std::move(smallest)));
  if (!are_ones) chunk[Column::value] = pack_column(device, values, count, Codec::integer, base);
}

template <class Device>
class Run final : public DeviceRun {
 public:
  Run(Device& device, const TensorLayout& layout, std::span<const CoordinateSlice> slices)
      : device_(&device), view_(layout.view()) {
    for (const CoordinateSlice& slice : slices) count_ += slice.values.size();
    low_ = make_array<Word>(device, count_);
    if (layout.has_high_word()) key_ = make_array<Word>(device, count_);
    values_ = make_array<double>(device, count_);
    Word *low = low_.get(), *key = key_.get();
    double* values = values_.get();
    for (Word at = 0; const CoordinateSlice& slice : slices) {
      Word* key_at = key == nullptr ? nullptr : key + at;
      load(device, view_, slice.narrow, low + at, key_at);
      load(device, view_, slice.wide, low + at, key_at);
      device.to_device(values + at, slice.values.data(), slice.values.size_bytes());
      at += slice.values.size();
    }
    if (key == nullptr) {
      thrust::stable_sort_by_key(device.policy(), low, low + count_, values);
    } else {
      thrust::stable_sort_by_key(device.policy(), low, low + count_, thrust::make_zip_iterator(key, values));
      thrust::stable_sort_by_key(device.policy(), key, key + count_, thrust::make_zip_iterator(low, values));
    }
    device.wait();  // a device that reads pageable memory itself may be reading the caller's until now
  }

  std::uint64_t count() const override { return count_; }

  double magnitude() const override {
    const auto of = [] BLCO_HOST_DEVICE(double v) -> double {
      return v == trunc(v) ? fabs(v) : 2 * exact_integer_limit;
    };
    const double* values = values_.get();
    return thrust::transform_reduce(device_->policy(), values, values + count_, of, 0.0, thrust::plus<double>());
  }

  std::optional<LineIndex> coalesce(DuplicatePolicy policy) override {
    const LineColumns lines{low_.get(), key_.get(), count_};
    auto results = make_array<double>(*device_, count_);
    double* coalesced = results.get();
    const double* values = values_.get();
    thrust::for_each_n(device_->policy(), Index(0), count_,
                       [=] BLCO_HOST_DEVICE(Word i) { coalesced[i] = lines.coalesce(policy, values, i); });
    const auto is_refused = [=] BLCO_HOST_DEVICE(Word i) -> bool {
      return policy == DuplicatePolicy::error ? !lines.is_first(i) : coalesced[i] - coalesced[i] != 0;
    };
    const Word refused = *thrust::find_if(device_->policy(), Index(0), Index(count_), is_refused);
    if (refused < count_) return line(refused);
    const auto keep_first_of = [&](auto first) {  // of equal lines, with what has become of them
      return thrust::unique_by_key(device_->policy(), first, first + count_, coalesced).second - coalesced;
    };
    count_ = static_cast<Word>(key_ ? keep_first_of(thrust::make_zip_iterator(low_.get(), key_.get()))
                                    : keep_first_of(low_.get()));
    values_ = std::move(results);
    return std::nullopt;
  }

  void copy(Word first, Word count, Word* low, Word* key, double* values) const override {
    device_->to_host(low, low_.get() + first, count * sizeof(Word));
    if (key_) device_->to_host(key, key_.get() + first, count * sizeof(Word));
    device_->to_host(values, values_.get() + first, count * sizeof(double));
  }

  DevicePackedChunk pack(Word first, Word count) const override {
    DevicePackedChunk chunk;
    const LineIndex base = line(first);
    const Word *low = low_.get() + first, *key = key_ ? key_.get() + first : nullptr;
    find_bounds(*device_, view_, low, key, count, chunk);
    chunk[Column::index] = pack_column(*device_, low, count, Codec::line, base.low);
    if (key_) chunk[Column::high_word] = pack_column(*device_, key, count, Codec::line, base.key);
    pack_values(*device_, values_.get() + first, count, chunk);
    return chunk;
  }

 private:
  LineIndex line(Word i) const {
    LineIndex found;
    double value = 0;
    copy(i, 1, &found.low, &found.key, &value);
    return found;
  }

  Device* device_;
  LayoutView view_;
  Word count_ = 0;
  Array<Word, Device> low_, key_;  // the key is null for lines of up to 64 bits
  Array<double, Device> values_;
};

template <class Device>
class Sorter final : public RunDevice {
 public:
  Word max_entries(bool has_high_word) const override {
    const Word room = std::max(device_.free_bytes(), fixed_bytes) - fixed_bytes;
    return std::min(max_run_entries, room / (has_high_word ? wide_entry_bytes : narrow_entry_bytes));
  }
  std::unique_ptr<DeviceRun> sort(const TensorLayout& layout, std::span<const CoordinateSlice> entries) override {
    return std::make_unique<Run<Device>>(device_, layout, entries);
  }

 private:
  Device device_;
};

}  // namespace blco::run_sort
