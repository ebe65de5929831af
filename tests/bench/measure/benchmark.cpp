#include "tests/bench/measure/benchmark.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "engine/fit/check_options.hpp"
#include "engine/fit/initial_factors.hpp"
#include "engine/stream/streamer.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "engine/work/job.hpp"
#include "kernels/host/arranged_nonzeros.hpp"
#include "tests/bench/machine/device_peaks.hpp"
#include "tests/bench/machine/machine_peaks.hpp"
#include "tests/bench/measure/pass_traffic.hpp"
#include "tests/bench/measure/stopwatch.hpp"

namespace blco {
namespace {

// More chunks than any overlap of reading, copying and computing has on their way.
constexpr int max_slots = 64;

constexpr std::uint64_t copy_bytes = std::uint64_t{256} << 20;
constexpr int copy_repeats = 5;

// Within a core's first cache, where rows that occur again soon are loaded from.
constexpr std::uint64_t cached_bytes = std::uint64_t{16} << 10;

// Bytes read and written per second by a copy on all threads.
double measure_host_copy(ThreadPool& pool) {
  std::vector<std::byte> from(copy_bytes, std::byte{1});
  std::vector<std::byte> to(copy_bytes);
  const auto parts = static_cast<std::size_t>(pool.width());
  std::vector<double> seconds;
  for (int i = 0; i < copy_repeats; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    pool.run(parts, [&](std::size_t part) {
      const std::size_t first = copy_bytes * part / parts;
      std::memcpy(to.data() + first, from.data() + first, copy_bytes * (part + 1) / parts - first);
    });
    seconds.push_back(seconds_since(begin));
  }
  return 2 * static_cast<double>(copy_bytes) / median(seconds);
}

std::uint64_t host_cache_bytes() {
  const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? static_cast<std::uint64_t>(bytes) : std::uint64_t{1} << 20;
}

PassMeasurement measure_pass(Streamer& streamer, const PassRequest& request, const PassLoad& load, int repeats) {
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) {
    const Direction direction = direction_of(request, static_cast<std::uint64_t>(i) + 1);
    seconds.push_back(seconds_of([&] { streamer.pass(request, direction); }));
  }
  PassMeasurement measured;
  measured.mode = load.mode;
  measured.seconds = median(seconds);
  measured.min_seconds = std::ranges::min(seconds);
  measured.nonzeros_per_second = static_cast<double>(load.nnz) / measured.seconds;
  return measured;
}

void set_traffic(const PassTraffic& traffic, const BenchmarkReport& report, PassMeasurement& pass) {
  pass.link_bytes = traffic.link_bytes;
  pass.disk_bytes = traffic.disk_bytes;
  pass.memory_bytes = traffic.memory_bytes;
  if (report.link_bytes_per_second > 0) pass.link_share = pass.link_bytes / pass.seconds / report.link_bytes_per_second;
  pass.memory_share = pass.memory_bytes / pass.seconds / report.memory_bytes_per_second;
  pass.cache_bytes = traffic.cache_bytes;
  if (report.cache_bytes_per_second > 0)
    pass.cache_share = pass.cache_bytes / pass.seconds / report.cache_bytes_per_second;
  pass.additions = traffic.additions;
  if (report.additions_per_second > 0)
    pass.additions_share = pass.additions / pass.seconds / report.additions_per_second;
}

void measure_device(const DeviceLimits& limits, Precision precision, BenchmarkReport& report) {
  const DeviceBandwidths device = measure_device_bandwidths();
  report.link_bytes_per_second = device.link_bytes_per_second;
  report.memory_bytes_per_second = device.memory_bytes_per_second;
  report.cache_bytes_per_second = device.cache_bytes_per_second;
  report.additions_per_second =
      precision == Precision::f32 ? device.f32_additions_per_second : device.f64_additions_per_second;
  report.multiprocessors = limits.multiprocessors;
  report.cache_size = limits.l2_bytes;
}

std::array<std::pair<double, const char*>, 4> shares(const PassMeasurement& pass) {
  return {{{pass.link_share, "link"},
           {pass.memory_share, "memory"},
           {pass.cache_share, "cache"},
           {pass.additions_share, "atomic additions"}}};
}

}  // namespace

