// Plans where every chunk is kept between passes, and checks that the job fits its budgets.
#pragma once

#include <algorithm>
#include <blco/plan.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/stream/stream_plan.hpp"
#include "engine/tensor/tensor_sizes.hpp"
#include "engine/work/rows/own_matrices.hpp"
#include "kernels/account.hpp"
#include "kernels/backend.hpp"
#include "kernels/device_kind.hpp"
#include "kernels/lbfgs_numbers.hpp"

namespace blco {

// With a GPU: most of the chunks' bytes that stay on it, and of the others' that stay in host memory, for
// measurements; from 0 to 1.
struct TierShares {
  double device = 1;
  double host = 1;
};

// An option that takes less memory.
struct Saving {
  std::string words;
  std::string_view term = {};  // that goes; empty: none
  double share = 1;            // of the terms by rank that stays
};

// What a caller asks of its job, and what the job has for it.
struct JobNeeds {
  BackendConfig backend;                  // the plan sets the sizes of its memory
  std::vector<ChunkRange> of_modes = {};  // as in StreamPlan
  Account caller = {};            // its inputs, its own work, and what of its results exceeds what is freed before
  std::uint64_t model_bytes = 0;  // further results, whose space a host backend frees first
  std::uint64_t least_bytes = 0;  // the smallest budget of a job that the caller runs before this one
  std::uint64_t slot_bytes = 0;   // least size of a slot on a device, for chunks of another tensor
  // What takes less memory, in the message that there is too little, where it leaves room.
  std::vector<Saving> savings = {};
  std::string lower_rank = "a lower rank";  // empty: rank and precision are given
  double share_of_rank_1 = 1;               // what a job of rank 1 takes of the terms by rank
  bool draws = false;                       // takes chunks of other workers of the process, and so needs all rows
  bool any_rows = false;                    // rank 0 passes over other cells than the tensor's, and so holds all rows
  LbfgsVectors lbfgs = LbfgsVectors::none;  // that each worker keeps of the rows that it owns
  MatrixSizes matrices = {};                // the same of these
  bool passes_by_mode = false;              // each fills the output of one mode, or none
  bool may_slab = false;       // of factors that exceed a device's memory, a slab of columns is there at a time
  bool want_previous = false;  // keep the factors before each update, if there is room
  int value_exponent = 0;      // the passes see values divided by 2 to the power of this
  // No chunk stays nearer to the kernels than this. streamed: as for a single pass, where keeping chunks does not pay.
  Tier best_tier = Tier::device;
  TierShares shares = {};

  // Set by the JobPlan.
  const DeviceKind* kind = &host_kind();
  std::uint64_t budget_bytes = 0;         // of host memory
  std::uint64_t device_budget_bytes = 0;  // of a GPU's memory
  int threads = 1;
  int slots = 0;               // as in Compute
  bool deterministic = false;  // no private outputs, whose sums depend on the number of threads
};

// A budget that no job exceeds, to ask for its minimum.
inline constexpr std::uint64_t ample_bytes = std::uint64_t{1} << 60;

// What a job goes by, and the figures that others see; JobPlan::describe() adds those that it knows itself.
struct Plan : StreamPlan, CpdPlan {
  using StreamPlan::disk_bytes_per_pass;
  using StreamPlan::slots;

  std::uint64_t private_bytes = 0;   // for copies of the output, on the device if there is one
  std::uint64_t arranged_bytes = 0;  // host: for copies of decoded chunks that are arranged for a mode
  bool arranges_all = false;         // and these are all chunks, for every mode
  bool keep_previous = false;        // keep the factors before each update
  Account least;                     // what minimum_bytes is for
  std::size_t device_vectors = 0;    // of the method's vectors, how many the device has, the first ones

  // No chunk is streamed.
  bool keeps_all() const { return std::ranges::find(tiers, Tier::streamed) == tiers.end(); }
};

// Device memory without which the job cannot be.
Account least_device_memory(const TensorSizes& tensor, const JobNeeds& needs);

// Throws Error{out_of_memory} if the budget of host memory is below the sum of `least`, and says what that is for.
void check_budget(const Account& least, const JobNeeds& needs);

// Throws Error{out_of_memory} naming the minimum if a budget is below it. Memory goes, in order, to: what the job
// cannot do without; private outputs (at most a quarter of the rest; as much as is useful if most of the tensor is
// streamed anyway); previous factors (if they need at most a quarter of the rest); packed chunks, spread evenly over
// the pass so that reading overlaps with computing; decoding chunks ahead; copies of these that are arranged for a
// mode. With a device, device memory takes first the method's vectors, and at last as many chunks as it holds, spread
// in the same way, and host memory the remaining ones.
Plan make_plan(const TensorSizes& tensor, const JobNeeds& needs);

// The configuration of the backend under this plan.
BackendConfig backend_config(const JobNeeds& needs, const Plan& plan);

}  // namespace blco
