// The product with one matrix against a map from cells of the other modes to sums.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/memory_tensor.hpp>
#include <blco/ttm.hpp>
#include <cmath>
#include <filesystem>
#include <map>
#include <vector>

#include "blco/error.hpp"
#include "blco/layout.hpp"
#include "io/arrays/fiber_file.hpp"
#include "tests/random_tensor.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

using testing::CooTensor;

MemoryTensor in_memory(const CooTensor& tensor, std::uint64_t chunk_nnz = 256, Reorder reorder = Reorder::none) {
  CoordinateArrays arrays{.values = tensor.values};
  for (std::size_t n = 0; n < tensor.order(); ++n) {
    arrays.coordinates.emplace_back(StridedView<std::uint64_t>(tensor.coordinates.data() + n, tensor.nnz(),
                                                               static_cast<std::ptrdiff_t>(tensor.order())));
  }
  return MemoryTensor(arrays, {.shape = tensor.shape, .reorder = reorder, .chunk_nnz = chunk_nnz});
}

struct FiberSums {
  std::vector<double> numbers;
  std::vector<double> magnitudes;
};

// By cell of the other modes.
std::map<std::vector<std::uint64_t>, FiberSums> fibers_of(const CooTensor& tensor, std::size_t mode,
                                                          const std::vector<double>& matrix, std::size_t columns) {
  std::map<std::vector<std::uint64_t>, FiberSums> fibers;
  for (std::size_t i = 0; i < tensor.nnz(); ++i) {
    std::vector<std::uint64_t> cell;
    for (std::size_t n = 0; n < tensor.order(); ++n) {
      if (n != mode) cell.push_back(tensor.coordinate(i, n));
    }
    FiberSums& sums = fibers[cell];
    sums.numbers.resize(columns);
    sums.magnitudes.resize(columns);
    for (std::size_t r = 0; r < columns; ++r) {
      const double product = tensor.values[i] * matrix[tensor.coordinate(i, mode) * columns + r];
      sums.numbers[r] += product;
      sums.magnitudes[r] += std::abs(product);
    }
  }
  return fibers;
}

std::vector<double> matrix_of(std::uint64_t rows, std::size_t columns) {
  std::vector<double> matrix(static_cast<std::size_t>(rows) * columns);
  for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = std::sin(static_cast<double>(i) + 1);
  return matrix;
}

void expect_product(const CooTensor& tensor, std::size_t mode, std::size_t columns, Reorder reorder = Reorder::none) {
  const std::vector<double> matrix = matrix_of(tensor.shape[mode], columns);
  const auto expected = fibers_of(tensor, mode, matrix, columns);

  const SemiSparseTensor product = ttm(in_memory(tensor, 256, reorder), mode,
                                       {matrix.data(), static_cast<std::size_t>(tensor.shape[mode]), columns});

  ASSERT_EQ(product.fibers(), expected.size());
  const TensorLayout layout(product.shape);
  LineIndex last;
  for (std::size_t f = 0; f < product.fibers(); ++f) {
    std::vector<std::uint64_t> cell;
    for (const std::vector<std::uint64_t>& of_mode : product.coordinates) cell.push_back(of_mode[f]);
    const auto found = expected.find(cell);
    ASSERT_NE(found, expected.end());
    const LineIndex line = layout.linearize(cell);
    if (f > 0) {
      EXPECT_LT(last, line);
    }
    last = line;
    for (std::size_t r = 0; r < columns; ++r) {
      EXPECT_NEAR(product.rows[f * columns + r], found->second.numbers[r], 1e-12 * found->second.magnitudes[r]);
    }
  }
}

TEST(Ttm, OfEveryModeIsThatOfALoop) {
  const std::vector<std::vector<std::uint64_t>> shapes{{40, 30}, {30, 1, 50}, {200, 9, 17, 5}, {4, 5, 3, 2, 6}};
  for (const std::vector<std::uint64_t>& shape : shapes) {
    const CooTensor tensor = testing::random_tensor({.shape = shape, .nnz = 1500, .seed = 4, .skew = 2});
    for (std::size_t mode = 0; mode < shape.size(); ++mode) {
      for (const std::size_t columns : {1, 3, 8, 16}) expect_product(tensor, mode, columns);
    }
  }
}

TEST(Ttm, OfLinesOverAWordIsThatOfALoop) {
  const CooTensor tensor =
      testing::random_tensor({.shape = {1U << 20, 1U << 14, 1U << 20, 1U << 13}, .nnz = 900, .skew = 6});
  for (std::size_t mode = 0; mode < 4; ++mode) expect_product(tensor, mode, 2);
}

