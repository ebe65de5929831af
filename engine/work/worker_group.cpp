#include "engine/work/worker_group.hpp"

#include "engine/tensor/tensor_sizes.hpp"

namespace blco {

void WorkerGroup::pass(const PassRequest& request) {
  const bool is_even = next_++ % 2 == 0;
  ++passes_;
  streamer_->pass(request, is_even ? Direction::forward : Direction::backward);
}

void WorkerGroup::pass(const PassRequest& request, std::span<const std::uint64_t> chunks) {
  ++passes_;
  streamer_->pass(request, chunks);
}

StreamPlan WorkerGroup::plan_for(const ChunkSource& other) {
  const TensorSizes sizes = measure_tensor(other);
  StreamPlan plan;
  plan.tiers.assign(sizes.chunks.size(), Tier::streamed);
  plan.slots = 2;
  plan.readers = 1;
  plan.slot_bytes = sizes.largest_buffer();
  plan.scratch_bytes = sizes.largest_scratch();
  return plan;
}

void WorkerGroup::add(const ChunkSource& other) {
  others_.emplace(&other, std::make_unique<Streamer>(other, plan_for(other), *backend_));
}

void WorkerGroup::pass_over(const ChunkSource& other, const PassRequest& request) {
  others_.at(&other)->pass(request, Direction::forward);
}

// All by one slot: a device works these off in order, and their memory stays as it is.
void WorkerGroup::pass_over(std::span<const ChunkView> chunks, const PassRequest& request) {
  backend_->begin_pass(request);
  for (const ChunkView& chunk : chunks) backend_->submit(0, chunk);
  backend_->finish_pass();
}

}  // namespace blco
