// Measures what a device does at most: bytes loaded from shared memory, the L2 cache and device memory, and fused
// multiply-adds. Every probe stores what it loaded or computed in sum, and the sums are checked.
#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/device_memory.hpp"
#include "kernels/cuda/launch.cuh"
#include "kernels/device_kind.hpp"
#include "tests/bench/machine/device_peaks.hpp"

namespace blco {
namespace {

using namespace cuda;

// Half of the threads that a multiprocessor holds, with some loads or chains of each on their way, hide the latency.
constexpr unsigned blocks_of_multiprocessor = 4;
constexpr unsigned probe_threads = 256;
constexpr unsigned loads_in_flight = 4;
constexpr unsigned shared_rows = 8;  // of a word for each thread: 16 KiB for a block
constexpr int chains = 8;
constexpr int steps_of_round = 64;
// Little of this is still in the cache when it is loaded again.
constexpr std::uint64_t large_bytes = std::uint64_t{1} << 30;
constexpr std::uint64_t max_rounds = std::uint64_t{1} << 24;

constexpr unsigned warp_lanes = 32;
constexpr unsigned all_lanes = ~0U;
constexpr unsigned hot_rows = 79;  // of a short mode, such as the hours of three days

using Word = unsigned long long;

// Every word differs, so that one left out, or loaded twice, shows in the sum.
constexpr Word multiplier = 0x9e3779b97f4a7c15U;

__device__ Word word_at(std::uint64_t i) { return i * multiplier + 1; }

// Sum of word_at(i) over i in [0, count), modulo 2^64.
Word sum_of_words(std::uint64_t count) {
  return (count % 2 == 0 ? count / 2 * (count - 1) : (count - 1) / 2 * count) * multiplier + count;
}

__device__ std::uint64_t grid_thread() { return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; }

__global__ void fill_kernel(Word* to, std::uint64_t count) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = grid_thread(); i < count; i += step) to[i] = word_at(i);
}

// Past the L1 cache. `count` is a multiple of the grid's loads in flight.
__global__ void load_kernel(const Word* from, std::uint64_t count, std::uint64_t rounds, Word* sums) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  Word sum = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (std::uint64_t i = grid_thread(); i < count; i += loads_in_flight * step)
      sum += __ldcg(from + i) + __ldcg(from + i + step) + __ldcg(from + i + 2 * step) + __ldcg(from + i + 3 * step);
  }
  sums[grid_thread()] = sum;
}

__global__ void load_shared_kernel(std::uint64_t rounds, Word* sums) {
  __shared__ Word words[shared_rows * probe_threads];
  // Volatile: else a thread keeps in registers what it stored.
  volatile Word* const own = words + threadIdx.x;
  for (unsigned row = 0; row < shared_rows; ++row)
    own[row * probe_threads] = word_at(row * probe_threads + threadIdx.x);
  Word sum = 0;
#pragma unroll 4
  for (std::uint64_t round = 0; round < rounds; ++round) {
#pragma unroll
    for (unsigned row = 0; row < shared_rows; ++row) sum += own[row * probe_threads];
  }
  sums[grid_thread()] = sum;
}

// x -> x / 2 + 1 in independent chains, each of which comes to 2.
template <class Float>
__global__ void multiply_add_kernel(std::uint64_t rounds, double* sums) {
  Float numbers[chains];
#pragma unroll
  for (int c = 0; c < chains; ++c) numbers[c] = static_cast<Float>(threadIdx.x + c);
  for (std::uint64_t round = 0; round < rounds; ++round) {
#pragma unroll
    for (int step = 0; step < steps_of_round; ++step) {
#pragma unroll
      for (int c = 0; c < chains; ++c) numbers[c] = numbers[c] * Float{0.5} + Float{1};
    }
  }
  Float sum = 0;
#pragma unroll
  for (int c = 0; c < chains; ++c) sum += numbers[c];
  sums[grid_thread()] = static_cast<double>(sum);
}

// Each warp adds a row of a number for each lane to one of `hot_rows`, which so all add to at once.
__global__ void add_rows_kernel(std::uint64_t rounds, double* rows) {
  const std::uint64_t warp = grid_thread() / warp_lanes;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    atomicAdd(rows + (warp + round) % hot_rows * warp_lanes + threadIdx.x % warp_lanes, 1.0);
  }
}

