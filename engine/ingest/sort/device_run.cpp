// Threads take turns at the device.
#include "engine/ingest/sort/device_run.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "engine/common/compile_note.hpp"

namespace blco {
namespace {

std::string avoids_device() { return "; leave out " + option_name("sorts_on_gpu"); }

// Calls work(). What its libraries throw becomes an Error that names the way out.
template <class Work>
auto on_device(const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw Error(error.kind(), error.what() + avoids_device());
  } catch (const std::bad_alloc&) {
    throw;  // of the host
  } catch (const std::exception& error) {
    throw Error(ErrorKind::cuda, std::string("the GPU failed: ") + error.what() + avoids_device());
  }
}

class RunOnDevice final : public MemoryRun {
 public:
  RunOnDevice(std::unique_ptr<DeviceRun> run, bool has_high_word)
      : run_(std::move(run)), has_high_word_(has_high_word) {}

  std::uint64_t count() const override { return run_->count(); }

  void coalesce(EarlyCoalescing& coalescing, Executor& executor) override {
    // What is admitted has finite sums.
    if (coalescing.admits([&] { return on_device([&] { return run_->magnitude(); }); })) {
      static_cast<void>(coalesce_all(coalescing.policy(), executor));
    }
  }

  std::optional<LineIndex> coalesce_all(DuplicatePolicy policy, Executor&) override {
    return on_device([&] { return run_->coalesce(policy); });
  }

  void copy(std::uint64_t first, std::uint64_t entries, SortedBatch& block) const override {
    block.low.resize(entries);
    block.key.resize(has_high_word_ ? entries : 0);
    block.values.resize(entries);
    if (entries == 0) return;
    const std::lock_guard lock(mutex_);
    on_device([&] { run_->copy(first, entries, block.low.data(), block.key.data(), block.values.data()); });
  }

  std::optional<DevicePackedChunk> pack(std::uint64_t first, std::uint64_t entries) const override {
    const std::lock_guard lock(mutex_);
    return on_device([&] { return run_->pack(first, entries); });
  }

 private:
  std::unique_ptr<DeviceRun> run_;
  bool has_high_word_;
  mutable std::mutex mutex_;
};

}  // namespace

std::unique_ptr<RunDevice> find_run_device(bool on_gpu, const std::function<void(const std::string&)>& on_compile) {
  if (!on_gpu) return nullptr;
  const DeviceSearch found = find_device();
  if (found.limits) tell_of_compiling(*found.limits, on_compile);
  return on_device([] { return make_run_device(); });
}

std::unique_ptr<MemoryRun> sort_on_device(RunDevice& device, const TensorLayout& layout,
                                          const std::vector<CoordinateBatch>& batches) {
  std::uint64_t count = 0;
  std::vector<CoordinateSlice> slices;
  for (const CoordinateBatch& batch : batches) {
    slices.push_back({batch.narrow, batch.wide, batch.values});
    count += batch.count();
  }
  const std::uint64_t max_entries = device.max_entries(layout.has_high_word());
  if (count > max_entries) {
    throw Error(ErrorKind::out_of_memory, "a run of " + std::to_string(count) +
                                              " entries is to be sorted on the GPU, whose free memory holds " +
                                              std::to_string(max_entries) + avoids_device());
  }
  return on_device([&] { return std::make_unique<RunOnDevice>(device.sort(layout, slices), layout.has_high_word()); });
}

}  // namespace blco
