// The radix sort of nonzeros against a comparison sort.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/rivals/natural_cases.hpp"
#include "tests/bench/rivals/natural_sort.hpp"
#include "tests/thread_executor.hpp"

namespace blco::testing {
namespace {

std::vector<std::uint32_t> numbers_to(std::size_t count) {
  std::vector<std::uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::uint32_t{0});
  return numbers;
}

TEST(NaturalSort, SortsByModesInAnyOrderAndKeepsTies) {
  // Lengths of no digit, one digit and two.
  const NaturalTensor tensor =
      natural_tensor(random_tensor({.shape = {1, 2048, 5000, 3}, .nnz = 2000, .seed = 8, .skew = 3.0}));
  const std::vector<std::vector<int>> every_modes{{0, 1, 2, 3}, {2, 3}, {3}, {0}, {3, 2, 1}, {1, 0}};

  for (const std::vector<int>& modes : every_modes) {
    std::vector<std::uint32_t> expected = numbers_to(tensor.coo.nnz());
    std::ranges::stable_sort(expected, [&](std::uint32_t a, std::uint32_t b) {
      for (const int mode : modes) {
        const auto& of_mode = tensor.coordinates[static_cast<std::size_t>(mode)];
        if (of_mode[a] != of_mode[b]) return of_mode[a] < of_mode[b];
      }
      return false;
    });
    for (const int threads : {1, 2, 3}) {
      ThreadExecutor executor(threads);
      EXPECT_EQ(sorted_by(tensor.view(), modes, executor), expected) << threads;
    }
  }
}

}  // namespace
}  // namespace blco::testing
