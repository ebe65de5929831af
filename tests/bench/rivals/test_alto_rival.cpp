// The loop of ALTO against the definition of MTTKRP: a yardstick has to compute the same thing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blco/error.hpp"
#include "tests/bench/rivals/rival_cases.hpp"

namespace blco::testing {
namespace {

constexpr std::array only_alto{RivalKind::alto};

TEST(MttkrpOfAlto, EqualsTheDefinition) {
  int threads = 0;
  for (const auto& shape : rival_shapes()) {
    const NaturalTensor tensor = natural_tensor(random_tensor({.shape = shape, .nnz = 700, .seed = 3, .skew = 2.0}));
    if (!has_rival(RivalKind::alto, tensor)) GTEST_SKIP() << "this CPU has no fast pext";
    for (const int rank : rival_ranks) expect_mttkrp(only_alto, tensor, rank, 1 + threads++ % 3);
    for (const int rank : {2, 4, 5, 100}) expect_mttkrp(only_alto, tensor, rank, 2);
  }
}

TEST(MttkrpOfAlto, TakesLinesOfTwoWords) {
  const NaturalTensor tensor =
      natural_tensor(random_tensor({.shape = {8192, 8000, 5000, 8191, 4097}, .nnz = 500, .seed = 3}));
  if (!has_rival(RivalKind::alto, tensor)) GTEST_SKIP() << "this CPU has no fast pext";

  for (const int rank : {3, 16}) expect_mttkrp(only_alto, tensor, rank, 2);
}

TEST(AltoRival, ReportsLinesAndPrivateOutputs) {
  const NaturalTensor tensor = tensor_of_figure_4();
  if (!has_rival(RivalKind::alto, tensor)) GTEST_SKIP() << "this CPU has no fast pext";
  ThreadExecutor executor(2);

  const auto rival = make_rival(RivalKind::alto, tensor.view(), {.rank = 2}, executor);

  EXPECT_EQ(rival->storage().index_bytes, 12U * 8);
  EXPECT_EQ(rival->storage().value_bytes, 12U * 8);
  EXPECT_EQ(rival->storage().auxiliary_bytes, 4U * 16);
  EXPECT_EQ(rival->work(2).flops, (12 * 3 + 4) * 2);
  EXPECT_EQ(rival->work(2).bytes, 12 * (8 + 8 + 4 * 16) + 3 * 4 * 16);
}

TEST(AltoRival, IsRefusedOutsideOrders3To5) {
  const NaturalTensor matrix = natural_tensor({3, 2}, {2, 1});
  SerialExecutor executor;

  EXPECT_THROW(make_rival(RivalKind::alto, matrix.view(), {}, executor), Error);
}

}  // namespace
}  // namespace blco::testing
