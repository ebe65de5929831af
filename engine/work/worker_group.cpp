#include "engine/work/worker_group.hpp"

#include <numeric>

#include "engine/tensor/tensor_sizes.hpp"

namespace blco {

void WorkerGroup::add_peers(std::vector<std::unique_ptr<RemoteWorker>> peers, const ChunkSource& tensor, int columns,
                            TouchedRows* rows) {
  peers_ = std::move(peers);
  shape_ = tensor.info().shape;
  columns_ = columns;
  chunk_count_ = tensor.info().chunk_count();
  std::optional<PeerError> first;
  for (const std::unique_ptr<RemoteWorker>& peer : peers_) {
    const std::optional<PeerError> failure = peer->await_ready();
    if (failure && !first) first = failure;
    if (rows != nullptr) rows->add(peer->rows());
  }
  if (first) throw *first;
}

void WorkerGroup::pass(const PassRequest& request) {
  const Direction direction = direction_of(request, request.is_mttkrp() ? 0 : next_++);
  const PassOrder order{.request = request, .forward = direction == Direction::forward};
  std::vector<std::uint64_t> all(queue_ != nullptr ? chunk_count_ : 0);
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  begin_queue(all, order.forward);
  pass(order, {});
}

void WorkerGroup::pass(const PassRequest& request, std::span<const std::uint64_t> chunks) {
  begin_queue(chunks, /*forward=*/true);
  pass(PassOrder{.request = request, .some_chunks = true}, chunks);
}

void WorkerGroup::pass(const PassOrder& order, std::span<const std::uint64_t> chunks) {
  ++passes_;
  const PassRequest& request = order.request;
  if (!request.continues) terms_of_peers_ = 0;
  // The output of an MTTKRP does not depend on the mode's own factor.
  const ModeSet read = all_modes(static_cast<int>(max_order)) & ~(request.is_mttkrp() ? request.outputs : ModeSet{0});
  PassOrder theirs = order;
  theirs.request.continues = false;  // what came before is in this process's outputs
  std::size_t begun = 0;
  try {
    for (; begun < peers_.size(); ++begun) {
      peers_[begun]->load_changed(*backend_, read);
      peers_[begun]->begin_pass(theirs, chunks);
    }
    pass_here(order, chunks);
  } catch (...) {
    await_pass_of_peers(begun, request.outputs, /*is_lost=*/true);
    throw;
  }
  await_pass_of_peers(begun, request.outputs, /*is_lost=*/false);
  add_outputs_of_peers(request.outputs);
}

// This process has the first chunks.
void WorkerGroup::pass_here(const PassOrder& order, std::span<const std::uint64_t> chunks) {
  if (!order.some_chunks) {
    return streamer_->pass(order.request, order.forward ? Direction::forward : Direction::backward);
  }
  const std::uint64_t here = streamer_->plan().tiers.size();
  std::vector<std::uint64_t> own(chunks.begin(), chunks.end());
  std::erase_if(own, [here](std::uint64_t chunk) { return chunk >= here; });
  streamer_->pass(order.request, own);
}

void WorkerGroup::await_pass_of_peers(std::size_t begun, ModeSet outputs, bool is_lost) {
  std::vector<RemoteWorker*> finished;
  std::optional<PeerError> first;
  for (const std::unique_ptr<RemoteWorker>& peer : std::span(peers_).first(begun)) {
    const std::optional<PeerError> failure = peer->await_pass();
    if (!failure) finished.push_back(peer.get());
    if (failure && !first) first = failure;
  }
  if (first || is_lost) {
    for (RemoteWorker* peer : finished) peer->drop_rows(outputs);
  }
  if (first && !is_lost) throw *first;
  for (RemoteWorker* peer : finished) terms_of_peers_ += peer->sum_of_terms();
}

void WorkerGroup::add_outputs_of_peers(ModeSet outputs) {
  std::vector<double> numbers;
  for (std::size_t n = 0; !peers_.empty() && n < shape_.size(); ++n) {
    const int mode = static_cast<int>(n);
    if (!has_mode(outputs, mode)) continue;
    for_each_message_block(0, shape_[n], columns_, [&](const IndexRange& block) {
      numbers.resize(static_cast<std::size_t>(block.end - block.begin) * static_cast<std::size_t>(columns_));
      backend_->read_output(mode, block.begin, numbers);
      bool is_changed = false;
      for (const std::unique_ptr<RemoteWorker>& peer : peers_) is_changed |= peer->add_rows(mode, block, numbers);
      if (is_changed) backend_->load_output(mode, block.begin, numbers);
    });
  }
}

std::uint64_t WorkerGroup::bytes_read() const {
  std::uint64_t bytes = streamer_->bytes_read();
  for (const std::unique_ptr<RemoteWorker>& peer : peers_) bytes += peer->bytes_read();
  return bytes;
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
  StreamPlan plan = plan_for(other);
  plan.value_exponent = streamer_->plan().value_exponent;
  others_.emplace(&other, std::make_unique<Streamer>(other, plan, *backend_));
}

void WorkerGroup::pass_over(const ChunkSource& other, const PassRequest& request) {
  if (!request.continues) terms_of_peers_ = 0;
  others_.at(&other)->pass(request, Direction::forward);
}

// All by one slot: a device works these off in order, and their memory stays as it is.
void WorkerGroup::pass_over(std::span<const ChunkView> chunks, const PassRequest& request) {
  if (!request.continues) terms_of_peers_ = 0;
  backend_->begin_pass(request);
  for (const ChunkView& chunk : chunks) backend_->submit(0, chunk);
  backend_->finish_pass();
}

}  // namespace blco
