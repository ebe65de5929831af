// The radix sort of lines against a comparison sort.
#include <gtest/gtest.h>

#include <numeric>

#include "blco/layout.hpp"
#include "tests/bench/rivals/rival_cases.hpp"
#include "tests/bench/rivals/sorted_lines.hpp"

namespace blco::testing {
namespace {

void expect_lines_sorted(const std::vector<std::uint64_t>& shape, int threads) {
  const NaturalTensor tensor = natural_tensor(random_tensor({.shape = shape, .nnz = 1500, .seed = 9}));
  const TensorLayout layout(shape);
  std::vector<LineIndex> lines;
  for (std::size_t i = 0; i < tensor.coo.nnz(); ++i) {
    lines.push_back(layout.linearize(std::span(tensor.coo.coordinates).subspan(i * shape.size(), shape.size())));
  }
  std::vector<std::uint32_t> expected(lines.size());
  std::iota(expected.begin(), expected.end(), std::uint32_t{0});
  std::ranges::sort(expected, [&](std::uint32_t a, std::uint32_t b) { return lines[a] < lines[b]; });
  ThreadExecutor executor(threads);

  const SortedLines sorted = sort_lines(tensor.view(), executor);

  ASSERT_EQ(sorted.lows.size(), lines.size());
  ASSERT_EQ(sorted.keys.size(), layout.has_high_word() ? lines.size() : 0);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    ASSERT_EQ(sorted.nonzeros.data()[i], expected[i]);
    ASSERT_EQ(sorted.lows.data()[i], lines[expected[i]].low);
    if (layout.has_high_word()) {
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
