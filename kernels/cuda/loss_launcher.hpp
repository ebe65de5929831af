// Launches loss passes: as mttkrp_launcher.hpp, hierarchical only where there is one output.
#pragma once

#include <algorithm>

#include "kernels/cuda/frame_launcher.hpp"
#include "kernels/cuda/loss_pass.hpp"
#include "kernels/cuda/term_slots.hpp"

namespace blco::cuda {

template <class Sum, class Factor>
class LossLauncher {
 public:
  // `frames`: the arguments that no pass changes.
  LossLauncher(const FrameArguments<Factor>& frames, const DeviceLimits& limits, Resolution resolution)
      : resolution_(resolution),
        max_warps_(term_slots(limits.multiprocessors)),
        shared_(arguments_of(frames)),
        kernels_(limits, loss_kernel_for<Sum, Factor>(frames.order, frames.rank, false),
                 loss_kernel_for<Sum, Factor>(frames.order, frames.rank, true), usual_launch()) {}

  // All launches of a pass share these arguments, but for chunks, stash and terms.
  LossArguments<Sum, Factor>& shared_arguments() { return shared_; }

  // Queues one to max_chunks_of_launch chunks; returns the kernel's name. Adds to the term_slots at `terms`.
  const char* launch(std::span<const DeviceChunk* const> chunks, double* terms, cudaStream_t stream) const {
    LossArguments<Sum, Factor> arguments = shared_;
    add_chunks(chunks, arguments);
    arguments.terms = terms;
    LaunchRequest request = launch_request<Sum>(arguments);
    if (arguments.outputs != 0 && !has_several(arguments.outputs)) {
      request.rows = rows_of_mode(chunks, first_mode(arguments.outputs));
      request.resolution = resolution_;
    }
    LaunchPlan plan = kernels_.plan(request);
    plan.shape.blocks =
        static_cast<unsigned>(std::min<std::uint64_t>(plan.shape.blocks, max_warps_ / plan.shape.warps));
    arguments.stash_first = plan.stash_first;
    arguments.stash_rows = plan.stash_rows;
    const char* name = plan.stash_rows > 0 ? "loss pass (hierarchical)" : "loss pass (register-based)";
    kernels_.launch(name, plan, arguments, stream);
    return name;
  }

 private:
  static LossArguments<Sum, Factor> arguments_of(const FrameArguments<Factor>& frames) {
    LossArguments<Sum, Factor> arguments;
    static_cast<FrameArguments<Factor>&>(arguments) = frames;
    return arguments;
  }

  LaunchRequest usual_launch() const {
    LaunchRequest request = launch_request<Sum>(shared_);
    request.frames = default_chunk_nnz;
    return request;
  }

  Resolution resolution_;
  std::uint64_t max_warps_;
  LossArguments<Sum, Factor> shared_;
  KernelPair<LossKernel<Sum, Factor>> kernels_;
};

}  // namespace blco::cuda
