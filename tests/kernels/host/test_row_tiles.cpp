// Moving rows to and from tiles, against loops over single numbers, on every instruction set that this CPU has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "kernels/highway_targets.hpp"
#include "kernels/host/row_tiles.hpp"
#include "tests/random_tensor.hpp"
// After the limits on targets:
#include <hwy/targets.h>

namespace blco::testing {
namespace {

using ::testing::ElementsAreArray;

constexpr std::uint64_t rows_in_all = 100;

template <class T>
RowMatrix<T> random_rows(int rank) {
  const auto columns = static_cast<std::uint64_t>(rank);
  const std::vector<double> numbers = random_matrix(rows_in_all, rank, 7);
  RowMatrix<T> matrix(rows_in_all, rank);
  for (std::uint64_t i = 0; i < rows_in_all; ++i) {
    for (std::uint64_t j = 0; j < columns; ++j) matrix.row(i)[j] = static_cast<T>(numbers[i * columns + j]);
  }
  return matrix;
}

template <class T>
std::vector<T> numbers_of(const RowMatrix<T>& matrix) {
  return {matrix.row(0), matrix.row(0) + matrix.rows() * matrix.stride()};
}

// Every third row, from 1 on.
std::vector<std::uint64_t> some_rows(std::uint64_t count) {
  std::vector<std::uint64_t> numbers(count);
  for (std::uint64_t i = 0; i < count; ++i) numbers[i] = 1 + 3 * i;
  return numbers;
}

class RowTiles : public ::testing::TestWithParam<std::int64_t> {
 protected:
  RowTiles() { hwy::GetChosenTarget().Update(GetParam()); }
  ~RowTiles() override { hwy::GetChosenTarget().Update(hwy::SupportedTargets()); }
};

template <class T>
void expect_moves(int rank) {
  for (const std::uint64_t count : {0, 1, 7, 8, 9, 31, 32}) {
    const auto numbers = some_rows(count);
    RowMatrix<T> matrix = random_rows<T>(rank);
    const RowMatrix<T> before = random_rows<T>(rank);
    std::vector<T> left = numbers_of(before);
    AlignedBuffer<double> tile(solve_tile_columns(rank) * solve_tile_rows);
    AlignedBuffer<double> copied(tile.size());
    std::ranges::fill(tile.span(), 5.0);
    std::ranges::fill(copied.span(), 6.0);

    copy_rows(view(before), numbers, copied.data());
    take_rows(view(matrix), numbers, tile.data());

    ASSERT_THAT(std::vector(copied.data(), copied.data() + matrix.stride() * solve_tile_rows),
                ElementsAreArray(tile.data(), matrix.stride() * solve_tile_rows));
    for (std::uint64_t j = 0; j < matrix.stride(); ++j) {
      for (std::uint64_t i = 0; i < solve_tile_rows; ++i) {
        const double expected = i < count ? static_cast<double>(before.row(numbers[i])[j]) : 0.0;
        ASSERT_EQ(tile.data()[j * solve_tile_rows + i], expected) << "rank " << rank << ", " << count << " rows";
      }
    }
    for (const std::uint64_t row : numbers) std::fill_n(left.data() + row * matrix.stride(), matrix.stride(), T{0});
    ASSERT_THAT(numbers_of(matrix), ElementsAreArray(left)) << "rank " << rank << ", " << count << " rows";

    put_rows(tile.data(), numbers, view(matrix));

    ASSERT_THAT(numbers_of(matrix), ElementsAreArray(numbers_of(before)))
        << "rank " << rank << ", " << count << " rows";
  }
}

TEST_P(RowTiles, TakesRowsAwayAndPutsThemBack) {
  for (const int rank : {1, 2, 3, 5, 8, 9, 16, 17, 33, 70}) {
    expect_moves<double>(rank);
    expect_moves<float>(rank);
  }
}

template <class T>
void expect_scaled(int rank, bool scaled) {
  const std::uint64_t columns = gram_tile_columns(rank);
  constexpr std::uint64_t mask = 0x8000'0421'0000'8005;
  RowMatrix<T> matrix = random_rows<T>(rank);
  std::vector<T> expected = numbers_of(matrix);
  std::vector<double> expected_tile;
  AlignedBuffer<double> scale(columns);
  std::ranges::fill(scale.span(), 1.0);
  for (int j = 0; j < rank; ++j) scale.data()[j] = 1.0 / (3 + j);
  AlignedBuffer<double> tile(64 * columns);
  for (std::uint64_t i = 0; i < 64; ++i) {
    if ((mask >> i & 1) == 0) continue;
    T* row = expected.data() + i * matrix.stride();
    for (std::uint64_t j = 0; j < columns; ++j) {
      if (scaled && j < matrix.stride()) row[j] = static_cast<T>(static_cast<double>(row[j]) * scale.data()[j]);
      expected_tile.push_back(j < matrix.stride() ? static_cast<double>(row[j]) : 0.0);
    }
  }

  const std::uint64_t count =
      scale_rows(matrix.row(0), matrix.stride(), mask, scaled ? scale.data() : nullptr, columns, tile.data());

  EXPECT_EQ(count, 7U);
  EXPECT_THAT(numbers_of(matrix), ElementsAreArray(expected)) << "rank " << rank;
  EXPECT_THAT(std::vector(tile.data(), tile.data() + count * columns), ElementsAreArray(expected_tile))
      << "rank " << rank;
}

void expect_moved(int rank, bool scaled) {
  const std::uint64_t columns = gram_tile_columns(rank);
  RowMatrix<double> from = random_rows<double>(rank);
  const RowMatrix<double> before = random_rows<double>(rank);
  RowMatrix<float, double> to(rows_in_all, rank);
  AlignedBuffer<double> scale(columns);
  for (int j = 0; j < rank; ++j) scale.data()[j] = 1.0 / (3 + j);
  AlignedBuffer<double> tile(64 * columns);

  const std::uint64_t count =
      scale_rows(from.row(0), to.row(0), to.stride(), 0x12, scaled ? scale.data() : nullptr, columns, tile.data());

  ASSERT_EQ(count, 2U);
  for (std::uint64_t i = 0; i < 6; ++i) {
    const bool moved = i == 1 || i == 4;
    for (std::uint64_t j = 0; j < to.stride(); ++j) {
      const double number = before.row(i)[j] * (scaled ? scale.data()[j] : 1.0);
      const float expected = moved ? static_cast<float>(number) : 0.0F;
      ASSERT_EQ(to.row(i)[j], expected) << "rank " << rank << ", row " << i;
      ASSERT_EQ(from.row(i)[j], moved ? 0.0 : before.row(i)[j]) << "rank " << rank << ", row " << i;
      if (!moved) continue;
      ASSERT_EQ(tile.data()[(i == 4 ? columns : 0) + j], static_cast<double>(expected)) << "rank " << rank;
    }
  }
}

TEST_P(RowTiles, MovesRowsOfDoubleIntoAMatrixOfFloat) {
  for (const int rank : {1, 2, 3, 5, 8, 9, 16, 17, 33}) {
    for (const bool scaled : {false, true}) expect_moved(rank, scaled);
  }
}

TEST_P(RowTiles, ScalesAndPacksTheRowsOfAMask) {
  for (const int rank : {1, 2, 3, 5, 8, 9, 16, 17, 33}) {
    for (const bool scaled : {false, true}) {
      expect_scaled<double>(rank, scaled);
      expect_scaled<float>(rank, scaled);
    }
  }
}

TEST_P(RowTiles, FindsTheRowsWithAnyBitSet) {
  for (const std::uint64_t row_bytes : {4, 8, 16, 32, 64, 192}) {
    for (const std::uint64_t count : {1, 63, 64}) {
      AlignedBuffer<std::byte> rows(64 * row_bytes);
      ASSERT_EQ(nonzero_rows(rows.data(), count, row_bytes), 0U);
      std::uint64_t expected = 0;
      for (const std::uint64_t row : {0, 31, 62, 63}) {
        // One bit, at a place of its own: the sign of a zero, or part of a number that may count as zero.
        rows.data()[row * row_bytes + (row * 7 + row_bytes - 1) % row_bytes] = std::byte{0x80};
        if (row < count) expected |= std::uint64_t{1} << row;
      }

      EXPECT_EQ(nonzero_rows(rows.data(), count, row_bytes), expected) << row_bytes << " bytes, " << count << " rows";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryTarget, RowTiles, ::testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& which) { return std::string(hwy::TargetName(which.param)); });

}  // namespace
}  // namespace blco::testing
