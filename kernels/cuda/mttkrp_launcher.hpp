// Launches MTTKRP: chooses kernels once, and for each launch its resolution, shape and arguments.
#pragma once

#include "kernels/cuda/frame_launcher.hpp"

namespace blco::cuda {

template <class Sum, class Factor>
class MttkrpLauncher {
 public:
  MttkrpLauncher(const TensorLayout& layout, int rank, const DeviceLimits& limits, Resolution resolution,
                 KernelVariant variant, int blocks_per_multiprocessor)
      : resolution_(resolution),
        blocks_per_multiprocessor_(blocks_per_multiprocessor),
        shared_(arguments_of(layout, rank, limits)),
        kernels_(limits, mttkrp_kernel_for<Sum, Factor>(layout.order(), rank, false, variant),
                 mttkrp_kernel_for<Sum, Factor>(layout.order(), rank, true, variant), usual_launch()) {}

  // All launches of a pass share these arguments, but for chunks and stash. Device memory: line_table_bytes at
  // `tables`.
  MttkrpArguments<Sum, Factor>& shared_arguments() { return shared_; }

  // Queues the MTTKRP of one to max_chunks_of_launch chunks; returns the kernel's name.
  const char* launch(std::span<const DeviceChunk* const> chunks, cudaStream_t stream) const {
    MttkrpArguments<Sum, Factor> arguments = shared_;
    add_chunks(chunks, arguments);
    LaunchRequest request = launch_request<Sum>(arguments);
    request.rows = rows_of_mode(chunks, arguments.mode);
    request.resolution = resolution_;
    request.blocks_per_multiprocessor = blocks_per_multiprocessor_;
    const LaunchPlan plan = kernels_.plan(request);
    arguments.stash_first = plan.stash_first;
    arguments.stash_rows = plan.stash_rows;
    const char* name = plan.stash_rows > 0 ? "mttkrp (hierarchical)" : "mttkrp (register-based)";
    kernels_.launch(name, plan, arguments, stream);
    return name;
  }

 private:
  static MttkrpArguments<Sum, Factor> arguments_of(const TensorLayout& layout, int rank, const DeviceLimits& limits) {
    MttkrpArguments<Sum, Factor> arguments;
    describe(layout, rank, limits, arguments);
    return arguments;
  }

  LaunchRequest usual_launch() const {
    LaunchRequest request = launch_request<Sum>(shared_);
    request.frames = default_chunk_nnz;
    request.blocks_per_multiprocessor = blocks_per_multiprocessor_;
    return request;
  }

  Resolution resolution_;
  int blocks_per_multiprocessor_;  // at most; 0: as many as fit
  MttkrpArguments<Sum, Factor> shared_;
  KernelPair<MttkrpKernel<Sum, Factor>> kernels_;
};

}  // namespace blco::cuda
