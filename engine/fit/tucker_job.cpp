#include "engine/fit/tucker_job.hpp"

#include <algorithm>
#include <blco/peers.hpp>
#include <limits>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "engine/fit/core_shape.hpp"
#include "kernels/tall_matrices.hpp"

namespace blco {
namespace {

// What a fit of one of the two methods takes beside its backend, with slabs of so many columns.
SlabMemory memory_of(const TensorSummary& tensor, const TuckerOptions& options, const std::vector<int>& ranks,
                     TuckerMethod method, std::uint64_t slab) {
  const CoreShape shape(tensor.shape, ranks);
  SlabMemory needed;
  Account& memory = needed.caller;
  memory.take_by_rank("the core", 4 * shape.numbers() * sizeof(double));
  needed.matrices.undoes = true;
  std::uint64_t of_model = 0;
  std::uint64_t largest = 0;
  for (std::size_t n = 0; n < ranks.size(); ++n) {
    const std::uint64_t length = tensor.shape[n];
    needed.matrices.columns.push_back(shape.rank(n));
    const std::uint64_t width = method == TuckerMethod::hooi ? shape.choices(n) : 0;
    needed.matrices.unfolding.push_back(TuckerJob::samples(options) ? std::max(width, slab) : width);
    of_model += length * shape.rank(n) * sizeof(double);
    // Rank 0 decomposes the whole of one with more columns than rows.
    if (const std::uint64_t most = needed.matrices.unfolding.back(); most > length) {
      largest = std::max(largest, length * (most + shape.rank(n)) * sizeof(double) + tall_scratch_bytes(length, most));
    }
  }
  memory.take_by_rank("an unfolding of more columns than rows", largest);
  // Where all rows are here, it takes the place of the matrices of before.
  if (options.compute.peers != nullptr && options.compute.peers->size() > 1) memory.take_by_rank("the model", of_model);
  if (TuckerJob::samples(options) && slab == 0) memory.take_by_rank("the sampled matrices", of_model);
  if (options.initial != nullptr) {
    memory.take_by_rank("the initial model", options.initial->core.size() * sizeof(double));
    for (const std::vector<double>& factor : options.initial->factors) {
      memory.take_by_rank("the initial model", factor.size() * sizeof(double));
    }
    memory.take("labels", memory_bytes(options.initial->labels));
  }
  for (const std::uint64_t of_mode : tensor.label_bytes) memory.take("labels", of_mode);
  return needed;
}

SlabJob slab_job(const Tensor& tensor, const TuckerOptions& options, const std::vector<int>& ranks, TuckerMethod method,
                 const StopPoll& stop, const Account& held, bool is_fixed, const std::vector<int>& columns,
                 std::uint64_t most_choices = std::numeric_limits<std::uint64_t>::max()) {
  const CoreShape shape(tensor.shape(), ranks);
  const auto longest = static_cast<std::size_t>(std::ranges::max_element(tensor.shape()) - tensor.shape().begin());
  return SlabJob(
      tensor, options.compute, std::min(shape.most_choices(), most_choices), shape.rank(longest),
      [&](std::uint64_t slab) {
        SlabMemory needed = memory_of(tensor.summary(), options, ranks, method, slab);
        needed.caller.take(held);
        return needed;
      },
      stop, is_fixed, columns, "lower " + option_name("ranks"), 1.0 / std::ranges::min(ranks));
}

bool has_room_to_sample(const Tensor& tensor, const TuckerOptions& options, const std::vector<int>& ranks,
                        const Account& held) {
  try {
    TuckerJob::sampling(tensor, options, ranks, {}, held);
    return true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::out_of_memory) throw;
    return false;
  }
}

}  // namespace

bool is_held(const TuckerOptions& options, std::size_t mode) {
  return !options.constraints.empty() && options.constraints[mode].is_held();
}