double PassMeasurement::largest_share() const { return std::ranges::max(shares(*this)).first; }
const char* PassMeasurement::bound() const { return std::ranges::max(shares(*this)).second; }

double BenchmarkReport::loss_ratio() const {
  double seconds = 0;
  for (const PassMeasurement& pass : passes) seconds += pass.seconds;
  return loss_pass->seconds / seconds;
}

double BenchmarkReport::mean_speed() const {
  double logarithms = 0;
  for (const PassMeasurement& pass : passes) logarithms += std::log(pass.nonzeros_per_second);
  return std::exp(logarithms / static_cast<double>(passes.size()));
}

BenchmarkReport benchmark_mttkrp(const Tensor& tensor, const BenchmarkOptions& benchmark, const CpdOptions& options) {
  if (benchmark.repeats < 1) throw Error(ErrorKind::invalid_argument, option_name("repeats") + " must be at least 1");
  if (benchmark.slots != 0 && (benchmark.slots < 2 || benchmark.slots > max_slots)) {
    throw Error(ErrorKind::invalid_argument, option_name("slots") + " must be 0, or from 2 to " +
                                                 std::to_string(max_slots) + ", not " +
                                                 std::to_string(benchmark.slots));
  }
  check_options(tensor.summary(), options);
  if (benchmark.loss) check_parameter(*benchmark.loss);
  for (const double share : {benchmark.device_share, benchmark.host_share}) {
    if (!(share >= 0 && share <= 1)) {
      throw Error(ErrorKind::invalid_argument, "a share of the chunks must be from 0 to 1");
    }
  }
  JobNeeds needs = needs_of(tensor, options.rank, options.compute.precision);
  needs.slots = benchmark.slots;
  needs.backend.gpu.conflict_resolution = benchmark.conflict_resolution;
  needs.backend.gpu.variant = benchmark.variant;
  needs.backend.gpu.blocks_per_multiprocessor = benchmark.blocks_per_multiprocessor;
  needs.backend.all_outputs = needs.backend.loss_passes = benchmark.loss.has_value();
  needs.shares = {benchmark.device_share, benchmark.host_share};
  Job job(tensor, options.compute, needs);
  BenchmarkReport report;
  if (job.device() != nullptr) {
    measure_device(*job.device(), options.compute.precision, report);
  } else {
    report.cache_size = host_cache_bytes();
    report.memory_bytes_per_second = measure_host_copy(job.pool());
    report.cache_bytes_per_second = measure_loads(job.pool(), cached_bytes, {});
  }
  OriginalRows rows(TensorChunks::of(tensor), job.backend(), options.rank, job.device() != nullptr);
  load_initial_factors(tensor.summary(), options, nullptr, rows);
  const std::unique_ptr<Streamer> streamer = job.make_streamer();
  report.plan = job.describe();

  streamer->pass(0, Direction::forward);
  const auto measure = [&](const PassRequest& pass_request, const PassLoad& load) {
    // Chunks are arranged only after some passes; these come before the measured ones.
    const int warming = report.plan.decoded_chunks > 0 ? passes_before_arranging + 1 : 0;
    for (int i = 0; i < warming; ++i) streamer->pass(pass_request, direction_of(pass_request, 0));
    PassMeasurement pass = measure_pass(*streamer, pass_request, load, benchmark.repeats);
    set_traffic(traffic_of(load, report.cache_size), report, pass);
    return pass;
  };
  const std::vector<PassLoad> loads = loads_of(job);
  for (const PassLoad& load : loads) report.passes.push_back(measure(load.mode, load));
  if (benchmark.loss) {
    const ModeSet all = all_modes(static_cast<int>(loads.size()));
    report.loss_pass = measure(PassRequest({.rule = EntryRule::given, .loss = *benchmark.loss}, all), loss_load(loads));
  }
  job.close_trace();
  return report;
}

}  // namespace blco
