// The threads of a block and where they meet: barriers, and the collectives of
// warps.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/simt/block_runner.hpp"
#include "tests/simt/fiber.hpp"

namespace simt {

enum class State { ready, at_barrier, at_collective, ended };

struct Thread {
  Fiber fiber;
  State state = State::ended;

  // What it brings to where it waits.
  Site site;
  unsigned mask = 0;
  std::uint64_t given = 0;

  // What it takes away.
  std::array<std::uint64_t, warp_lanes> received{};
  unsigned block_count = 0;
};

class ThreadPool {
 public:
  void grow(unsigned count) {
    while (threads_.size() < count) {
      threads_.push_back(std::make_unique<Thread>());
      stacks_.push_back(std::make_unique<Stack>());
    }
  }
  Thread& at(unsigned index) { return *threads_[index]; }
  void start(unsigned index, Fiber::Entry entry) {
    at(index).fiber.start(*stacks_[index], entry);
    at(index).state = State::ready;
  }

 private:
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<std::unique_ptr<Stack>> stacks_;
};

// Lets threads go on when all that they wait for are there. All functions run
// between the turns of the threads, and throw KernelFailure where threads can
// never meet, or meet where CUDA does not let them.
class BlockMeetings {
 public:
  BlockMeetings(ThreadPool& threads, unsigned count);

  // The thread has come to where its state says.
  void arrive(unsigned thread);
  bool all_ended() const { return ended_ == count_; }
  // No thread is ready.
  [[noreturn]] void fail_of_deadlock() const;

 private:
  // The lanes of one mask. Its address stands for it in ThreadSanitizer.
  struct Meeting {
    unsigned arrived = 0;
    Site site;
  };
  struct Warp {
    unsigned lanes = 0;  // bits
    unsigned ended = 0;
    std::map<unsigned, Meeting> meetings;  // by mask
  };

  void arrive_at_barrier(unsigned thread);
  void arrive_at_collective(unsigned thread);
  void end(unsigned thread);
  std::string describe(unsigned thread) const;

  ThreadPool* threads_;
  unsigned count_;
  unsigned ended_ = 0;
  unsigned last_ended_ = 0;
  unsigned at_barrier_ = 0;
  unsigned predicates_ = 0;
  Site barrier_site_;
  std::vector<Warp> warps_;
};

}  // namespace simt
