// Words and work of the CSF family, against figures of the papers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/bench/rivals/csf/csf_cases.hpp"
#include "tests/bench/rivals/csf/csf_counts.hpp"

namespace blco::testing {
namespace {

using ::testing::ElementsAre;

TEST(CsfCounts, AreThoseOfTheWorkedExample) {
  const NaturalTensor tensor = tensor_of_figure_4();

  EXPECT_EQ(csf_words(count_nodes(tree_of(tensor, {0, 1, 2}))), 36U);
  EXPECT_EQ(csf_words(count_nodes(tree_of(tensor, {2, 0, 1}))), 42U);
}

TEST(CsfCounts, OfPairedRootsHaveNoPointersToNodesOfLevel1) {
  const std::array<std::uint64_t, 4> nodes{1, 3, 4, 9};

  EXPECT_EQ(mm_csf_words(nodes), 3U * 3 + 2U * 4 + 9);
}

TEST(CsfCounts, GiveThePublishedBytesOfNell2) {
  // Nisa et al., SC 2019, table 8: 296 MiB.
  const std::array<std::uint64_t, 3> nodes{12092, 337365, 76879419};

  EXPECT_EQ((csf_words(nodes) * 4 + (1U << 19)) >> 20, 296U);
}

TEST(CsfCounts, AreThoseOfThePaperAtOrder3) {
  // Nisa et al., SC 2019, section 5: one slice with two fibers of three nonzeros.
  const std::array<std::uint64_t, 3> nodes{1, 2, 6};
  const CsfWork slice = csf_work(nodes, 0);
  const CsfWork fiber = csf_work(nodes, 1);
  const CsfWork nonzero = csf_work(nodes, 2);

  EXPECT_THAT((std::array{slice.row_reads, fiber.row_reads, nonzero.row_reads}), ElementsAre(8, 7, 3));
  EXPECT_THAT((std::array{slice.row_writes, fiber.row_writes, nonzero.row_writes}), ElementsAre(1, 2, 6));
  EXPECT_EQ(slice.flops, 1U + 2 * 2 + 2 * 6);
  EXPECT_EQ(fiber.flops, 2U * (2 + 6));
  EXPECT_EQ(nonzero.flops, 3U * 6);
}

TEST(CsfCounts, CountListsByTheirNonzeros) {
  const CsfWork csl = csl_work(2, 7, 4);
  const CsfWork coo = coo_work(7, 4);

  EXPECT_EQ(csl_words(2, 7, 4), 4U + 21);
  EXPECT_EQ(coo_words(7, 4), 28U);
  EXPECT_THAT((std::array{csl.flops, csl.row_reads, csl.row_writes}), ElementsAre(30, 21, 2));
  EXPECT_THAT((std::array{coo.flops, coo.row_reads, coo.row_writes}), ElementsAre(28, 21, 7));
}

}  // namespace
}  // namespace blco::testing
