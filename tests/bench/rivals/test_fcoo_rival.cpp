// F-COO against the definition of MTTKRP, and what it reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blco/error.hpp"
#include "tests/bench/rivals/rival_cases.hpp"

namespace blco::testing {
namespace {

constexpr std::array only_fcoo{RivalKind::fcoo};

TEST(MttkrpOfFcoo, EqualsTheDefinition) {
  int threads = 0;
  for (const auto& shape : rival_shapes()) {
    const NaturalTensor tensor = natural_tensor(random_tensor({.shape = shape, .nnz = 700, .seed = 3}));
    for (const int rank : rival_ranks) expect_mttkrp(only_fcoo, tensor, rank, 1 + threads++ % 3);
  }
}

TEST(MttkrpOfFcoo, TakesAnyOrderAndRank) {
  for (const int order : {2, 6, 8}) {
    const std::vector<std::uint64_t> shape(static_cast<std::size_t>(order), 7);
    const NaturalTensor tensor = natural_tensor(random_tensor({.shape = shape, .nnz = 300, .seed = 4}));
    for (const int rank : {2, 20, 100}) expect_mttkrp(only_fcoo, tensor, rank, 2);
  }
}

TEST(MttkrpOfFcoo, CarriesSegmentsOverParts) {
  // A segment over all parts, segments over some, and parts of many segments.
  const NaturalTensor one_row = natural_tensor(random_tensor({.shape = {1, 90, 80}, .nnz = 2000, .seed = 5}));
  const NaturalTensor skewed =
      natural_tensor(random_tensor({.shape = {50, 600, 700}, .nnz = 3000, .seed = 6, .skew = 4.0}));

  for (const int threads : {1, 2, 3}) {
    for (const int group : {1, 7, 5000}) {
      expect_mttkrp(only_fcoo, one_row, 16, threads, {.thread_nonzeros = group});
      expect_mttkrp(only_fcoo, skewed, 16, threads, {.thread_nonzeros = group});
    }
    expect_mttkrp(only_fcoo, one_row, 70, threads);
    expect_mttkrp(only_fcoo, skewed, 70, threads);
  }
}

TEST(MttkrpOfFcoo, PrefetchesFactorsThatExceedTheCache) {
  const NaturalTensor tensor = natural_tensor(random_tensor({.shape = {26000, 26000, 2}, .nnz = 500, .seed = 7}));

  expect_mttkrp(only_fcoo, tensor, 16, 2);
}

TEST(MttkrpOfFcoo, TakesOneNonzero) {
  const NaturalTensor tensor = natural_tensor({3, 1, 2}, {2, 0, 1});

  expect_mttkrp(only_fcoo, tensor, 5, 3);
}

TEST(FcooRival, ReportsItsCopies) {
  const NaturalTensor tensor = tensor_of_figure_4();
  SerialExecutor executor;

  const auto rival = make_rival(RivalKind::fcoo, tensor.view(), {.rank = 2, .knobs = {.thread_nonzeros = 4}}, executor);

  // Per copy 12 nonzeros of two indices, 12 and 3 flags.
  EXPECT_EQ(rival->storage().index_bytes, 3U * (12 * 8 + 2 + 1));
  EXPECT_EQ(rival->storage().value_bytes, 3U * 12 * 8);
  EXPECT_EQ(rival->storage().copies, 3);
  ASSERT_EQ(rival->parts().size(), 3U);
  EXPECT_THAT(rival->parts()[1].modes, ::testing::ElementsAre(1, 0, 2));
  // Four segments.
  EXPECT_EQ(rival->work(0).flops, 12 * 3 * 2);
  EXPECT_EQ(rival->work(0).bytes, 12 * 8 + 3 + 12 * 8 + 12 * 2 * 16 + 4 * (4 + 2 * 16));
}

TEST(FcooRival, RefusesThreadsWithoutNonzeros) {
  const NaturalTensor tensor = tensor_of_figure_4();
  SerialExecutor executor;

  EXPECT_THROW(make_rival(RivalKind::fcoo, tensor.view(), {.knobs = {.thread_nonzeros = 0}}, executor), Error);
}

}  // namespace
}  // namespace blco::testing
