// The row kernels over line indices: prefetches change no number and read nothing past the end of an array.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "blco/bits.hpp"
#include "kernels/host/mttkrp_rows.hpp"
#include "kernels/host/row_matrix.hpp"

namespace blco::testing {
namespace {

constexpr std::array<std::uint64_t, 3> masks = {0x0f, 0xf0, 0xf00};  // of the target row, and of two factors'
constexpr std::uint64_t row_count = 16;
constexpr std::uint64_t marks_first = std::uint64_t{1} << 63;

struct Nonzeros {
  std::vector<std::uint64_t> lines;  // by target row, the first of each marked
  std::vector<double> values;
};

Nonzeros make_nonzeros(std::size_t count, std::mt19937_64& random) {
  // Allocated at once, so that the address sanitizer sees what is read past the end.
  Nonzeros nonzeros{std::vector<std::uint64_t>(count), std::vector<double>(count)};
  for (std::size_t i = 0; i < count; ++i) {
    nonzeros.lines[i] = random() & 0xfff;
    nonzeros.values[i] = static_cast<double>(random() % 1000) / 7.0;
  }
  const auto row = [](std::uint64_t line) { return pext_portable(line, masks[0]); };
  std::ranges::stable_sort(nonzeros.lines, {}, row);
  for (std::size_t i = count; i-- > 0;) {
    if (i == 0 || row(nonzeros.lines[i]) != row(nonzeros.lines[i - 1])) nonzeros.lines[i] |= marks_first;
  }
  return nonzeros;
}

template <class T, class Padded>
RowMatrix<T, Padded> random_factor(int rank, std::mt19937_64& random) {
  RowMatrix<T, Padded> matrix(row_count, rank);
  for (std::uint64_t i = 0; i < row_count; ++i) {
    for (int r = 0; r < rank; ++r) matrix.row(i)[r] = static_cast<T>(random() % 1000) / T{999};
  }
  return matrix;
}

template <class Task>
struct Rows : ::testing::Test {};
using Tasks = ::testing::Types<RowsTask<double>, RowsTask<float>, RowsTask<double, float>>;
TYPED_TEST_SUITE(Rows, Tasks);

TYPED_TEST(Rows, OfLinesAreTheSameWithPrefetchesAndSorted) {
  using Sum = typename TypeParam::SumType;
  using Factor = typename TypeParam::FactorType;
  std::mt19937_64 random(1);
  for (const int rank : {1, 3, 8, 16, 32, 70}) {
    const auto first = random_factor<Factor, Sum>(rank, random);
    const auto second = random_factor<Factor, Sum>(rank, random);
    for (const std::size_t count : {1U, 2U, 7U, 8U, 9U, 15U, 16U, 17U, 300U}) {
      const Nonzeros nonzeros = make_nonzeros(count, random);
      std::vector<double> sum(row_count * static_cast<std::size_t>(rank));
      std::vector<double> absolute(sum.size());
      for (std::size_t i = 0; i < count; ++i) {
        const auto row = [&](int mode) {
          return pext_portable(nonzeros.lines[i], masks[static_cast<std::size_t>(mode)]);
        };
        for (int r = 0; r < rank; ++r) {
          const double product = nonzeros.values[i] * static_cast<double>(first.row(row(1))[r]) *
                                 static_cast<double>(second.row(row(2))[r]);
          sum[row(0) * static_cast<std::size_t>(rank) + static_cast<std::size_t>(r)] += product;
          absolute[row(0) * static_cast<std::size_t>(rank) + static_cast<std::size_t>(r)] += std::abs(product);
        }
      }

      std::vector<Sum> expected;  // the bits of the first variant
      for (const bool sorted : {false, true}) {
        for (const auto& [prefetch, stream] : {std::pair{false, false}, {false, true}, {true, false}}) {
          RowMatrix<Sum> output(row_count, rank);
          TypeParam task;
          task.output = {output.row(0), nullptr, masks[0], 0};
          task.factors[0] = {first.row(0), nullptr, masks[1], 0};
          task.factors[1] = {second.row(0), nullptr, masks[2], 0};
          task.factor_count = 2;
          task.lines = nonzeros.lines.data();
          task.values = nonzeros.values.data();
          task.sorted = sorted;
          task.stride = output.stride();
          task.prefetch = prefetch;
          task.prefetch_stream = stream;

          mttkrp_rows(task, {0, count / 3});  // in two calls, the second of which may begin within a row
          mttkrp_rows(task, {count / 3, count - count / 3});

          std::vector<Sum> numbers;
          for (std::uint64_t i = 0; i < row_count; ++i)
            numbers.insert(numbers.end(), output.row(i), output.row(i) + rank);
          if (expected.empty()) expected = numbers;
          EXPECT_EQ(numbers, expected) << "rank " << rank << ", " << count << " nonzeros";
        }
      }
      for (std::size_t i = 0; i < sum.size(); ++i) {
        EXPECT_NEAR(static_cast<double>(expected[i]), sum[i],
                    absolute[i] * 300 * static_cast<double>(std::numeric_limits<Sum>::epsilon()));
      }
    }
  }
}

}  // namespace
}  // namespace blco::testing
