// The pool: every task once, the first error to the caller, and work goes on afterwards.
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

#include "blco/error.hpp"
#include "engine/common/thread_pool.hpp"

namespace blco {
namespace {

TEST(ThreadPool, RunsEveryTaskOnce) {
  for (const int threads : {1, 2, 7}) {
    ThreadPool pool(threads);
    for (const std::size_t count : {0ul, 1ul, 6ul, 7ul, 8ul, 1000ul}) {
      std::vector<std::atomic<int>> calls(count);

      pool.run(count, [&](std::size_t task) { ++calls[task]; });

      for (const auto& call : calls) ASSERT_EQ(call, 1);
    }
    EXPECT_EQ(pool.width(), threads);
  }
}

TEST(ThreadPool, ThrowsATasksErrorAndCanBeUsedAgain) {
  ThreadPool pool(3);
  std::atomic<int> calls{0};

  EXPECT_THROW(pool.run(100,
                        [](std::size_t task) {
                          if (task == 5) throw std::runtime_error("five");
                        }),
               std::runtime_error);
  pool.run(10, [&](std::size_t) { ++calls; });

  EXPECT_EQ(calls, 10);
}

TEST(ThreadPool, RefusesANegativeNumberOfThreads) { EXPECT_THROW(ThreadPool(-1), Error); }

}  // namespace
}  // namespace blco
