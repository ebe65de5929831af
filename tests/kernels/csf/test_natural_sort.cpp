// The radix sorts of nonzeros against comparison sorts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blco/layout.hpp"
#include "kernels/csf/natural_sort.hpp"
#include "kernels/rivals/sorted_lines.hpp"
#include "tests/kernels/rivals/rival_cases.hpp"

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

void expect_lines_sorted(const std::vector<std::uint64_t>& shape, int threads) {
  const NaturalTensor tensor = natural_tensor(random_tensor({.shape = shape, .nnz = 1500, .seed = 9}));
  const TensorLayout layout(shape);
  std::vector<LineIndex> lines;
  for (std::size_t i = 0; i < tensor.coo.nnz(); ++i) {
    lines.push_back(layout.linearize(std::span(tensor.coo.coordinates).subspan(i * shape.size(), shape.size())));
  }
  std::vector<std::uint32_t> expected = numbers_to(lines.size());
  std::ranges::sort(expected, [&](std::uint32_t a, std::uint32_t b) { return lines[a] < lines[b]; });
  ThreadExecutor executor(threads);

  const SortedLines sorted = sort_lines(tensor.view(), executor);

  ASSERT_EQ(sorted.lows.size(), lines.size());
  ASSERT_EQ(sorted.keys.size(), layout.has_key() ? lines.size() : 0);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    ASSERT_EQ(sorted.nonzeros.data()[i], expected[i]);
    ASSERT_EQ(sorted.lows.data()[i], lines[expected[i]].low);
    if (layout.has_key()) {
      ASSERT_EQ(sorted.keys.data()[i], lines[expected[i]].key);
    }
  }
}

TEST(SortedLines, AreInOrder) {
  const std::uint64_t long_mode = std::uint64_t{1} << 32;
  for (const int threads : {1, 2, 3}) {
    expect_lines_sorted({1, 1}, threads);
    expect_lines_sorted({40, 31, 57}, threads);
    expect_lines_sorted({long_mode, long_mode}, threads);
    expect_lines_sorted({long_mode, long_mode, 2}, threads);
    expect_lines_sorted({long_mode, long_mode, long_mode, long_mode}, threads);
  }
}

}  // namespace
}  // namespace blco::testing
