// The outputs of passes and the sums of their terms, in device memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "kernels/cuda/conflict_resolution.hpp"
#include "kernels/cuda/dense.hpp"
#include "kernels/cuda/device_memory.hpp"
#include "kernels/cuda/device_sizes.hpp"
#include "kernels/cuda/mttkrp.hpp"
#include "kernels/cuda/staged_transfer.hpp"

namespace blco::cuda {

// One output that modes take in turns, or one per mode; and memory that the copies of a pass share.
template <class Sum>
class DeviceOutputs {
 public:
  DeviceOutputs(const BackendConfig& config, const DeviceLimits& limits)
      : config_(config),
        limits_(limits),
        copies_memory_(std::min(config.private_bytes, cuda_backend_useful_private_bytes(config, limits)),
                       "copies of the output") {
    const auto add = [this](std::uint64_t bytes) { outputs_.emplace_back(bytes, "the output"); };
    std::uint64_t most = 0;
    for (int mode = 0; mode < order(); ++mode) {
      if (config.all_outputs) add(bytes(mode));
      most = std::max(most, bytes(mode));
    }
    if (!config.all_outputs) add(most);
  }

  // Starts a pass that fills the outputs of `modes`: zeroes their copies, and unless `continues` themselves. All that
  // take copies get equally many.
  void begin(ModeSet modes, bool continues, cudaStream_t stream) {
    modes_ = modes;
    std::uint64_t copied_bytes = 0;
    for (int mode = 0; mode < order(); ++mode) {
      if (has_mode(modes, mode) && takes_copies(mode)) copied_bytes += bytes(mode);
    }
    Sum* more = copies_memory_.template as<Sum>();
    for (int mode = 0; mode < order(); ++mode) {
      if (!has_mode(modes, mode)) continue;
      const int copies =
          copies_of_output(limits_, config_.gpu.conflict_resolution, rows(mode), copied_bytes, copies_memory_.bytes());
      copies_[index(mode)] = {data(mode), more, numbers(mode), copies};
      if (!continues) fill_zero(data(mode), bytes(mode), stream);
      const std::uint64_t more_bytes = static_cast<std::uint64_t>(copies - 1) * bytes(mode);
      if (more_bytes > 0) fill_zero(more, more_bytes, stream);
      more += more_bytes / sizeof(Sum);
    }
  }

  // Where the pass adds, for each of its modes.
  const OutputCopies<Sum>& operator[](int mode) const { return copies_[index(mode)]; }

  // Ends the pass: adds all copies to their outputs.
  void merge(cudaStream_t stream) const {
    for (int mode = 0; mode < order(); ++mode) {
      const OutputCopies<Sum>& copies = copies_[index(mode)];
      if (!has_mode(modes_, mode) || copies.copy_count == 1) continue;
      merge_copies<Sum>(copies.output, copies.more_copies, copies.copy_count - 1, copies.copy_stride, stream);
    }
  }

  // The output of a mode: its rows times its columns.
  Sum* data(int mode) const { return outputs_[outputs_.size() > 1 ? index(mode) : 0].template as<Sum>(); }

 private:
  static std::size_t index(int mode) { return static_cast<std::size_t>(mode); }
  int order() const { return config_.layout.order(); }
  std::uint64_t rows(int mode) const { return config_.rows_of(mode); }
  std::uint64_t numbers(int mode) const { return rows(mode) * config_.output_columns_of(mode); }
  std::uint64_t bytes(int mode) const { return numbers(mode) * sizeof(Sum); }
  bool takes_copies(int mode) const { return cuda::takes_copies(limits_, config_.gpu.conflict_resolution, rows(mode)); }

  BackendConfig config_;
  DeviceLimits limits_;
  std::vector<DeviceBuffer> outputs_;
  DeviceBuffer copies_memory_;
  ModeSet modes_ = 0;
  std::array<OutputCopies<Sum>, max_order> copies_{};
};

// The terms of a loss pass. Every warp of a launch adds to a number of its own, so that the order of sums depends on
// the launches of each stream alone.
class DeviceTerms {
 public:
  DeviceTerms(int lanes, int multiprocessors)
      : slots_(term_slots(multiprocessors)), sums_(term_bytes(lanes, multiprocessors), "sums of terms") {}

  void clear(cudaStream_t stream) { fill_zero(sums_.as<double>(), sums_.bytes(), stream); }
  // Of the n-th stream.
  double* of_stream(std::size_t stream) const { return sums_.as<double>() + stream * slots_; }

  double total(StagedTransfer& transfer, Stream& stream) const {
    std::vector<double> sums(static_cast<std::size_t>(sums_.bytes() / sizeof(double)));
    transfer.download(sums_.as<double>(), std::as_writable_bytes(std::span(sums)), stream);
    return std::accumulate(sums.begin(), sums.end(), 0.0);
  }

 private:
  std::uint64_t slots_;
  DeviceBuffer sums_;
};

}  // namespace blco::cuda
