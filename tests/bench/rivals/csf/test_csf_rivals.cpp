// Every format of the CSF family against the definition of MTTKRP, and what it reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "tests/bench/rivals/rival_cases.hpp"

namespace blco::testing {
namespace {

using ::testing::ElementsAre;

constexpr std::array every_csf{RivalKind::csf_one, RivalKind::csf_all, RivalKind::b_csf, RivalKind::hb_csf,
                               RivalKind::mm_csf};

TEST(MttkrpOfCsf, EqualsTheDefinition) {
  for (const auto& shape : rival_shapes()) {
    const NaturalTensor tensor = natural_tensor(random_tensor({.shape = shape, .nnz = 700, .seed = 3}));
    for (const int rank : rival_ranks) expect_mttkrp(every_csf, tensor, rank, rank == 16 ? 2 : rank == 33 ? 3 : 1);
  }
}

TEST(MttkrpOfCsf, TakesAnyOrderAndRank) {
  for (const int order : {2, 6, 8}) {
    const std::vector<std::uint64_t> shape(static_cast<std::size_t>(order), 7);
    const NaturalTensor tensor = natural_tensor(random_tensor({.shape = shape, .nnz = 300, .seed = 4}));
    for (const int rank : {2, 3, 20, 100}) expect_mttkrp(every_csf, tensor, rank, rank == 3 ? 2 : 1);
  }
}

TEST(MttkrpOfCsf, TakesEveryKnob) {
  const NaturalTensor tensor =
      natural_tensor(random_tensor({.shape = {6, 5, 30, 9}, .nnz = 1500, .seed = 8, .skew = 2.0}));

  for (const std::uint32_t fiber_limit : {0U, 1U, 4U}) {
    expect_mttkrp(every_csf, tensor, 16, 2, {.fiber_limit = fiber_limit, .every_leaf = fiber_limit != 1});
  }
}

TEST(MttkrpOfCsf, CutsAGiantSlice) {
  // Nearly all nonzeros lie in one slice and one fiber of every mode, so that threads share rows.
  std::vector<std::uint64_t> coordinates{0, 0, 0, 2, 1, 5};
  for (std::uint64_t k = 0; k < 3000; ++k) coordinates.insert(coordinates.end(), {1, 2, k});
  for (std::uint64_t j = 0; j < 900; ++j) coordinates.insert(coordinates.end(), {1, 3 + j, j % 7});
  const NaturalTensor tensor = natural_tensor({4, 1000, 3000}, coordinates);

  for (const int threads : {1, 2, 3}) expect_mttkrp(every_csf, tensor, 8, threads);
}

TEST(MttkrpOfCsf, TakesSlicesOfOneNonzeroAndNone) {
  // Every slice of mode 0 has at most one nonzero, and those of mode 1 have fibers of one.
  std::vector<std::uint64_t> coordinates;
  for (std::uint64_t i = 0; i < 700; ++i) coordinates.insert(coordinates.end(), {3 * i, i % 5, i});
  const NaturalTensor tensor = natural_tensor({2200, 9, 700}, coordinates);

  for (const int threads : {1, 2, 3}) expect_mttkrp(every_csf, tensor, 16, threads);
}

TEST(MttkrpOfCsf, AddsRowsThatThreadsShare) {
  // Long modes, so that threads lock rows, and skew, so that they meet.
  const NaturalTensor tensor =
      natural_tensor(random_tensor({.shape = {20, 3000, 4000}, .nnz = 900, .seed = 6, .skew = 5.0}));

  expect_mttkrp(every_csf, tensor, 16, 3);
}

TEST(MttkrpOfCsf, TakesOneNonzeroAndNone) {
  expect_mttkrp(every_csf, natural_tensor({3, 1, 2}, {2, 0, 1}), 5, 3);
  expect_mttkrp(every_csf, natural_tensor({3, 1, 2}, {}), 5, 3);
}

TEST(CsfRivals, ReportTheWordsOfTheWorkedExample) {
  const NaturalTensor tensor = tensor_of_figure_4();
  SerialExecutor executor;

  const auto one = make_rival(RivalKind::csf_one, tensor.view(), {}, executor);
  const auto all = make_rival(RivalKind::csf_all, tensor.view(), {}, executor);
  const auto hybrid = make_rival(RivalKind::hb_csf, tensor.view(), {.precision = Precision::f32}, executor);

  EXPECT_EQ(one->storage().index_bytes, 36U * 4);
  EXPECT_EQ(one->storage().value_bytes, 12U * 8);
  EXPECT_EQ(one->storage().copies, 1);
  ASSERT_EQ(one->parts().size(), 1U);
  EXPECT_EQ(one->parts()[0].format, "csf");
  EXPECT_THAT(one->parts()[0].modes, ElementsAre(0, 1, 2));
  EXPECT_THAT(one->parts()[0].nodes, ElementsAre(4, 8, 12));
  // Trees 1-2-3, 2-1-3 and 3-1-2 have 8, 8 and 11 fibers.
  EXPECT_EQ(all->storage().index_bytes, (36U + 36 + 42) * 4);
  EXPECT_EQ(all->storage().value_bytes, 3U * 12 * 8);
  EXPECT_EQ(all->storage().copies, 3);
  EXPECT_EQ(hybrid->storage().value_bytes, 3U * 12 * 4);
  // Mode 0: slice 3 is CSL, 2 + 2 * 2 words; the other slices have S=3, F=6, M=10.
  EXPECT_EQ(hybrid->parts()[0].format, "csl");
  EXPECT_THAT(hybrid->parts()[0].nodes, ElementsAre(2));
  EXPECT_THAT(hybrid->parts()[1].nodes, ElementsAre(3, 6, 10));
}

TEST(CsfRivals, CountTheWorkOfTheTreeThatServesAMode) {
  const NaturalTensor tensor = tensor_of_figure_4();
  SerialExecutor executor;
  const RivalOptions options{.rank = 16};

  const auto one = make_rival(RivalKind::csf_one, tensor.view(), options, executor);
  const auto all = make_rival(RivalKind::csf_all, tensor.view(), options, executor);

  // S=4, F=8, M=12: rows read and, twice, rows written, beside 36 words and 12 values.
  EXPECT_EQ(one->work(0).flops, 16.0 * (4 + 2 * 8 + 2 * 12));
  EXPECT_EQ(one->work(0).bytes, 36 * 4 + 12 * 8 + 128.0 * (8 + 12 + 2 * 4));
  EXPECT_EQ(one->work(1).flops, 16.0 * 2 * (8 + 12));
  EXPECT_EQ(one->work(1).bytes, 36 * 4 + 12 * 8 + 128.0 * (4 + 12 + 2 * 8));
  EXPECT_EQ(one->work(2).flops, 16.0 * 3 * 12);
  EXPECT_EQ(one->work(2).bytes, 36 * 4 + 12 * 8 + 128.0 * (4 + 8 + 2 * 12));
  EXPECT_EQ(all->work(2).flops, 16.0 * (4 + 2 * 11 + 2 * 12));
  EXPECT_EQ(all->work(2).bytes, 42 * 4 + 12 * 8 + 128.0 * (11 + 12 + 2 * 4));
}

TEST(CsfRivals, CountCopiesOfTheOutputAsAuxiliary) {
  // Two threads, and 3 rows that 64 fibers and nonzeros add to.
  const NaturalTensor tensor = natural_tensor(random_tensor({.shape = {2, 3, 40}, .nnz = 200, .seed = 1}));
  ThreadExecutor serial(1);
  ThreadExecutor two(2);

  const auto alone = make_rival(RivalKind::csf_one, tensor.view(), {.rank = 8}, serial);
  const auto shared = make_rival(RivalKind::csf_one, tensor.view(), {.rank = 8}, two);

  EXPECT_GE(shared->storage().auxiliary_bytes, alone->storage().auxiliary_bytes + 40 * 8 * 8);
  EXPECT_EQ(shared->work(2).bytes, alone->work(2).bytes + 3 * 40 * 8 * 8);
  EXPECT_EQ(shared->work(0).bytes, alone->work(0).bytes);
}

}  // namespace
}  // namespace blco::testing
