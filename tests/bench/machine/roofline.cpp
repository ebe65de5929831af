#include "tests/bench/machine/roofline.hpp"

#include <algorithm>
#include <fstream>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/common/memory.hpp"
#include "engine/common/thread_pool.hpp"
#include "kernels/device_kind.hpp"
#include "tests/bench/machine/device_peaks.hpp"
#include "tests/bench/machine/host_caches.hpp"
#include "tests/bench/machine/machine_peaks.hpp"

namespace blco {
namespace {

constexpr std::uint64_t usual_memory_bytes = std::uint64_t{2} << 30;

double quotient(double of, double by) { return by > 0 ? of / by : 0; }

// "model name : Intel(R) Xeon(R)" on x86; other systems do not say.
std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line)) {
    if (!line.starts_with("model name")) continue;
    const std::size_t begin = line.find_first_not_of(" \t", line.find(':') + 1);
    if (begin != std::string::npos) return line.substr(begin);
  }
  return "CPU";
}

Roofline measure_host(const RooflineOptions& options, const PeakEffort& effort) {
  ThreadPool pool(options.threads);
  const int threads = pool.width();
  const HostCaches caches = find_host_caches();
  // The budget is four fifths of what is available.
  const std::uint64_t quarter = default_host_bytes() / 16 * 5;
  const std::uint64_t most = options.memory_bytes != 0 ? options.memory_bytes : std::min(usual_memory_bytes, quarter);
  Roofline roofline;
  roofline.device = processor_name();
  roofline.threads = threads;
  const auto add = [&](const char* name, std::uint64_t set_bytes) {
    const double speed = measure_loads(pool, set_bytes, effort);
    roofline.levels.push_back({name, set_bytes * static_cast<std::uint64_t>(threads), speed});
  };
  add("L1", l1_set_bytes(caches, threads));
  add("L2", l2_set_bytes(caches, threads));
  if (const std::uint64_t set_bytes = l3_set_bytes(caches, threads); set_bytes > 0) add("L3", set_bytes);
  add("memory", memory_set_bytes(caches, threads, most));
  roofline.peaks = {{"f64", measure_flops_f64(pool, effort)}, {"f32", measure_flops_f32(pool, effort)}};
  return roofline;
}

Roofline measure_device(const DeviceLimits& limits, const PeakEffort& effort) {
  const DevicePeaks peaks = measure_device_peaks(effort);
  Roofline roofline;
  roofline.device = limits.name;
  roofline.levels = {
      {"shared memory", peaks.shared_bytes * static_cast<std::uint64_t>(limits.multiprocessors),
       peaks.shared_bytes_per_second},
      {"L2", peaks.cache_bytes, peaks.cache_bytes_per_second},
      {"device memory", peaks.memory_bytes, peaks.memory_bytes_per_second},
  };
  roofline.peaks = {{"f64", peaks.f64_flops_per_second}, {"f32", peaks.f32_flops_per_second}};
  roofline.warps = peaks.warps;
  return roofline;
}

}  // namespace

double RooflinePoint::intensity() const { return quotient(flops, bytes); }
double RooflinePoint::flops_per_second() const { return quotient(flops, seconds); }
double RooflinePoint::bytes_per_second() const { return quotient(bytes, seconds); }

const RooflineLevel* Roofline::level_above(const RooflinePoint& point) const {
  const RooflineLevel* above = nullptr;
  for (const RooflineLevel& level : levels) {
    if (level.bytes_per_second >= point.bytes_per_second()) above = &level;
  }
  return above;
}

RooflineLimit Roofline::limit_share(const RooflinePoint& point) const {
  RooflineLimit most;
  const auto add = [&](const std::string& name, double amount, double per_second) {
    const double share = quotient(quotient(amount, per_second), point.seconds);
    if (share > most.share) most = {name, share};
  };
  for (const RooflinePeak& of : peaks) {
    if (of.name == point.peak) add(of.name, point.flops, of.flops_per_second);
  }
  add(levels.front().name, point.bytes, levels.front().bytes_per_second);
  const auto holds = [&](const RooflineLevel& level) { return static_cast<double>(level.bytes) >= point.set_bytes; };
  const auto found = std::ranges::find_if(levels, holds);
  const RooflineLevel& of_set = found == levels.end() ? levels.back() : *found;
  add(of_set.name, point.set_bytes, of_set.bytes_per_second);
  return most;
}

Roofline measure_roofline(const RooflineOptions& options) {
  if (options.repeats < 1) refuse(option_name("repeats") + " must be at least 1");
  if (!(options.seconds >= 0)) refuse(option_name("seconds") + " must be at least 0");
  const PeakEffort effort{.seconds = options.seconds, .repeats = options.repeats};
  if (options.devices == std::vector<std::string>{"cpu"}) return measure_host(options, effort);
  const DeviceSearch found = find_device();
  if (found.limits) return measure_device(*found.limits, effort);
  if (!options.devices.empty()) throw Error(found.kind, "no GPU: " + found.text());
  return measure_host(options, effort);
}

}  // namespace blco
