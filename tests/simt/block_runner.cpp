#include "tests/simt/block_runner.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tests/simt/block_meetings.hpp"
#include "tests/simt/race_context.hpp"
#include "tests/simt/shared_memory.hpp"

namespace simt {
namespace {

struct Block {
  const GridShape* grid;
  unsigned number;
  const std::function<void()>* thread;
  std::byte* shared;
  std::span<Thread* const> threads;
  unsigned running;  // thread
};

thread_local Block* block = nullptr;

Thread& running_thread() { return *block->threads[block->running]; }

// The bottom of every fiber.
void run_thread(void*) {
  (*block->thread)();
  running_thread().state = State::ended;
  running_thread().fiber.suspend(/*for_the_last_time=*/true);
}

template <class Number>
void arrange(std::vector<Number>& numbers, Order order, std::mt19937_64& random) {
  std::iota(numbers.begin(), numbers.end(), Number{0});
  if (order == Order::reverse) std::ranges::reverse(numbers);
  if (order == Order::shuffled) std::ranges::shuffle(numbers, random);
}

class GridRunner {
 public:
  GridRunner(const GridShape& grid, Order order, std::uint64_t seed, const std::function<void()>& thread)
      : grid_(grid), order_(order), random_(seed), thread_(&thread) {}

  void run() {
    std::vector<unsigned> blocks(grid_.blocks);
    arrange(blocks, order_, random_);
    for (const unsigned number : blocks) {
#ifdef SIMT_TSAN
      // The memory of a new thread is new to ThreadSanitizer, so that what blocks keep there is not taken for shared.
      std::thread([&] { run_block(number); }).join();
#else
      run_block(number);
#endif
      if (!failure_.empty()) break;
    }
    acquire_here(&joined_);
    if (!failure_.empty()) throw KernelFailure(failure_);
  }

 private:
  void run_block(unsigned number) {
    static ThreadPool pool;
    const SharedMemory shared(grid_.shared_bytes);
    const std::vector<Thread*> threads = pool.start(grid_.threads, &run_thread);
    Block running{&grid_, number, thread_, shared.data(), threads, 0};
    BlockMeetings meetings(threads);
    block = &running;
    try {
      run_threads(running, meetings);
    } catch (const KernelFailure& failure) {
      failure_ = "block " + std::to_string(number) + ": " + failure.what();
    }
  }

  void run_threads(Block& running, BlockMeetings& meetings) {
    std::vector<unsigned> turns(grid_.threads);
    arrange(turns, order_, random_);
    while (!meetings.all_ended()) {
      if (order_ == Order::shuffled) std::ranges::shuffle(turns, random_);
      bool progress = false;
      for (const unsigned turn : turns) {
        Thread& next = *running.threads[turn];
        if (next.state != State::ready) continue;
        progress = true;
        running.running = turn;
        next.fiber.resume();
        if (next.state == State::ended) next.fiber.release(&joined_);
        meetings.arrive(turn);
      }
      if (!progress) meetings.fail_of_deadlock();
    }
  }

  GridShape grid_;
  Order order_;
  std::mt19937_64 random_;
  const std::function<void()>* thread_;
  std::string failure_;
  char joined_ = 0;  // stands for the end of the kernel
};

}  // namespace

void run_grid(const GridShape& grid, Order order, std::uint64_t seed, const std::function<void()>& thread) {
  GridRunner(grid, order, seed, thread).run();
}

Index thread_index() { return {block->running, 0, 0}; }
Index block_index() { return {block->number, 0, 0}; }
Index block_size() { return {block->grid->threads, 1, 1}; }
Index grid_size() { return {block->grid->blocks, 1, 1}; }
std::byte* dynamic_shared() { return block->shared; }
unsigned lane_index() { return block->running % warp_lanes; }

unsigned meet_block(bool predicate, const Site& site) {
  Thread& self = running_thread();
  self.state = State::at_barrier;
  self.given = predicate ? 1 : 0;
  self.site = site;
  self.fiber.suspend(/*for_the_last_time=*/false);
  return self.block_count;
}

void exchange(unsigned mask, std::uint64_t value, const Site& site) {
  Thread& self = running_thread();
  self.state = State::at_collective;
  self.mask = mask;
  self.given = value;
  self.site = site;
  self.fiber.suspend(/*for_the_last_time=*/false);
}

std::uint64_t received(unsigned lane) { return running_thread().received[lane]; }

unsigned lanes_that_gave(std::uint64_t value) {
  const Thread& self = running_thread();
  unsigned lanes = 0;
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    if ((self.mask >> lane & 1) != 0 && self.received[lane] == value) lanes |= 1u << lane;
  }
  return lanes;
}

// One place for the whole device orders more than CUDA does, but nothing that lacks a fence.
void fence() {
  static char place;
  acquire_here(&place);
  release_here(&place);
}

}  // namespace simt
