// The CUDA backend on the emulated device, and encoded chunks in pinned memory.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/cuda/cuda_backend.hpp"
#include "tests/random_tensor.hpp"

namespace blco::testing {

// The same tests run on a real GPU, where failures and delays cannot be injected (tests/gpu).
#ifdef BLCO_ON_HARDWARE
inline constexpr bool on_hardware = true;
#else
inline constexpr bool on_hardware = false;
#endif
#define SKIP_ON_HARDWARE() \
  if (on_hardware) GTEST_SKIP() << "needs the emulated device"

// A small device, so that a launch of a few frames has several blocks, and modes of 3 rows or less are short.
inline DeviceLimits small_device() {
  DeviceLimits limits;
  limits.name = "emulated";
  limits.multiprocessors = 4;
  limits.l2_bytes = 1 << 20;
  limits.shared_bytes_per_block = 160 << 10;
  limits.shared_bytes_per_multiprocessor = 164 << 10;
  limits.memory_bytes = limits.free_bytes = std::uint64_t{1} << 30;
  return limits;
}

inline DeviceLimits narrow_device() {
  DeviceLimits limits = small_device();
  limits.multiprocessors = 1;
  limits.shared_bytes_per_block = limits.shared_bytes_per_multiprocessor = 40 << 10;
  return limits;
}

struct EmulatedOptions {
  int rank = 16;
  std::vector<int> columns = {};  // per mode, for Kronecker products
  std::vector<std::shared_ptr<const RowIndex>> held = {};
  Precision precision = Precision::f64;
  ConflictResolution conflict_resolution = ConflictResolution::automatic;
  KernelVariant variant = KernelVariant::usual;
  int slots = 2;
  std::uint64_t slot_bytes = 1 << 20;
  std::uint64_t private_bytes = 1 << 20;
  std::uint64_t resident_bytes = 4 << 20;
  ModeSet dual_modes = 0;
  std::vector<VectorShape> vectors = {};
  std::size_t device_vectors = 0;
  bool all_outputs = false;
  bool narrow = false;  // a device with room for a few warps, each of which takes several frames
  TraceSink* trace = nullptr;
};

inline DeviceLimits emulated_limits(const EmulatedOptions& options) {
  if (on_hardware) return find_device().limits.value();
  return options.narrow ? narrow_device() : small_device();
}

inline BackendConfig emulated_config(std::span<const std::uint64_t> shape, const EmulatedOptions& options) {
  BackendConfig config{.layout = TensorLayout(shape)};
  config.rank = options.columns.empty() ? options.rank : std::ranges::max(options.columns);
  config.columns = options.columns;
  config.held = options.held;
  config.precision = options.precision;
  config.private_bytes = options.private_bytes;
  config.keep_previous = true;
  config.dual_modes = options.dual_modes;
  config.vectors = options.vectors;
  config.device_vectors = options.device_vectors;
  config.all_outputs = options.all_outputs;
  config.trace = options.trace;
  config.slots = options.slots;
  config.slot_bytes = options.slot_bytes;
  config.resident_bytes = options.resident_bytes;
  config.gpu.conflict_resolution = options.conflict_resolution;
  config.gpu.variant = options.variant;
  return config;
}

inline std::size_t payload_bytes(const EncodedChunk& chunk) {
  std::size_t bytes = 0;
  for (const auto& payload : chunk.view().payload) bytes += (payload.size() + 255) / 256 * 256;
  return bytes;
}

// Copies the payloads of a chunk into `buffer` and returns a view of the copy.
inline ChunkView stage(const EncodedChunk& chunk, std::span<std::byte> buffer) {
  ChunkView view = chunk.view();
  for (auto& payload : view.payload) {
    if (payload.empty()) continue;
    std::ranges::copy(payload, buffer.begin());
    payload = buffer.first(payload.size());
    buffer = buffer.subspan((payload.size() + 255) / 256 * 256);
  }
  return view;
}

// A backend with a ring of staging buffers, driven as the streamer drives it.
class EmulatedBackend {
 public:
  EmulatedBackend(std::span<const std::uint64_t> shape, const EmulatedOptions& options)
      : config_(emulated_config(shape, options)), backend_(make_cuda_backend(config_, emulated_limits(options))) {
    for (int slot = 0; slot < options.slots; ++slot) ring_.push_back(backend_->allocate_host(options.slot_bytes));
  }

  Backend* operator->() { return backend_.get(); }

  void load(std::span<const std::vector<double>> factors) {
    for (std::size_t n = 0; n < factors.size(); ++n) backend_->load_factor(static_cast<int>(n), 0, factors[n]);
  }

  // Waits for the next slot, fills it, and returns it with a view of the chunk in it.
  std::pair<int, ChunkView> stage_next(const EncodedChunk& chunk) {
    const int slot = static_cast<int>(next_++ % ring_.size());
    backend_->wait_slot(slot);
    return {slot, stage(chunk, ring_[static_cast<std::size_t>(slot)]->bytes())};
  }

  // The next chunk goes to the first slot.
  void restart_slots() { next_ = 0; }

  std::vector<double> pass(std::span<const EncodedChunk> chunks, int mode) {
    run(chunks, mode);
    return output(mode);
  }

  void run(std::span<const EncodedChunk> chunks, const PassRequest& request) {
    backend_->begin_pass(request);
    for (const EncodedChunk& chunk : chunks) {
      const auto [slot, view] = stage_next(chunk);
      backend_->submit(slot, view);
    }
    backend_->finish_pass();
  }

  std::vector<double> output(int mode) const {
    std::vector<double> rows(static_cast<std::size_t>(config_.rows_of(mode) * config_.output_columns_of(mode)));
    backend_->read_output(mode, 0, rows);
    return rows;
  }

  std::vector<double> factor(int mode) const {
    std::vector<double> rows(size(mode));
    backend_->store_factor(mode, 0, rows);
    return rows;
  }

  std::vector<double> dual(int mode) const {
    std::vector<double> rows(size(mode));
    backend_->store_dual(mode, 0, rows);
    return rows;
  }

 private:
  std::size_t size(int mode) const {
    return static_cast<std::size_t>(config_.rows_of(mode)) * static_cast<std::size_t>(config_.columns_of(mode));
  }

  BackendConfig config_;
  std::unique_ptr<Backend> backend_;
  std::vector<std::unique_ptr<HostBuffer>> ring_;
  std::size_t next_ = 0;
};

}  // namespace blco::testing
