#include "tests/simt/fake_streams.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/simt/race_context.hpp"

namespace simt {
namespace {

// Operations that may run at one call of the shuffled policy, at most.
constexpr std::uint64_t most_steps = 3;

class RaceContextScope {
 public:
  explicit RaceContextScope(void* context) : before_(current_race_context()) { enter_race_context(context); }
  ~RaceContextScope() { enter_race_context(before_); }
  RaceContextScope(const RaceContextScope&) = delete;
  RaceContextScope& operator=(const RaceContextScope&) = delete;

 private:
  void* before_;
};

}  // namespace

cudaStream_t FakeStreams::create() {
  streams_.push_back(std::make_unique<CUstream_st>());
  streams_.back()->race_context = create_race_context();
  return streams_.back().get();
}

void FakeStreams::destroy(cudaStream_t stream) {
  finish(stream);
  destroy_race_context(stream->race_context);
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
    for (std::uint64_t steps = random_() % (most_steps + 1); steps > 0 && run_any(); --steps) continue;
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
  std::unique_ptr<Operation> next = std::move(stream.queue.front());
  stream.queue.pop_front();
  const RaceContextScope scope(stream.race_context);
  acquire_here(next.get());
  if (next->waits_for != nullptr) acquire_here(next->waits_for.get());
  if (next->run) runner_(next->run);
  release_here(&stream);
  if (next->reaches != nullptr) {
    release_here(next->reaches.get());
    next->reaches->time = std::chrono::steady_clock::now();
    next->reaches->reached = true;
  }
  next.reset();
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
