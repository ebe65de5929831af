// Measures what a pass is limited by: link and device memory by large copies, the L2 cache by reads and by atomic
// additions that stay within it.
#include <algorithm>
#include <vector>

#include "kernels/cuda/device_memory.hpp"
#include "kernels/cuda/launch.cuh"
#include "kernels/device_kind.hpp"
#include "tests/bench/machine/device_peaks.hpp"

namespace blco {
namespace {

using namespace cuda;

// Well beyond any cache, but small compared to a device's memory.
constexpr std::uint64_t max_copy_bytes = std::uint64_t{256} << 20;
constexpr std::size_t repeats = 7;
// What stays in the cache is gone through so often that the launch costs little beside it.
constexpr int rounds = 32;
constexpr unsigned probe_threads = 256;
// Half of the threads that a multiprocessor holds, with four reads of each on their way, hide the latency.
constexpr unsigned blocks_of_multiprocessor = 4;
constexpr unsigned reads_in_flight = 4;

using Word = unsigned long long;

// Reads past the L1 cache. `count` is a multiple of the threads' reads in flight.
__global__ void read_kernel(const Word* from, std::uint64_t count) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  Word mixed = 0;
  for (int round = 0; round < rounds; ++round) {
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += reads_in_flight * step)
      mixed ^= __ldcg(from + i) ^ __ldcg(from + i + step) ^ __ldcg(from + i + 2 * step) ^ __ldcg(from + i + 3 * step);
  }
  // Never so for the bytes that are read, which the compiler cannot know: it has to load.
  if (mixed == 2) __threadfence();
}

template <class Float>
__global__ void add_kernel(Float* to, std::uint64_t count) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (int round = 0; round < rounds; ++round) {
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step)
      atomicAdd(to + i, Float{1});
  }
}

// Median of how many of `amount` a second the work does that `queue_work` queues. Its first run is not counted.
template <class Work>
double median_speed(double amount, Stream& stream, const Work& queue_work) {
  Event begin(Event::Timing::on);
  Event end(Event::Timing::on);
  std::vector<double> speeds;
  for (std::size_t i = 0; i <= repeats; ++i) {
    begin.record(stream.get());
    queue_work();
    end.record(stream.get());
    end.wait("measuring the device");
    if (i > 0) speeds.push_back(amount / (end.milliseconds_since(begin) / 1000));
  }
  std::ranges::sort(speeds);
  return speeds[repeats / 2];
}

}  // namespace

DeviceBandwidths measure_device_bandwidths() {
  const DeviceSearch found = find_device();
  if (!found.limits) throw Error(found.kind, "no GPU: " + found.text());
  const LaunchShape shape{static_cast<unsigned>(found.limits->multiprocessors) * blocks_of_multiprocessor,
                          probe_threads};
  const std::uint64_t at_once = std::uint64_t{reads_in_flight} * shape.blocks * shape.threads;
  const std::uint64_t bytes = std::max(std::min(max_copy_bytes, found.limits->free_bytes / 8), at_once * sizeof(Word));
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

  // A quarter stays in the cache even where each half of it holds a copy.
  const std::uint64_t cached = std::min(found.limits->l2_bytes / 4, bytes) / sizeof(Word);
  const std::uint64_t count = std::max<std::uint64_t>(cached / at_once, 1) * at_once;
  const double numbers = static_cast<double>(rounds) * static_cast<double>(count);
  measured.cache_bytes_per_second = median_speed(numbers * sizeof(Word), stream, [&] {
    launch("reads within the cache", read_kernel, shape, stream.get(), from.as<Word>(), count);
  });
  measured.f64_additions_per_second = median_speed(numbers, stream, [&] {
    launch("atomic additions", add_kernel<double>, shape, stream.get(), to.as<double>(), count);
  });
  measured.f32_additions_per_second = median_speed(numbers, stream, [&] {
    launch("atomic additions", add_kernel<float>, shape, stream.get(), to.as<float>(), count);
  });
  return measured;
}

}  // namespace blco
