// The emulated device itself: what warps, blocks and atomics compute in three thread orders, against loops, and what a
// kernel is told that does what CUDA does not allow.
#include <cuda_runtime.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/simt/simt_control.hpp"

namespace simt {
namespace {

using ::testing::HasSubstr;

constexpr unsigned all_lanes = 0xffffffffu;

// Runs `thread` for every CUDA thread and returns what the kernel was told, or nothing.
std::string run(unsigned blocks, unsigned threads, std::size_t shared_bytes, Order order,
                const std::function<void()>& thread) {
  try {
    run_grid({blocks, threads, shared_bytes}, order, /*seed=*/7, thread);
  } catch (const KernelFailure& failure) {
    return failure.what();
  }
  return "";
}

std::vector<std::uint32_t> random_words(std::size_t count, std::uint32_t below, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint32_t> words(count);
  for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(random() % below);
  return words;
}

class EveryThreadOrder : public ::testing::TestWithParam<Order> {
 protected:
  void expect_to_run(unsigned blocks, unsigned threads, std::size_t shared_bytes, const std::function<void()>& thread) {
    EXPECT_EQ(run(blocks, threads, shared_bytes, GetParam(), thread), "");
  }
};

TEST_P(EveryThreadOrder, RunsEachThreadOfEachBlockOnce) {
  std::vector<int> runs(5 * 70);

  expect_to_run(5, 70, 0, [&] {
    EXPECT_EQ(gridDim.x, 5U);
    ++runs[blockIdx.x * blockDim.x + threadIdx.x];
  });

  EXPECT_EQ(runs, std::vector<int>(5 * 70, 1));
}

// The inclusive sums of runs of equal keys within a warp, as the prototype of every reduction by key.
template <class Number>
void segmented_scan(const std::uint32_t* keys, const Number* values, Number* sums) {
  const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned lane = threadIdx.x % 32;
  const std::uint32_t before = __shfl_up_sync(all_lanes, keys[at], 1);
  const unsigned heads = __ballot_sync(all_lanes, lane == 0 || before != keys[at]);
  const int head = 31 - __clz(static_cast<int>(heads & (all_lanes >> (31 - lane))));
  Number sum = values[at];
  for (int step = 1; step < 32; step *= 2) {
    const Number below = __shfl_up_sync(all_lanes, sum, static_cast<unsigned>(step));
    if (static_cast<int>(lane) - step >= head) sum += below;
  }
  sums[at] = sum;
}

template <class Number>
void expect_segmented_scan(Order order) {
  const auto keys = random_words(3 * 128, 2, 5);
  const auto words = random_words(3 * 128, 1000, 6);
  const std::vector<Number> values(words.begin(), words.end());
  std::vector<Number> expected = values;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i % 32 != 0 && keys[i] == keys[i - 1]) expected[i] += expected[i - 1];
  }
  std::vector<Number> sums(keys.size());

  EXPECT_EQ(run(3, 128, 0, order, [&] { segmented_scan(keys.data(), values.data(), sums.data()); }), "");

  EXPECT_EQ(sums, expected);
}

TEST_P(EveryThreadOrder, ScansSegmentsOfAWarp) {
  expect_segmented_scan<std::uint32_t>(GetParam());
  expect_segmented_scan<std::uint64_t>(GetParam());
  expect_segmented_scan<float>(GetParam());
  expect_segmented_scan<double>(GetParam());
}

TEST_P(EveryThreadOrder, ReducesABlockThroughSharedMemoryAndAtomics) {
  const auto words = random_words(4 * 96, 1 << 20, 8);
  double total = 0;
  unsigned long long count = 0;

  expect_to_run(4, 96, 3 * sizeof(double), [&] {
    BLCO_DYNAMIC_SHARED(memory);
    auto* of_warp = reinterpret_cast<double*>(memory);
    double own = words[blockIdx.x * blockDim.x + threadIdx.x];
    for (int step = 16; step > 0; step /= 2) own += __shfl_down_sync(all_lanes, own, static_cast<unsigned>(step));
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = own;
    __syncthreads();
    if (threadIdx.x < 3) atomicAdd(&total, of_warp[threadIdx.x]);
    atomicAdd(&count, 1ull);
  });

  EXPECT_EQ(total, std::accumulate(words.begin(), words.end(), 0.0));
  EXPECT_EQ(count, words.size());
}

