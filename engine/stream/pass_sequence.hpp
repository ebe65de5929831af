// Passes in alternating directions: what a cache holds at the end of one is what the next needs first.
#pragma once

#include <cstdint>

#include "engine/stream/streamer.hpp"

namespace blco {

class PassSequence {
 public:
  // `streamer` must outlive this.
  explicit PassSequence(Streamer& streamer) : streamer_(&streamer) {}

  // Runs the next pass, forward if its number is even.
  void run(const PassRequest& request) {
    const bool is_even = next_++ % 2 == 0;
    ++run_;
    streamer_->pass(request, is_even ? Direction::forward : Direction::backward);
  }
  // Runs a pass over some chunks, in the order given; the numbers do not change.
  void run(const PassRequest& request, std::span<const std::uint64_t> chunks) {
    ++run_;
    streamer_->pass(request, chunks);
  }

  // The number of the next pass, counted since the very first, also after a resume.
  std::uint64_t next() const { return next_; }
  void set_next(std::uint64_t number) { next_ = number; }
  // How many have been run.
  std::uint64_t count() const { return run_; }
  std::uint64_t chunk_count() const { return streamer_->plan().tiers.size(); }

 private:
  Streamer* streamer_;
  std::uint64_t next_ = 0;
  std::uint64_t run_ = 0;
};

}  // namespace blco
