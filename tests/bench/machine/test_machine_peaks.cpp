// What measures the processor: that its loops load every byte and do every operation; not how fast.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/bench/machine/machine_peaks.hpp"
#include "tests/bench/machine/peak_loops.hpp"
#include "tests/thread_executor.hpp"

namespace blco {
namespace {

constexpr PeakEffort tiny_effort{.seconds = 1e-5, .repeats = 2};

TEST(PeakLoops, AddsUpEveryWordInEveryRound) {
  // Around the strips of vectors: 8 of 8 words with AVX-512.
  for (const std::size_t count : {0U, 1U, 7U, 8U, 63U, 64U, 65U, 127U, 128U, 1000U}) {
    std::vector<std::uint64_t> words(count);
    std::uint64_t expected = 0;
    for (std::size_t i = 0; i < count; ++i) {
      words[i] = (i + 1) << (i % 48);
      expected += 3 * words[i];
    }

    EXPECT_EQ(sum_words(words, 3), expected) << count << " words";
  }
}

TEST(PeakLoops, MissesNoSingleWord) {
  std::vector<std::uint64_t> words(200);
  for (std::uint64_t& word : words) {
    word = 1;

    EXPECT_EQ(sum_words(words, 5), 5U) << "word " << &word - words.data();

    word = 0;
  }
}

// After n steps of x -> x / 2 + 1, i has become 2 + (i - 2) / 2^n: exactly so in f32 too while n is small.
TEST(PeakLoops, DoesEveryMultiplyAdd) {
  for (const auto loop : {multiply_add_f64, multiply_add_f32}) {
    for (const std::uint64_t steps : {0U, 1U, 2U, 5U}) {
      const MultiplyAdds done = loop(steps);

      const auto numbers = static_cast<double>(done.numbers);
      double expected = 0;
      for (double i = 0; i < numbers; ++i) expected += 2 + (i - 2) / std::pow(2.0, static_cast<double>(steps));
      EXPECT_GE(done.numbers, 12U);
      EXPECT_EQ(done.sum, expected) << steps << " steps";
      EXPECT_EQ(done.flops, 2 * numbers * static_cast<double>(steps));
    }
  }
}

TEST(MachinePeaks, MeasuresLoadsOfAnySize) {
  for (const int threads : {1, 3}) {
    ThreadExecutor executor(threads);
    // A line, what one call loads, and a part of a second call.
    for (const std::uint64_t bytes : {0U, 1U, 64U, 4096U, 1U << 20, (1U << 20) + 64}) {
      const double speed = measure_loads(executor, bytes, tiny_effort);

      EXPECT_GT(speed, 0) << bytes;
      EXPECT_TRUE(std::isfinite(speed)) << bytes;
    }
  }
}

TEST(MachinePeaks, MeasuresFlops) {
  ThreadExecutor executor(2);
  for (const auto measure : {measure_flops_f64, measure_flops_f32}) {
    const double speed = measure(executor, tiny_effort);

    EXPECT_GT(speed, 0);
    EXPECT_TRUE(std::isfinite(speed));
  }
}

TEST(MachinePeaks, MeasuresInNoTimeAtAll) {
  SerialExecutor executor;

  EXPECT_TRUE(std::isfinite(measure_loads(executor, 64, {.seconds = 0, .repeats = 0})));
  EXPECT_TRUE(std::isfinite(measure_flops_f32(executor, {.seconds = -1, .repeats = -1})));
}

// All its tasks run on the caller, one after the other, though it claims more threads.
class BoastfulExecutor final : public Executor {
 public:
  int width() const override { return 2; }
  void run(std::size_t count, const std::function<void(std::size_t)>& task) override {
    for (std::size_t i = 0; i < count; ++i) task(i);
  }
};

TEST(MachinePeaks, DoesNotWaitForThreadsThatNeverCome) {
  BoastfulExecutor executor;

  EXPECT_GT(measure_loads(executor, 4096, tiny_effort), 0);
}

}  // namespace
}  // namespace blco
