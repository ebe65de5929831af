// GenTen's variants against the definition of MTTKRP, and what they report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/rivals/rival_cases.hpp"

namespace blco::testing {
namespace {

constexpr std::array every_coo{RivalKind::coo_atomic, RivalKind::coo_line, RivalKind::coo_single,
                               RivalKind::coo_duplicated, RivalKind::coo_perm};

TEST(MttkrpOfCoo, EqualsTheDefinition) {
  int threads = 0;
  for (const auto& shape : rival_shapes()) {
    const NaturalTensor tensor = natural_tensor(random_tensor({.shape = shape, .nnz = 700, .seed = 3}));
    for (const int rank : rival_ranks) expect_mttkrp(every_coo, tensor, rank, 1 + threads++ % 3);
  }
}

TEST(MttkrpOfCoo, TakesAnyOrderAndRank) {
  for (const int order : {2, 6, 8}) {
    const std::vector<std::uint64_t> shape(static_cast<std::size_t>(order), 7);
    const NaturalTensor tensor = natural_tensor(random_tensor({.shape = shape, .nnz = 300, .seed = 4}));
    for (const int rank : {2, 20, 100}) expect_mttkrp(every_coo, tensor, rank, 2);
  }
}

TEST(MttkrpOfCoo, AddsRowsThatManyBlocksShare) {
  // Most nonzeros lie in a few rows, so that rows cross blocks and threads.
  const NaturalTensor tensor =
      natural_tensor(random_tensor({.shape = {50, 60, 70}, .nnz = 4000, .seed = 6, .skew = 4.0}));

  for (const int threads : {1, 2, 3}) expect_mttkrp(every_coo, tensor, 16, threads);
}

TEST(MttkrpOfCoo, PrefetchesFactorsThatExceedTheCache) {
  const NaturalTensor tensor = natural_tensor(random_tensor({.shape = {26000, 26000, 2}, .nnz = 500, .seed = 7}));

  expect_mttkrp(every_coo, tensor, 16, 2);
}

TEST(MttkrpOfCoo, TakesOneNonzero) {
  const NaturalTensor tensor = natural_tensor({3, 1, 2}, {2, 0, 1});

  expect_mttkrp(every_coo, tensor, 5, 3);
}

TEST(CooRival, ReportsGenTensStorage) {
  const NaturalTensor tensor = natural_tensor(random_tensor({.shape = {20, 30, 40}, .nnz = 1000, .seed = 2}));
  const std::uint64_t nnz = tensor.coo.nnz();
  SerialExecutor executor;

  const auto atomic = make_rival(RivalKind::coo_atomic, tensor.view(), {}, executor);
  const auto perm = make_rival(RivalKind::coo_perm, tensor.view(), {.precision = Precision::f32}, executor);

  EXPECT_EQ(atomic->storage().index_bytes, 12 * nnz);
  EXPECT_EQ(atomic->storage().value_bytes, 8 * nnz);
  EXPECT_EQ(atomic->storage().auxiliary_bytes, 0U);
  EXPECT_EQ(perm->storage().value_bytes, 4 * nnz);
  EXPECT_EQ(perm->storage().auxiliary_bytes, 12 * nnz);
  EXPECT_EQ(perm->storage().copies, 1);
  ASSERT_EQ(perm->parts().size(), 1U);
  EXPECT_THAT(perm->parts()[0].nodes, ::testing::ElementsAre(nnz));
}

TEST(CooRival, CountsAPrivateOutputPerFurtherThread) {
  const NaturalTensor tensor = natural_tensor({3, 100, 2}, {2, 0, 1});
  ThreadExecutor executor(3);

  const auto rival = make_rival(RivalKind::coo_duplicated, tensor.view(), {.rank = 16}, executor);

  EXPECT_EQ(rival->storage().auxiliary_bytes, 2U * 100 * 16 * 8);
  // One nonzero: 3 indices, a value, two factor rows, an output row read and written; a merge of two outputs of 100
  // rows.
  EXPECT_EQ(rival->work(1).bytes, 12 + 8 + 4 * 128 + 2 * 100 * 3 * 128);
  EXPECT_EQ(rival->work(1).flops, 16 * (3 + 2 * 100));
}

TEST(CooRival, CountsWhatPermutationsSave) {
  const NaturalTensor tensor = tensor_of_figure_4();
  SerialExecutor executor;

  const auto perm = make_rival(RivalKind::coo_perm, tensor.view(), {.rank = 2}, executor);

  // Four rows are added once each; 12 nonzeros have 3 subscripts, a place in the permutation, a value, two factor rows.
  EXPECT_EQ(perm->work(0).flops, 12 * 3 * 2 + 4 * 2);
  EXPECT_EQ(perm->work(0).bytes, 12 * (16 + 8 + 2 * 16) + 4 * 2 * 16);
}

}  // namespace
}  // namespace blco::testing
