// The CUDA threads of a block: the state of each, its contribution to a meeting, and its fiber.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/simt/block_runner.hpp"
#include "tests/simt/fiber.hpp"
#include "tests/simt/race_context.hpp"

namespace simt {

enum class State { ready, at_barrier, at_collective, ended };

struct Thread {
  Fiber fiber;
  Stack stack;
  void* race_context = nullptr;
  State state = State::ended;

  // Its contribution to the meeting that it waits for.
  Site site;
  unsigned mask = 0;
  std::uint64_t given = 0;

  // The result that it takes from a meeting.
  std::array<std::uint64_t, warp_lanes> received{};
  unsigned block_count = 0;
};

// Threads serve block after block. ThreadSanitizer sees threads with the same context as one thread, whose work is
// ordered. So there are more than a block needs, serving in turn, and races between neighbouring blocks are found. (A
// context takes a millisecond to make.)
class ThreadPool {
 public:
  // Threads for a block, ready to run `entry` after all that the caller did.
  std::vector<Thread*> start(unsigned count, Fiber::Entry entry) {
    const std::size_t enough = finds_races_here ? std::max<std::size_t>(min_contexts, 2 * count) : count;
    while (threads_.size() < enough) {
      threads_.push_back(std::make_unique<Thread>());
      threads_.back()->race_context = create_race_context();
    }
    std::vector<Thread*> started;
    for (unsigned i = 0; i < count; ++i) {
      started.push_back(threads_[next_].get());
      next_ = (next_ + 1) % threads_.size();
      Thread& thread = *started.back();
      release_here(&thread);
      acquire_in(thread.race_context, &thread);
      thread.fiber.start(thread.stack, thread.race_context, entry);
      thread.state = State::ready;
    }
    return started;
  }

 private:
  static constexpr std::size_t min_contexts = 256;

  std::vector<std::unique_ptr<Thread>> threads_;
  std::size_t next_ = 0;
};

}  // namespace simt
