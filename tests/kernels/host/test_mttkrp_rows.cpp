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

struct Nonzeros {
  std::vector<std::uint64_t> lines;  // by target row
  std::vector<double> values;
  // As in ArrangedNonzeros; rows have zeros past the end, for prefetches.
  std::vector<std::uint32_t> targets;
  std::vector<std::uint32_t> target_ends;
  std::array<std::vector<std::uint32_t>, 2> rows;
};

Nonzeros make_nonzeros(std::size_t count, std::mt19937_64& random) {
  // Allocated at once, so that the address sanitizer sees what is read past the end.
  Nonzeros nonzeros{std::vector<std::uint64_t>(count), std::vector<double>(count), {}, {}, {}};
  for (std::size_t i = 0; i < count; ++i) {
    nonzeros.lines[i] = random() & 0xfff;
    nonzeros.values[i] = static_cast<double>(random() % 1000) / 7.0;
  }
  const auto row = [](std::uint64_t line) { return pext_portable(line, masks[0]); };
  std::ranges::stable_sort(nonzeros.lines, {}, row);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t line = nonzeros.lines[i];
    if (i == 0 || row(line) != row(nonzeros.lines[i - 1])) {
      nonzeros.targets.push_back(static_cast<std::uint32_t>(row(line)));
      nonzeros.target_ends.push_back(0);
    }
    nonzeros.target_ends.back() = static_cast<std::uint32_t>(i + 1);
    for (std::size_t k = 0; k < 2; ++k) {
      nonzeros.rows[k].push_back(static_cast<std::uint32_t>(pext_portable(line, masks[k + 1])));
    }
  }
  for (auto& rows : nonzeros.rows) rows.resize(count + 64);
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
struct MttkrpRows : ::testing::Test {};
using Tasks = ::testing::Types<RowsTask<double>, RowsTask<float>, RowsTask<double, float>>;
TYPED_TEST_SUITE(MttkrpRows, Tasks);

TYPED_TEST(MttkrpRows, OfLinesAreTheSameWithPrefetchesAndArranged) {
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
      for (const bool arranged : {false, true}) {
        for (const bool prefetch : {false, true}) {
          RowMatrix<Sum> output(row_count, rank);
          TypeParam task;
          task.output = {output.row(0), nonzeros.targets.data(), masks[0], 0};
          task.factors[0] = {first.row(0), nonzeros.rows[0].data(), masks[1], 0};
          task.factors[1] = {second.row(0), nonzeros.rows[1].data(), masks[2], 0};
          task.factor_count = 2;
          if (arranged) {
            task.target_ends = nonzeros.target_ends.data();
          } else {
            task.lines = nonzeros.lines.data();
          }
          task.values = nonzeros.values.data();
          task.stride = output.stride();
          task.prefetch = prefetch;

          // In two calls, the second of which may begin within a row.
          const std::size_t items = arranged ? nonzeros.targets.size() : count;
          mttkrp_rows(task, {0, items / 3});
          mttkrp_rows(task, {items / 3, items - items / 3});

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