// The sum of `rows`, as a whole number.
__global__ void sum_rows_kernel(const double* rows, Word* sums) {
  double sum = 0;
  for (unsigned i = 0; grid_thread() == 0 && i < hot_rows * warp_lanes; ++i) sum += rows[i];
  sums[grid_thread()] = static_cast<Word>(sum);
}

// No lane is alone, which the compiler does not know: each round waits for the last.
__global__ void match_kernel(unsigned values, std::uint64_t rounds, Word* sums) {
  unsigned value = threadIdx.x % values;
  Word sum = 0;
#pragma unroll 8
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const unsigned equal = __match_any_sync(all_lanes, value);
    sum += static_cast<Word>(__popc(equal));
    value += equal == 0;
  }
  sums[grid_thread()] = sum;
}

__global__ void ballot_kernel(std::uint64_t rounds, Word* sums) {
  unsigned value = threadIdx.x % 2;
  Word sum = 0;
#pragma unroll 8
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const unsigned odd = __ballot_sync(all_lanes, value != 0);
    sum += static_cast<Word>(__popc(odd));
    value += odd == 0;
  }
  sums[grid_thread()] = sum;
}

// All lanes load one word.
__global__ void broadcast_kernel(std::uint64_t rounds, Word* sums) {
  __shared__ Word words[shared_rows];
  if (threadIdx.x < shared_rows) words[threadIdx.x] = word_at(threadIdx.x);
  __syncthreads();
  volatile const Word* const from = words;
  Word sum = 0;
#pragma unroll 4
  for (std::uint64_t round = 0; round < rounds; ++round) {
#pragma unroll
    for (unsigned row = 0; row < shared_rows; ++row) sum += from[row];
  }
  sums[grid_thread()] = sum;
}

class Prober {
 public:
  Prober(const DeviceLimits& limits, const PeakEffort& effort)
      : effort_(effort),
        shape_{static_cast<unsigned>(limits.multiprocessors) * blocks_of_multiprocessor, probe_threads},
        threads_(std::uint64_t{shape_.blocks} * shape_.threads),
        sums_(threads_ * sizeof(Word), "measuring"),
        host_sums_(threads_ * sizeof(Word)) {}

  // Words that a probe loads of `bytes`: a whole number for every thread.
  std::uint64_t words_of(std::uint64_t bytes) const {
    const std::uint64_t at_once = loads_in_flight * threads_;
    return std::max<std::uint64_t>(bytes / sizeof(Word) / at_once, 1) * at_once;
  }

  double load(const DeviceBuffer& from, std::uint64_t count) {
    launch("words to load", fill_kernel, shape_, stream_.get(), from.as<Word>(), count);
    return measure(static_cast<double>(count) * sizeof(Word), [&](std::uint64_t rounds) {
      launch("loads", load_kernel, shape_, stream_.get(), from.as<Word>(), count, rounds, sums_.as<Word>());
      return sum_of_words(count) * rounds;
    });
  }

  double load_shared() {
    const std::uint64_t count = shared_rows * probe_threads;
    return measure(static_cast<double>(count * shape_.blocks * sizeof(Word)), [&](std::uint64_t rounds) {
      launch("loads from shared memory", load_shared_kernel, shape_, stream_.get(), rounds, sums_.as<Word>());
      return sum_of_words(count) * shape_.blocks * rounds;
    });
  }

  template <class Float>
  double multiply_add() {
    // The bits of a sum, added as a word for each thread.
    const Word sum = std::bit_cast<Word>(2.0 * chains);
    return measure(2.0 * chains * steps_of_round * static_cast<double>(threads_), [&](std::uint64_t rounds) {
      launch("multiply-adds", multiply_add_kernel<Float>, shape_, stream_.get(), rounds, sums_.as<double>());
      return sum * threads_;
    });
  }