TuckerJob::TuckerJob(const Tensor& tensor, const TuckerOptions& options, const std::vector<int>& ranks,
                     const StopPoll& stop, const Account& held)
    : method(options.method == TuckerMethod::hoqri ? TuckerMethod::hoqri : TuckerMethod::hooi), held_memory(held) {
  const bool is_fixed = options.compute.deterministic;
  const bool may_choose = options.method == TuckerMethod::automatic && !is_fixed;
  try {
    make(tensor, options, ranks, stop, is_fixed || may_choose);
  } catch (const Error& error) {
    if (!may_choose || error.kind() != ErrorKind::out_of_memory) throw;
    method = TuckerMethod::hoqri;
    make(tensor, options, ranks, stop, false);
  }
}

void TuckerJob::make(const Tensor& tensor, const TuckerOptions& options, const std::vector<int>& ranks,
                     const StopPoll& stop, bool is_fixed) {
  const CoreShape shape(tensor.shape(), ranks);
  const bool is_hoqri = method == TuckerMethod::hoqri;
  const bool may_unfold = !is_hoqri && (!samples(options) || has_room_to_sample(tensor, options, ranks, held_memory));
  slabs.emplace(
      slab_job(tensor, options, ranks, method, stop, held_memory, is_fixed, may_unfold ? ranks : std::vector<int>()));
  passes_per_sweep = 0;
  const auto passes_of = [&](std::size_t mode) {
    const std::uint64_t slab = slabs->slab == 0 ? shape.choices(mode) : slabs->slab;
    return (shape.choices(mode) + slab - 1) / slab;
  };
  for (std::size_t n = 0; n < ranks.size(); ++n) {
    if (!is_held(options, n)) passes_per_sweep += passes_of(n) * (is_hoqri ? 2 : 1);
  }
  // With all modes held those of the core, which HOQRI makes in the first sweep alone.
  if (passes_per_sweep == 0) passes_per_sweep = passes_of(is_hoqri ? 0 : ranks.size() - 1);
  find_minimums(tensor, options, ranks);
}

bool TuckerJob::samples(const TuckerOptions& options) {
  return options.initial == nullptr && options.resume.empty() && options.start == TuckerStart::nvecs;
}

SlabJob TuckerJob::sampling(const Tensor& tensor, const TuckerOptions& given, const std::vector<int>& ranks,
                            const StopPoll& stop, const Account& held) {
  TuckerOptions options = given;
  options.compute.trace.clear();
  return slab_job(tensor, options, ranks, TuckerMethod::hoqri, stop, held, options.compute.deterministic, {});
}

// A fit has a copy of the last sweep's model.
TuckerPlan TuckerJob::describe() const {
  TuckerPlan plan{.method = method, .passes_per_sweep = passes_per_sweep, .plan = slabs->job->describe()};
  plan.plan.stops_within_sweep = true;
  plan.plan.minimum_bytes = minimum_bytes;
  plan.plan.device_minimum_bytes = device_minimum_bytes;
  return plan;
}

// A smaller budget has slabs, or smaller ones, and may have the other method.
void TuckerJob::find_minimums(const Tensor& tensor, TuckerOptions options, const std::vector<int>& ranks) {
  minimum_bytes = slabs->job->plan().minimum_bytes;
  device_minimum_bytes = slabs->job->plan().device_minimum_bytes;
  options.compute.trace.clear();
  const bool is_fixed = options.compute.deterministic;
  const bool may_choose = options.method == TuckerMethod::automatic && !is_fixed;
  try {
    const SlabJob smallest =
        slab_job(tensor, options, ranks, may_choose ? TuckerMethod::hoqri : method, {}, held_memory, is_fixed, {},
                 is_fixed ? std::numeric_limits<std::uint64_t>::max() : 1);
    const Plan& least = smallest.job->plan();
    minimum_bytes = samples(options) ? least.minimum_bytes : std::min(minimum_bytes, least.minimum_bytes);
    device_minimum_bytes = std::min(device_minimum_bytes, least.device_minimum_bytes);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::out_of_memory) throw;
  }
}

}  // namespace blco