TEST_P(EveryThreadOrder, FindsTheLanesOfEqualValues) {
  const auto words = random_words(64, 5, 9);
  std::vector<unsigned> expected(64);
  for (std::size_t i = 0; i < 64; ++i) {
    for (std::size_t j = 0; j < 32; ++j) {
      if (words[i] == words[i / 32 * 32 + j]) expected[i] |= 1u << j;
    }
  }
  std::vector<unsigned> narrow(64);
  std::vector<unsigned> wide(64);

  expect_to_run(1, 64, 0, [&] {
    narrow[threadIdx.x] = __match_any_sync(all_lanes, words[threadIdx.x]);
    wide[threadIdx.x] = __match_any_sync(all_lanes, std::uint64_t{words[threadIdx.x]} << 40);
  });

  EXPECT_EQ(narrow, expected);
  EXPECT_EQ(wide, expected);
}

TEST_P(EveryThreadOrder, LetsLanesMeetInGroups) {
  std::vector<int> sums(32);
  std::vector<int> votes(32);

  expect_to_run(1, 32, 0, [&] {
    const unsigned lane = threadIdx.x;
    const unsigned group = lane < 20 ? 0x000fffffu : 0xfff00000u;
    sums[lane] = __reduce_add_sync(group, static_cast<int>(lane));
    votes[lane] = __popc(__ballot_sync(group, lane % 2 == 0)) + 100 * __any_sync(group, lane == 3) +
                  1000 * __all_sync(group, lane >= 20);
  });

  for (unsigned lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(sums[lane], lane < 20 ? 190 : 306);
    EXPECT_EQ(votes[lane], lane < 20 ? 110 : 1006);
  }
}

TEST_P(EveryThreadOrder, ShufflesWithinAWidth) {
  std::vector<unsigned> up(32), down(32), across(32), from(32);

  expect_to_run(1, 32, 0, [&] {
    const unsigned lane = threadIdx.x;
    up[lane] = __shfl_up_sync(all_lanes, lane, 3, 8);
    down[lane] = __shfl_down_sync(all_lanes, lane, 3, 8);
    across[lane] = __shfl_xor_sync(all_lanes, lane, 5, 8);
    from[lane] = __shfl_sync(all_lanes, lane, 9, 8);
  });

  for (unsigned lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(up[lane], lane % 8 < 3 ? lane : lane - 3);
    EXPECT_EQ(down[lane], lane % 8 > 4 ? lane : lane + 3);
    EXPECT_EQ(across[lane], lane ^ 5);
    EXPECT_EQ(from[lane], lane / 8 * 8 + 1);
  }
}

TEST_P(EveryThreadOrder, CountsAtABarrier) {
  expect_to_run(2, 70, 0, [] {
    EXPECT_EQ(__syncthreads_count(threadIdx.x % 7 == 0), 10);
    EXPECT_EQ(__syncthreads_or(threadIdx.x == 69), 1);
    EXPECT_EQ(__syncthreads_and(threadIdx.x != 69), 0);
    EXPECT_EQ(__syncthreads_or(0), 0);
  });
}

TEST_P(EveryThreadOrder, MakesAtomicsOfAllThreads) {
  unsigned most = 0;
  unsigned least = 1000;
  unsigned bits = 0;
  unsigned long long first = 0;
  std::vector<int> tickets(2 * 33);
  int next = 0;

  expect_to_run(2, 33, 0, [&] {
    const unsigned number = blockIdx.x * blockDim.x + threadIdx.x;
    atomicMax(&most, number + 5);
    atomicMin(&least, number + 5);
    atomicOr(&bits, 1u << number % 32);
    atomicCAS(&first, 0ull, number + 1ull);
    ++tickets[static_cast<std::size_t>(atomicAdd(&next, 1))];
  });

  EXPECT_EQ(most, 70U);
  EXPECT_EQ(least, 5U);
  EXPECT_EQ(bits, all_lanes);
  EXPECT_NE(first, 0U);
  EXPECT_EQ(tickets, std::vector<int>(2 * 33, 1));
}

INSTANTIATE_TEST_SUITE_P(Simt, EveryThreadOrder, ::testing::Values(Order::forward, Order::reverse, Order::shuffled),
                         [](const auto& order) {
                           return order.param == Order::forward   ? "forward"
                                  : order.param == Order::reverse ? "reverse"
                                                                  : "shuffled";
                         });

TEST(Simt, ShowsAMissingBarrierInSomeOrder) {
  const auto sums_right = [](Order order) {
    double sum = 0;
    run(1, 64, 2 * sizeof(double), order, [&] {
      BLCO_DYNAMIC_SHARED(memory);
      auto* of_warp = reinterpret_cast<double*>(memory);
      if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = 1;
      if (threadIdx.x == 0) sum = of_warp[0] + of_warp[1];
    });
    return sum == 2;
  };

  EXPECT_FALSE(sums_right(Order::forward));
  EXPECT_TRUE(sums_right(Order::reverse)) << "the mistake hides where the other warp comes first";
}

