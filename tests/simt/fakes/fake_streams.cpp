#include "tests/simt/fakes/fake_streams.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/simt/block_runner.hpp"
#include "tests/simt/race_context.hpp"

namespace simt {
namespace {

// Operations that may run at one call of the shuffled policy, at most.
constexpr std::uint64_t max_steps = 3;

// The bottom of a stream's fiber: an operation for every resume().
void run_operations(void* argument) {
  auto& stream = *static_cast<CUstream_st*>(argument);
  while (true) {
    Operation& operation = *stream.running;
    acquire_here(&operation);
    if (operation.waits_for != nullptr) acquire_here(operation.waits_for.get());
    if (operation.run) {
      try {
        operation.run();
      } catch (const KernelFailure& failure) {
        stream.failure = failure.what();
      }
      operation.run = nullptr;  // frees here what it has used here
    }
    release_here(&stream);
    if (operation.reaches != nullptr) release_here(operation.reaches.get());
    stream.fiber.suspend(/*for_the_last_time=*/false);
  }
}

}  // namespace

cudaStream_t FakeStreams::create() {
  streams_.push_back(std::make_unique<CUstream_st>());
  const cudaStream_t stream = streams_.back().get();
  stream->fiber.start(stream->stack, create_race_context(), &run_operations, stream);
  return stream;
}

void FakeStreams::destroy(cudaStream_t stream) {
  finish(stream);
  destroy_race_context(stream->fiber.race_context());
  streams_.erase(find(stream));
}

std::size_t FakeStreams::pending() const {
  std::size_t count = 0;
  for (const Owner& stream : streams_) count += stream->queue.size();
  return count;
}

void FakeStreams::set_policy(Policy policy, std::uint64_t seed) {
  policy_ = policy;
  random_.seed(seed);
}

void FakeStreams::queue(cudaStream_t stream, Operation operation) {
  stream->queue.push_back(std::make_unique<Operation>(std::move(operation)));
  release_here(stream->queue.back().get());
  if (policy_ == Policy::eager) run_all();
  if (policy_ == Policy::shuffled) {
    for (std::uint64_t steps = random_() % (max_steps + 1); steps > 0 && run_any(); --steps) continue;
  }
}

void FakeStreams::finish(cudaStream_t stream) {
  while (!stream->queue.empty()) {
    if (policy_ == Policy::lazy || !run_any()) advance(*stream);
  }
  acquire_here(stream);
}

void FakeStreams::finish(const Record& record) {
  while (!record.reached) {
    if (policy_ == Policy::lazy || !run_any()) advance(*record.stream);
  }
  acquire_here(const_cast<Record*>(&record));
}

void FakeStreams::finish_all() {
  run_all();
  for (const Owner& stream : streams_) acquire_here(stream.get());
}

bool FakeStreams::uses(std::span<const std::byte> pinned) const {
  const auto overlaps = [&](const std::unique_ptr<Operation>& operation) {
    const std::span<const std::byte> used = operation->pinned;
    return !used.empty() && used.data() < pinned.data() + pinned.size() && pinned.data() < used.data() + used.size();
  };
  return std::ranges::any_of(streams_,
                             [&](const Owner& stream) { return std::ranges::any_of(stream->queue, overlaps); });
}

bool FakeStreams::can_run(const CUstream_st& stream) {
  if (stream.queue.empty()) return false;
  const std::shared_ptr<Record>& awaited = stream.queue.front()->waits_for;
  return awaited == nullptr || awaited->reached;
}

void FakeStreams::run_next(CUstream_st& stream) {
  const std::unique_ptr<Operation> next = std::move(stream.queue.front());
  stream.queue.pop_front();
  if (!begin_(stream.device)) next->run = nullptr;
  stream.running = next.get();
  stream.fiber.resume();
  if (next->reaches != nullptr) {
    next->reaches->time = std::chrono::steady_clock::now();
    next->reaches->reached = true;
  }
  if (stream.failure.empty()) return;
  acquire_here(&stream);
  fail_(stream.failure);
  stream.failure.clear();
}

// Runs the next operation of `stream`, or first one that this waits for.
void FakeStreams::advance(CUstream_st& stream) {
  if (can_run(stream)) return run_next(stream);
  advance(*stream.queue.front()->waits_for->stream);
}

bool FakeStreams::run_any() {
  std::vector<CUstream_st*> ready;
  for (const Owner& stream : streams_) {
    if (can_run(*stream)) ready.push_back(stream.get());
  }
  if (ready.empty()) return false;
  run_next(*ready[random_() % ready.size()]);
  return true;
}

void FakeStreams::run_all() {
  while (run_any()) continue;
}

}  // namespace simt