  // What a warp does at once, by names that say of what.
  std::vector<WarpSpeed> warps() {
    const double warps = static_cast<double>(threads_ / warp_lanes);
    std::vector<WarpSpeed> speeds;
    const auto add = [&](std::string name, double of_round, const auto& queue) {
      speeds.push_back({std::move(name), measure(of_round * warps, queue)});
    };
    const DeviceBuffer rows(hot_rows * warp_lanes * sizeof(double), "measuring");
    add("additions to 79 rows", 1, [&](std::uint64_t rounds) {
      fill_zero(rows.as<void>(), rows.bytes(), stream_.get());
      launch("additions", add_rows_kernel, shape_, stream_.get(), rounds, rows.as<double>());
      launch("sums", sum_rows_kernel, shape_, stream_.get(), rows.as<const double>(), sums_.as<Word>());
      return rounds * threads_;
    });
    for (const unsigned values : {1U, 8U, 32U}) {
      add("matches of " + std::to_string(values), 1, [&](std::uint64_t rounds) {
        launch("matches", match_kernel, shape_, stream_.get(), values, rounds, sums_.as<Word>());
        return rounds * threads_ * (warp_lanes / values);
      });
    }
    add("ballots", 1, [&](std::uint64_t rounds) {
      launch("ballots", ballot_kernel, shape_, stream_.get(), rounds, sums_.as<Word>());
      return rounds * threads_ * (warp_lanes / 2);
    });
    add("broadcast loads", shared_rows, [&](std::uint64_t rounds) {
      launch("broadcast loads", broadcast_kernel, shape_, stream_.get(), rounds, sums_.as<Word>());
      return sum_of_words(shared_rows) * threads_ * rounds;
    });
    return speeds;
  }

 private:
  // How much is done a second, by the best repeat. `queue` queues some rounds, of `amount` each, and returns the sum of
  // all threads' sums.
  template <class Queue>
  double measure(double amount, const Queue& queue) {
    std::uint64_t rounds = 1;
    while (seconds_of(queue, rounds) < effort_.seconds && rounds < max_rounds) rounds *= 2;
    double best = 0;
    for (int repeat = 0; repeat < std::max(effort_.repeats, 1); ++repeat) {
      best = std::max(best, amount * static_cast<double>(rounds) / seconds_of(queue, rounds));
    }
    return best;
  }

  template <class Queue>
  double seconds_of(const Queue& queue, std::uint64_t rounds) {
    begin_.record(stream_.get());
    const Word expected = queue(rounds);
    end_.record(stream_.get());
    copy_to_host(host_sums_.bytes(), sums_.as<void>(), stream_.get());
    copied_.record(stream_.get());
    copied_.wait("measuring the device");
    Word sum = 0;
    for (std::uint64_t i = 0; i < threads_; ++i) sum += host_sums_.as<Word>()[i];
    if (sum != expected) throw Error(ErrorKind::cuda, "numbers loaded or computed to measure the device are wrong");
    // An event's clock has a conflict resolution of half a microsecond.
    return std::max(end_.milliseconds_since(begin_), 1e-3) / 1000;
  }

  PeakEffort effort_;
  LaunchShape shape_;
  std::uint64_t threads_;
  DeviceBuffer sums_;
  PinnedBuffer host_sums_;
  Event begin_{Event::Timing::on};
  Event end_{Event::Timing::on};
  Event copied_;
  Stream stream_;
};

}  // namespace

DevicePeaks measure_device_peaks(const PeakEffort& effort) {
  const DeviceSearch found = find_device();
  if (!found.limits) throw Error(found.kind, "no GPU: " + found.text());
  const DeviceLimits& limits = *found.limits;
  Prober prober(limits, effort);
  const std::uint64_t wanted = std::min(std::max(large_bytes, 16 * limits.l2_bytes), limits.free_bytes / 8);
  // What the cache could hold would not be read from memory.
  const std::uint64_t large = std::max(wanted, 4 * limits.l2_bytes);
  // A quarter stays in the cache even where each half of it holds a copy.
  const std::uint64_t cached_words = prober.words_of(limits.l2_bytes / 4);
  const std::uint64_t words = std::max(prober.words_of(large), cached_words);
  const DeviceBuffer from(words * sizeof(Word), "measuring");
  DevicePeaks peaks;
  peaks.shared_bytes = shared_rows * probe_threads * sizeof(Word) * blocks_of_multiprocessor;
  peaks.shared_bytes_per_second = prober.load_shared();
  peaks.cache_bytes = cached_words * sizeof(Word);
  peaks.cache_bytes_per_second = prober.load(from, cached_words);
  peaks.memory_bytes = words * sizeof(Word);
  peaks.memory_bytes_per_second = prober.load(from, words);
  peaks.f64_flops_per_second = prober.multiply_add<double>();
  peaks.f32_flops_per_second = prober.multiply_add<float>();
  peaks.warps = prober.warps();
  return peaks;
}

}  // namespace blco
