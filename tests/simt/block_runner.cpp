#include "tests/simt/block_runner.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
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
  ThreadPool* threads;
  unsigned running;  // thread
};

thread_local Block* block = nullptr;

Thread& running_thread() { return block->threads->at(block->running); }

// The bottom of every fiber.
void run_thread() {
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

// Throws KernelFailure.
void run_block(const GridShape& grid, unsigned number, Order order, std::mt19937_64& random,
               const std::function<void()>& thread, void* joined) {
  static thread_local ThreadPool threads;  // serves block after block
  threads.grow(grid.threads);
  const SharedMemory shared(grid.shared_bytes);
  Block running{&grid, number, &thread, shared.data(), &threads, 0};
  BlockMeetings meetings(threads, grid.threads);
  for (unsigned i = 0; i < grid.threads; ++i) threads.start(i, &run_thread);

  block = &running;
  std::vector<unsigned> turns(grid.threads);
  arrange(turns, order, random);
  try {
    while (!meetings.all_ended()) {
      if (order == Order::shuffled) std::ranges::shuffle(turns, random);
      bool progress = false;
      for (const unsigned turn : turns) {
        Thread& next = threads.at(turn);
        if (next.state != State::ready) continue;
        progress = true;
        running.running = turn;
        next.fiber.resume();
        if (next.state == State::ended) next.fiber.release(joined);
        meetings.arrive(turn);
      }
      if (!progress) meetings.fail_of_deadlock();
    }
  } catch (const KernelFailure& failure) {
    throw KernelFailure("block " + std::to_string(number) + ": " + failure.what());
  }
}

}  // namespace

void run_grid(const GridShape& grid, Order order, std::uint64_t seed, const std::function<void()>& thread) {
  std::mt19937_64 random(seed);
  std::vector<unsigned> blocks(grid.blocks);
  arrange(blocks, order, random);
  std::optional<KernelFailure> failure;
  char joined = 0;
  const auto run = [&](unsigned number) {
    try {
      run_block(grid, number, order, random, thread, &joined);
    } catch (const KernelFailure& caught) {
      failure = caught;
    }
  };
  for (const unsigned number : blocks) {
#ifdef SIMT_TSAN
    // The memory of a new thread is new to ThreadSanitizer, so that what blocks
    // keep there is not taken for shared.
    std::thread(run, number).join();
#else
    run(number);
#endif
    if (failure) break;
  }
  acquire_here(&joined);
  if (failure) throw KernelFailure(*failure);
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

// One place for the whole device orders more than CUDA does, but nothing that
// lacks a fence.
void fence() {
  static char place;
  acquire_here(&place);
  release_here(&place);
}

}  // namespace simt