TEST(Ttm, OfAReorderedTensorIsThatOfALoop) {
  const CooTensor tensor = testing::random_tensor({.shape = {90, 40, 70}, .nnz = 1500, .seed = 3, .skew = 3});
  for (std::size_t mode = 0; mode < 3; ++mode) expect_product(tensor, mode, 3, Reorder::frequency);
}

TEST(Ttm, HasTheSameBitsInPartsAndOnSeveralThreads) {
  const CooTensor tensor = testing::random_tensor({.shape = {60, 700, 900}, .nnz = 200'000, .seed = 8});
  const MemoryTensor given = in_memory(tensor, std::uint64_t{1} << 12);
  const std::vector<double> matrix = matrix_of(60, 2);
  int passes = 0;
  const auto collect = [&](const TtmOptions& options) {
    passes = 0;
    std::vector<double> numbers;
    const auto add = [&](const FiberBlock& block) {
      for (std::size_t f = 0; f < block.coordinates[0].size(); ++f) {
        for (const auto& of_mode : block.coordinates) numbers.push_back(static_cast<double>(of_mode[f]));
        numbers.insert(numbers.end(), {block.rows[2 * f], block.rows[2 * f + 1]});
      }
    };
    const auto count = [&](const Progress& progress) {
      passes += progress.share >= 1 ? 1 : 0;
      return true;
    };
    for_each_fiber(given, 0, {matrix.data(), 60, 2}, add, options, count);
    return numbers;
  };

  const std::vector<double> expected = collect({.threads = 1});
  const int at_once = passes;

  // On a slow machine the end of a pass may be reported twice.
  EXPECT_LE(at_once, 2);
  EXPECT_EQ(collect({.threads = 3}), expected);
  EXPECT_EQ(collect({.memory_bytes = std::uint64_t{16} << 20, .threads = 2}), expected);
  EXPECT_GT(passes, 2);
}

TEST(Ttm, OfAFileHasTheSameFibers) {
  const TemporaryFolder folder;
  const CooTensor tensor = testing::random_tensor({.shape = {50, 300, 70}, .nnz = 60'000, .seed = 3});
  const MemoryTensor given = in_memory(tensor, 4096);
  const std::vector<double> matrix = matrix_of(50, 2);
  const SemiSparseTensor expected = ttm(given, 0, {matrix.data(), 50, 2});
  FiberFileWriter writer(folder / "expected.h5", tensor.shape, 0, 2);
  const std::vector<std::span<const std::uint64_t>> coordinates(expected.coordinates.begin(),
                                                                expected.coordinates.end());
  writer.add(coordinates, expected.rows);
  writer.publish();

  const std::uint64_t fibers = write_ttm(given, 0, {matrix.data(), 50, 2}, folder / "fibers.h5");

  EXPECT_EQ(fibers, expected.fibers());
  EXPECT_EQ(file_contents(folder / "fibers.h5"), file_contents(folder / "expected.h5"));
}

TEST(Ttm, LeavesNoFileBehindThatIsNotComplete) {
  const TemporaryFolder folder;
  const MemoryTensor given = in_memory(testing::random_tensor({.shape = {9, 8}, .nnz = 20}));
  const std::vector<double> matrix = matrix_of(9, 2);

  EXPECT_THROW(
      write_ttm(given, 0, {matrix.data(), 9, 2}, folder / "none.h5", {}, [](const Progress&) { return false; }), Error);
  EXPECT_THROW(write_ttm(given, 1, {matrix.data(), 9, 2}, folder / "none.h5"), Error);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Ttm, RefusesWhatDoesNotSuit) {
  const CooTensor tensor = testing::random_tensor({.shape = {9, 8}, .nnz = 20});
  const MemoryTensor given = in_memory(tensor);
  const std::vector<double> matrix = matrix_of(9, 2);

  EXPECT_THROW(ttm(given, 2, {matrix.data(), 9, 2}), Error);
  EXPECT_THROW(ttm(given, 1, {matrix.data(), 9, 2}), Error);
  EXPECT_THROW(ttm(given, 0, {matrix.data(), 9, 0}), Error);
  EXPECT_THROW(ttm(given, 0, {matrix.data(), 9, 2}, {.memory_bytes = 1000}), Error);
}

}  // namespace
}  // namespace blco
