// The threads of a block, and where they meet: barriers and warp collectives.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "tests/simt/block_runner.hpp"
#include "tests/simt/cuda_threads.hpp"

namespace simt {

// Lets threads continue once all that they wait for have arrived. All functions run between the turns of the threads,
// and throw KernelFailure if threads can never meet, or meet where CUDA forbids it.
class BlockMeetings {
 public:
  explicit BlockMeetings(std::span<Thread* const> threads);

  // The thread has arrived where its state says.
  void arrive(unsigned thread);
  bool all_ended() const { return ended_ == count_; }
  // Call when no thread is ready.
  [[noreturn]] void fail_of_deadlock() const;

 private:
  // A meeting of the lanes of one mask. Its address identifies it to ThreadSanitizer.
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

  std::span<Thread* const> threads_;
  unsigned count_;
  unsigned ended_ = 0;
  unsigned last_ended_ = 0;
  unsigned at_barrier_ = 0;
  unsigned predicates_ = 0;
  Site barrier_site_;
  std::vector<Warp> warps_;
};

}  // namespace simt