TEST(Simt, ReportsABarrierThatSomeThreadsDoNotReach) {
  const std::string failure = run(1, 64, 0, Order::shuffled, [] {
    if (threadIdx.x < 40) __syncthreads();
  });

  EXPECT_THAT(failure, HasSubstr("barrier"));
  EXPECT_THAT(failure, HasSubstr("test_simt.cpp:"));
  EXPECT_THAT(failure, HasSubstr("ended"));
}

TEST(Simt, ReportsThreadsAtTwoBarriers) {
  const std::string failure = run(1, 64, 0, Order::forward, [] {
    if (threadIdx.x < 32) {
      __syncthreads();
    } else {
      __syncthreads();
    }
  });

  EXPECT_THAT(failure, HasSubstr("different barriers"));
}

TEST(Simt, ReportsLanesThatMeetAtTwoPlacesOfOneLine) {
  const std::string failure = run(1, 32, 0, Order::forward, [] {
    // clang-format off
    threadIdx.x < 5 ? __syncwarp() : __syncwarp();
    // clang-format on
  });

  EXPECT_THAT(failure, HasSubstr("meets lanes of its mask at another"));
}

TEST(Simt, TellsTemplatesAndLoopsOfOnePlaceFromPlacesOfTheirOwn) {
  EXPECT_EQ(run(1, 32, 0, Order::shuffled,
                [] {
                  for (int i = 0; i < 3; ++i) __syncwarp();
                }),
            "");
  const std::string failure = run(1, 32, 0, Order::shuffled, [] {
    if (threadIdx.x == 0) __ballot_sync(all_lanes, 1);
    if (threadIdx.x != 0) __any_sync(all_lanes, 1);
  });
  EXPECT_THAT(failure, HasSubstr("meets lanes"));
}

TEST(Simt, ReportsADeadlockOfLanesThatWaitInACircle) {
  const std::string failure = run(1, 3, 0, Order::forward, [] {
    const unsigned next = (threadIdx.x + 1) % 3;
    __syncwarp(1u << threadIdx.x | 1u << next);
  });

  EXPECT_THAT(failure, HasSubstr("deadlock: thread 0"));
  EXPECT_THAT(failure, HasSubstr("for lane 1, but thread 1 waits at the collective"));
}

TEST(Simt, ReportsABarrierWhereOthersWaitForAWarp) {
  const std::string failure = run(1, 32, 0, Order::forward, [] {
    if (threadIdx.x == 3) {
      __syncthreads();
    } else {
      __syncwarp();
    }
  });

  EXPECT_THAT(failure, HasSubstr("for lane 3, but thread 3 waits at the barrier"));
}

TEST(Simt, ReportsMasksThatCannotBeMet) {
  EXPECT_THAT(run(1, 32, 0, Order::forward, [] { __syncwarp(0xfffffffeu); }), HasSubstr("not in the mask"));
  EXPECT_THAT(run(1, 33, 0, Order::forward, [] { __syncwarp(); }), HasSubstr("lanes that its warp does not have"));
  EXPECT_THAT(run(1, 32, 0, Order::forward,
                  [] {
                    if (threadIdx.x > 0) __syncwarp();
                  }),
              HasSubstr("ended"));
  EXPECT_THAT(run(1, 32, 0, Order::reverse,
                  [] {
                    if (threadIdx.x > 0) __syncwarp();
                  }),
              HasSubstr("has ended, but lanes wait for it"));
}

TEST(Simt, RunsAnotherKernelAfterOneThatFailed) {
  EXPECT_NE(run(3, 32, 0, Order::forward, [] { __syncwarp(1); }), "");

  EXPECT_EQ(run(3, 32, 0, Order::forward, [] { __syncwarp(); }), "");
}

#ifdef __SANITIZE_ADDRESS__

TEST(SimtDeathTest, SharedMemoryEndsWhereItWasAskedTo) {
  const auto touch = [](std::size_t at) {
    run(1, 1, 40, Order::forward, [&] {
      BLCO_DYNAMIC_SHARED(memory);
      memory[at] = std::byte{1};
    });
  };

  touch(39);
  EXPECT_DEATH(touch(40), "heap-buffer-overflow");
}

TEST(SimtDeathTest, StaticSharedMemoryHasBounds) {
  const auto touch = [](unsigned at) {
    run(1, 1, 0, Order::forward, [&] {
      __shared__ int words[8];
      words[at] = 1;
      EXPECT_EQ(words[at], 1);
    });
  };

  touch(7);
  EXPECT_DEATH(touch(8), "out of bounds");
}

TEST(SimtDeathTest, SharedMemoryHasNoMoreThanItsAlignment) {
  EXPECT_DEATH(run(1, 1, 64, Order::forward,
                   [] {
                     BLCO_DYNAMIC_SHARED(memory);
                     *reinterpret_cast<double*>(memory + 4) = 1;
                   }),
               "misaligned address");
}

#endif

}  // namespace
}  // namespace simt
