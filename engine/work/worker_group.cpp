#include "engine/work/worker_group.hpp"

#include <numeric>
#include <utility>

#include "engine/tensor/tensor_sizes.hpp"

namespace blco {

void WorkerGroup::lead(std::unique_ptr<JobAtPeers> job, std::unique_ptr<RowMoves> moves, const BackendConfig& config,
                       std::uint64_t chunks) {
  job_ = std::move(job);
  moves_ = std::move(moves);
  chunk_count_ = chunks;
  shared_ = std::make_unique<SharedFactors>(job_->tree(), *moves_, *backend_, config);
}

void WorkerGroup::end_passes() {
  streamer_.reset();
  others_.clear();
  numbers_.reset();
}

std::vector<double> WorkerGroup::take(const NumbersOrder& order, std::span<const double> given) {
  const auto own_part = [&] { return numbers_->take(order, given, *backend_); };
  return shared_ ? shared_->take(order, given, own_part) : own_part();
}

std::vector<double> WorkerGroup::take(const MatrixOrder& order, std::span<const double> given) {
  const auto own_part = [&] { return matrices_->take(order, given, *backend_); };
  return shared_ ? shared_->take(order, given, own_part) : own_part();
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
  if (!shared_) return run_pass(*streamer_, order, chunks, 0);
  // The output of an MTTKRP does not depend on the mode's own factor.
  shared_->bring_to_chunks(~(request.is_mttkrp() ? request.outputs : ModeSet{0}));
  PassOrder theirs = order;
  theirs.request.continues = std::exchange(have_part_, true) && request.continues;
  // Nobody begins to take chunks of the next pass from a queue before all have ended this one.
  theirs.is_answered = !request.is_mttkrp() || queue_ != nullptr;
  Message message(MessageKind::pass);
  message.put(theirs).put(chunks);
  shared_->begin_outputs(request.outputs, request.continues, /*of_all=*/true);
  const auto pass_here = [&] {
    run_pass(*streamer_, order, chunks, 0);
    return std::vector<double>{0};
  };
  terms_of_peers_ = 0;
  if (!theirs.is_answered) return job_->tree().post(message, pass_here);
  terms_of_peers_ = job_->tree().order(message, Combining::sums, pass_here)[0];
}

void run_pass(Streamer& streamer, const PassOrder& order, std::span<const std::uint64_t> chunks, std::uint64_t first) {
  if (!order.some_chunks) {
    return streamer.pass(order.request, order.forward ? Direction::forward : Direction::backward);
  }
  const std::uint64_t end = first + streamer.plan().tiers.size();
  std::vector<std::uint64_t> own;
  for (const std::uint64_t chunk : chunks) {
    if (chunk >= first && chunk < end) own.push_back(chunk - first);
  }
  streamer.pass(order.request, own);
}

std::uint64_t WorkerGroup::bytes_read() const {
  if (!job_) return streamer_->bytes_read();
  Message message(MessageKind::bytes_read);
  const auto read_here = [&] { return std::vector<double>{static_cast<double>(streamer_->bytes_read())}; };
  return static_cast<std::uint64_t>(job_->tree().order(message, Combining::sums, read_here)[0]);
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

// The others have no part in it.
void WorkerGroup::begin_pass_here(const PassRequest& request) {
  if (!shared_) return;
  if (!request.continues) {
    terms_of_peers_ = 0;
    have_part_ = false;
  }
  shared_->bring_here(~(request.is_mttkrp() ? request.outputs : ModeSet{0}));
  shared_->begin_outputs(request.outputs, request.continues, /*of_all=*/false);
}

void WorkerGroup::pass_over(const ChunkSource& other, const PassRequest& request) {
  begin_pass_here(request);
  others_.at(&other)->pass(request, Direction::forward);
}

// All by one slot: a device works these off in order, and their memory stays as it is.
void WorkerGroup::pass_over(std::span<const ChunkView> chunks, const PassRequest& request) {
  begin_pass_here(request);
  backend_->begin_pass(request);
  for (const ChunkView& chunk : chunks) backend_->submit(0, chunk);
  backend_->finish_pass();
}

}  // namespace blco
