// Measures the bandwidth of the link and of device memory with large copies.
#include <algorithm>
#include <vector>

#include "kernels/cuda/device_memory.hpp"
#include "kernels/cuda_backend.hpp"

namespace blco {
namespace {

using namespace cuda;

// Well beyond any cache, but small compared to a device's memory.
constexpr std::uint64_t max_copy_bytes = std::uint64_t{256} << 20;
constexpr std::size_t repeats = 7;

// Median bytes per second of the copy that `copy` queues.
template <class Copy>
double median_speed(double bytes, Stream& stream, const Copy& copy) {
  Event begin(Event::Timing::on);
  Event end(Event::Timing::on);
  std::vector<double> speeds;
  for (std::size_t i = 0; i < repeats; ++i) {
    begin.record(stream.get());
    copy();
    end.record(stream.get());
    end.wait("measuring a copy");
    speeds.push_back(bytes / (end.milliseconds_since(begin) / 1000));
  }
  std::ranges::sort(speeds);
  return speeds[repeats / 2];
}

}  // namespace

DeviceBandwidths measure_device_bandwidths() {
  const DeviceSearch found = find_device();
  if (!found.limits) throw Error(found.kind, "no GPU: " + found.reason);
  const std::uint64_t bytes = std::min(max_copy_bytes, found.limits->free_bytes / 8);
  const DeviceBuffer from(bytes, "measuring");
  const DeviceBuffer to(bytes, "measuring");
  PinnedBuffer host(bytes);
  std::ranges::fill(host.bytes(), std::byte{1});
  Stream stream;
  const auto size = static_cast<double>(bytes);
  DeviceBandwidths measured;
  measured.link_bytes_per_second =
      median_speed(size, stream, [&] { copy_to_device(from.as<void>(), host.bytes(), stream.get()); });
  measured.memory_bytes_per_second =
      median_speed(2 * size, stream, [&] { copy_on_device(to.as<void>(), from.as<void>(), bytes, stream.get()); });
  return measured;
}

}  // namespace blco
