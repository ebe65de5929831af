#include "tests/engine/ingest/sort/thrust_runs.hpp"

#include <thrust/system/cpp/execution_policy.h>

#include <cstring>
#include <new>

#include "kernels/cuda/run_sort.cuh"

namespace blco {
namespace {

// Host memory in the place of a device's. Arrays that are not written before they are read show garbage.
class HostRuns {
 public:
  using value_type = char;

  std::uint64_t free_bytes() const { return free_bytes_; }
  auto policy() { return thrust::cpp::par(*this); }

  char* allocate(std::ptrdiff_t bytes) {
    if (bytes < 0) throw std::bad_alloc();
    const auto size = static_cast<std::size_t>(bytes);
    void* data = ::operator new(size);
    std::memset(data, 0xa5, size);
    return static_cast<char*>(data);
  }
  void deallocate(char* data, std::size_t) { ::operator delete(data); }

  void to_device(void* to, const void* from, std::uint64_t bytes) { copy(to, from, bytes); }
  void to_host(void* to, const void* from, std::uint64_t bytes) { copy(to, from, bytes); }
  void wait() {}

 private:
  static void copy(void* to, const void* from, std::uint64_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }

  std::uint64_t free_bytes_ = thrust_runs().free_bytes;
};

class CountedSorter final : public RunDevice {
 public:
  std::uint64_t max_entries(bool has_high_word) const override { return sorter_.max_entries(has_high_word); }
  std::unique_ptr<DeviceRun> sort(const TensorLayout& layout, std::span<const CoordinateSlice> entries) override {
    ++thrust_runs().runs;
    return sorter_.sort(layout, entries);
  }

 private:
  run_sort::Sorter<HostRuns> sorter_;
};

}  // namespace

ThrustRuns& thrust_runs() {
  static ThrustRuns runs;
  return runs;
}

std::unique_ptr<RunDevice> make_run_device() { return std::make_unique<CountedSorter>(); }

}  // namespace blco
