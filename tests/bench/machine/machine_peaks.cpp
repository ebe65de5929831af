#include "tests/bench/machine/machine_peaks.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

#include "blco/error.hpp"
#include "kernels/aligned_buffer.hpp"
#include "tests/bench/machine/peak_loops.hpp"

namespace blco {
namespace {

using Clock = std::chrono::steady_clock;

// Between two looks at the clock a thread loads at least this, or does as many steps: some microseconds.
constexpr std::uint64_t piece_words = std::uint64_t{1} << 17;
constexpr std::uint64_t piece_steps = std::uint64_t{1} << 12;

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

// Lets threads begin together. Threads that an executor claims to have may never come, and one may leave by an error:
// then nobody waits any more.
class Meeting {
 public:
  explicit Meeting(std::size_t threads) : threads_(threads) {}

  void join_first() { wait(Clock::now() + std::chrono::milliseconds(250)); }
  void join() { wait(Clock::time_point::max()); }
  void leave() { apart_.store(true); }

 private:
  void wait(Clock::time_point latest) {
    const std::size_t all = (arrived_.fetch_add(1) / threads_ + 1) * threads_;
    while (arrived_.load() < all && !apart_.load()) {
      if (Clock::now() > latest) leave();
      std::this_thread::yield();
    }
  }

  std::size_t threads_;
  std::atomic<std::size_t> arrived_ = 0;
  std::atomic<bool> apart_ = false;
};

// Calls piece() until the time is over. Returns what a second of pieces amounts to; a piece returns its amount.
template <class Piece>
double speed_of(Piece& piece, double least_seconds) {
  double amount = 0;
  double seconds = 0;
  const Clock::time_point begin = Clock::now();
  do {
    amount += piece();
    seconds = seconds_between(begin, Clock::now());
  } while (seconds < least_seconds || seconds <= 0);
  return amount / seconds;
}

// Each thread makes a piece of work by prepare(thread) and then does it again and again, all at the same time. Returns
// the sum of the threads' speeds, in the best repeat.
template <class Prepare>
double best_speed(Executor& executor, const PeakEffort& effort, const Prepare& prepare) {
  const auto threads = static_cast<std::size_t>(executor.width());
  const auto repeats = static_cast<std::size_t>(std::max(effort.repeats, 1));
  std::vector<double> speeds(threads * repeats);
  Meeting meeting(threads);
  executor.run(threads, [&](std::size_t thread) {
    try {
      meeting.join_first();
      auto piece = prepare(thread);
      piece();
      for (std::size_t repeat = 0; repeat < repeats; ++repeat) {
        meeting.join();
        speeds[repeat * threads + thread] = speed_of(piece, effort.seconds);
      }
    } catch (...) {
      meeting.leave();
      throw;
    }
  });
  double best = 0;
  for (auto of = speeds.begin(); of != speeds.end(); of += executor.width()) {
    best = std::max(best, std::accumulate(of, of + executor.width(), 0.0));
  }
  return best;
}

// Loads all words again and again, a piece at a time, and checks the sum after each time through.
class WordReader {
 public:
  explicit WordReader(std::span<std::uint64_t> words) : words_(words) {
    // Every word differs, so that one left out is missed.
    for (std::size_t i = 0; i < words.size(); ++i) expected_ += words[i] = i * 0x9e3779b97f4a7c15U + 1;
    rounds_ = std::max<std::uint64_t>(piece_words / words.size(), 1);
  }

  double operator()() {
    const std::size_t count = std::min<std::size_t>(words_.size() - next_, piece_words);
    sum_ += sum_words(words_.subspan(next_, count), rounds_);
    next_ += count;
    if (next_ == words_.size()) {
      if (sum_ != expected_ * rounds_)
        throw Error(ErrorKind::corrupt, "numbers loaded to measure the memory are wrong");
      next_ = 0;
      sum_ = 0;
    }
    return static_cast<double>(count * rounds_ * sizeof(std::uint64_t));
  }

 private:
  std::span<std::uint64_t> words_;
  std::uint64_t expected_ = 0;
  std::uint64_t rounds_ = 1;
  std::uint64_t sum_ = 0;
  std::size_t next_ = 0;
};

double measure_flops(Executor& executor, const PeakEffort& effort, MultiplyAdds (*loop)(std::uint64_t)) {
  return best_speed(executor, effort, [loop](std::size_t) {
    return [loop] {
      const MultiplyAdds done = loop(piece_steps);
      // Every number has come to 2, the only one that x / 2 + 1 leaves as it is.
      if (std::abs(done.sum - 2 * static_cast<double>(done.numbers)) > 1e-3 * done.sum)
        throw Error(ErrorKind::corrupt, "numbers computed to measure the processor are wrong");
      return done.flops;
    };
  });
}

}  // namespace

double measure_loads(Executor& executor, std::uint64_t set_bytes, const PeakEffort& effort) {
  constexpr std::uint64_t line_words = cache_line_bytes / sizeof(std::uint64_t);
  const std::uint64_t words =
      std::max<std::uint64_t>((set_bytes + cache_line_bytes - 1) / cache_line_bytes, 1) * line_words;
  std::vector<AlignedBuffer<std::uint64_t>> sets;
  for (int i = 0; i < executor.width(); ++i) sets.emplace_back(words);
  return best_speed(executor, effort, [&](std::size_t thread) { return WordReader(sets[thread].span()); });
}

double measure_flops_f64(Executor& executor, const PeakEffort& effort) {
  return measure_flops(executor, effort, multiply_add_f64);
}
double measure_flops_f32(Executor& executor, const PeakEffort& effort) {
  return measure_flops(executor, effort, multiply_add_f32);
}

}  // namespace blco
