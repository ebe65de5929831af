#include "engine/work/device_list.hpp"

#include <algorithm>
#include <blco/peers.hpp>
#include <charconv>
#include <string_view>

#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/common/thread_pool.hpp"
#include "kernels/device_kind.hpp"

namespace blco {
namespace {

// What the memory of a GPU delivers, in that of a CPU's: 2 to 3.4 TB/s beside 0.2 to 0.3.
constexpr double share_of_gpu = 12;
constexpr double least_share = 1e-3;
constexpr int cpu_threads_of_gpu = 4;  // beside the CPU, all GPUs get one in so many

template <class Number>
std::optional<Number> parse(std::string_view text) {
  Number number{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

NamedDevice gpu(int number) {
  return {number == NamedDevice::current ? "cuda" : gpu_name(number), number, share_of_gpu};
}

NamedDevice parse_device(const std::string& word) {
  const std::size_t sign = word.find('=');
  const std::string name = word.substr(0, sign);
  constexpr std::string_view prefix = "cuda:";
  NamedDevice device{"cpu", std::nullopt};
  if (name != "cpu") {
    const int number = name.starts_with(prefix) ? parse<int>(name.substr(prefix.size())).value_or(-1) : -1;
    if (number < 0) {
      refuse("'" + word + "' in " + option_name("devices") +
             " is no device; give cpu, cuda:0, cuda:1 and so on, each with a share, such as cuda:0=12, or without, or "
             "cuda or all by itself");
    }
    device = gpu(number);
  }
  if (sign == std::string::npos) return device;
  const std::optional<double> share = parse<double>(std::string_view(word).substr(sign + 1));
  if (!share || !(*share >= least_share && *share <= 1 / least_share)) {
    refuse("'" + word + "' in " + option_name("devices") + " has no share from 0.001 to 1000, such as cuda:0=12");
  }
  device.share = *share;
  return device;
}

void check_present(const NamedDevice& device) {
  if (!device.gpu) return;
  const int count = gpu_count();
  if (*device.gpu < count) return;
  const std::string leave_out = "leave " + device.name + " out of " + option_name("devices");
  if (count > 0) {
    throw Error(ErrorKind::cuda, "there is no " + device.name + ": the last GPU that the driver shows is " +
                                     gpu(count - 1).name + "; " + leave_out);
  }
  const DeviceSearch found = find_device();
  throw Error(found.kind, "there is no " + device.name + ": " + found.text() + "; " + leave_out);
}

// Why a GPU cannot serve; empty: it can.
std::string obstacle_to_gpu(int number) {
  try {
    const CurrentGpu current(number);
    return find_device().reason;
  } catch (const Error& error) {
    return error.what();
  }
}

std::vector<NamedDevice> every_device(std::string& left_out) {
  std::vector<NamedDevice> devices;
  for (int number = 0; number < gpu_count(); ++number) {
    const std::string obstacle = obstacle_to_gpu(number);
    if (obstacle.empty()) {
      devices.push_back(gpu(number));
    } else {
      left_out += (left_out.empty() ? "" : "; ") + gpu_name(number) + " is left out: " + obstacle;
    }
  }
  devices.push_back({"cpu", std::nullopt});
  return devices;
}

}  // namespace

std::string gpu_name(int number) { return "cuda:" + std::to_string(number); }

std::vector<NamedDevice> devices_of(const Compute& compute, std::string* left_out) {
  if (compute.devices == std::vector<std::string>{"cuda"}) return {gpu(NamedDevice::current)};
  std::vector<NamedDevice> devices;
  if (compute.devices == std::vector<std::string>{"all"}) {
    std::string obstacles;
    devices = every_device(left_out != nullptr ? *left_out : obstacles);
  }
  const bool are_several = std::max(devices.size(), compute.devices.size()) > 1;
  if (are_several && compute.peers != nullptr && compute.peers->size() > 1) {
    refuse("several " + option_name("devices") + " do not go with several processes; give each process one, or start " +
           "one process");
  }
  for (const std::string& word : devices.empty() ? compute.devices : std::vector<std::string>()) {
    const NamedDevice device = parse_device(word);
    if (std::ranges::count(devices, device.name, &NamedDevice::name) > 0) {
      refuse(option_name("devices") + " names " + device.name + " twice; leave one out");
    }
    check_present(device);
    devices.push_back(device);
  }
  return devices;
}

std::vector<Compute> parts_of(const Compute& compute, const std::vector<NamedDevice>& devices) {
  const int threads = compute.threads != 0 ? compute.threads : usable_processors(1);
  const auto gpus = static_cast<int>(std::ranges::count_if(devices, [](const auto& of) { return of.gpu.has_value(); }));
  const bool has_cpu = gpus < static_cast<int>(devices.size());
  const int of_gpus = has_cpu ? threads / cpu_threads_of_gpu : threads;
  const int of_gpu = std::max(1, of_gpus / std::max(1, gpus));
  std::vector<Compute> parts(devices.size(), compute);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    parts[i].devices = {devices[i].name};
    if (i > 0) parts[i].trace.clear();
    parts[i].threads = devices[i].gpu ? of_gpu : std::max(1, threads - gpus * of_gpu);
  }
  return parts;
}

bool has_one_device(const Compute& compute) { return compute.peers == nullptr && devices_of(compute).size() < 2; }

}  // namespace blco
