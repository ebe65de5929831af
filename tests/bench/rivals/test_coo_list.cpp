// Lists of coordinates against nonzeros written by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/rivals/coo_list.hpp"
#include "tests/bench/rivals/rival_cases.hpp"

namespace blco::testing {
namespace {

using ::testing::ElementsAre;

template <class T>
std::vector<T> first_of(const AlignedBuffer<T>& buffer, std::size_t count) {
  return {buffer.data(), buffer.data() + count};
}

// (0, 1), (1, 0), (1, 1), (2, 0) with values 1, 2, 3, 4.
NaturalTensor small_matrix() { return natural_tensor(CooTensor{{3, 2}, {0, 1, 1, 0, 1, 1, 2, 0}, {1, 2, 3, 4}}); }

TEST(CooList, HoldsSubscriptsRowMajor) {
  const NaturalTensor tensor = small_matrix();
  SerialExecutor executor;

  const auto list = build_coo_list<float>(RivalKind::coo_atomic, tensor.view(), executor);

  EXPECT_EQ(list.nnz, 4U);
  EXPECT_THAT(first_of(list.subscripts, 8), ElementsAre(0, 1, 1, 0, 1, 1, 2, 0));
  EXPECT_THAT(first_of(list.values, 4), ElementsAre(1, 2, 3, 4));
  EXPECT_TRUE(list.permutations.empty());
}

TEST(CooList, SortsInLineOrderForCooLine) {
  // Mode 1 has fewer bits, so its bit is the lowest: the lines of the nonzeros are 1, 2, 3 and 4.
  const NaturalTensor tensor = natural_tensor(CooTensor{{4, 2}, {0, 1, 1, 0, 1, 1, 2, 0}, {1, 2, 3, 4}});
  // Here natural order is not line order: (0, 2) has bits 0 and 10, so line 4; (1, 0) has line 1.
  const NaturalTensor square = natural_tensor(CooTensor{{4, 4}, {0, 2, 1, 0}, {1, 2}});
  SerialExecutor executor;

  const auto same = build_coo_list<double>(RivalKind::coo_line, tensor.view(), executor);
  const auto other = build_coo_list<double>(RivalKind::coo_line, square.view(), executor);

  EXPECT_THAT(first_of(same.values, 4), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(first_of(other.subscripts, 4), ElementsAre(1, 0, 0, 2));
  EXPECT_THAT(first_of(other.values, 2), ElementsAre(2, 1));
}

TEST(CooList, PermutesStablyPerMode) {
  const NaturalTensor tensor = small_matrix();
  ThreadExecutor executor(3);

  const auto list = build_coo_list<double>(RivalKind::coo_perm, tensor.view(), executor);

  ASSERT_EQ(list.permutations.size(), 2U);
  EXPECT_THAT(first_of(list.permutations[0], 4), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(first_of(list.permutations[1], 4), ElementsAre(1, 3, 0, 2));
}

// GenTen's model counts 432 bytes per nonzero at order 3 and 568 at order 4, rank 16, f64 and indices of 8 bytes
// (Phipps and Kolda, SISC 2019): N rows and three numbers. Ours counts a load and a store of the output, and one
// number.
TEST(CooList, RequestsTheBytesOfGenTensModel) {
  SerialExecutor executor;
  for (const auto& [shape, model] : {std::pair{std::vector<std::uint64_t>{9, 8, 7}, 432.0},
                                     std::pair{std::vector<std::uint64_t>{9, 8, 7, 6}, 568.0}}) {
    const NaturalTensor tensor = natural_tensor(random_tensor({.shape = shape, .nnz = 100, .seed = 5}));
    const auto rival = make_rival(RivalKind::coo_single, tensor.view(), {.rank = 16}, executor);
    const double narrow_indices = 4.0 * static_cast<double>(shape.size());

    const double bytes = rival->work(0).bytes / static_cast<double>(tensor.coo.nnz());

    EXPECT_DOUBLE_EQ(bytes, model - narrow_indices + (16 - 2) * 8);
  }
}

}  // namespace
}  // namespace blco::testing
