// MM-CSF's partitions and HB-CSF's formats against the figures of their papers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tests/bench/rivals/csf/csf_cases.hpp"
#include "tests/bench/rivals/csf/csf_counts.hpp"
#include "tests/bench/rivals/csf/hb_parts.hpp"
#include "tests/bench/rivals/csf/mm_parts.hpp"

namespace blco::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Partition {
  std::vector<int> modes;
  std::uint64_t nnz = 0;
  std::uint64_t fibers = 0;

  bool operator==(const Partition&) const = default;
};

std::vector<Partition> partitions(const NaturalTensor& tensor, const std::vector<MmCandidate>& candidates,
                                  MmStrategy strategy = MmStrategy::by_current_size) {
  ThreadExecutor executor(2);
  std::vector<Partition> found;
  for (const MmPart& part : mm_parts(tensor.view(), candidates, strategy, executor)) {
    const CsfTree tree = build_csf(tensor.view(), part.modes, part.sorted, 0, executor);
    found.push_back({part.modes, part.sorted.size(), tree.nodes(tree.order() - 2)});
  }
  return found;
}

// Nisa et al., SC 2019, figure 4.
NaturalTensor tensor_of_mm_figure_4() {
  return natural_tensor({6, 2, 6}, {5, 1, 1, 5, 1, 2, 5, 1, 3, 4, 1, 2, 4, 1, 1, 4, 1, 5, 0, 1, 2, 0, 1, 4});
}

TEST(MmCsf, TakesFewerFibersByTheDynamicStrategy) {
  // The paper visits the nonzeros in its own order: the tensor's is turned around so that it begins with 5, 1, 1.
  NaturalTensor tensor = tensor_of_mm_figure_4();
  for (std::uint32_t& i : tensor.coordinates[0]) i = 5 - i;
  tensor.coo.coordinates.clear();
  for (std::size_t entry = 0; entry < tensor.coo.nnz(); ++entry) {
    for (const auto& of_mode : tensor.coordinates) tensor.coo.coordinates.push_back(of_mode[entry]);
  }
  tensor = natural_tensor(tensor.coo);
  const std::vector<MmCandidate> candidates{{{0, 1, 2}, 2}, {{1, 2, 0}, 2}};

  const auto by_first = partitions(tensor, candidates, MmStrategy::by_first_size);
  const auto by_current = partitions(tensor, candidates, MmStrategy::by_current_size);

  EXPECT_THAT(by_first, ElementsAre(Partition{{0, 1, 2}, 7, 3}, Partition{{1, 2, 0}, 1, 1}));
  EXPECT_THAT(by_current, ElementsAre(Partition{{0, 1, 2}, 8, 3}));
}

TEST(MmCsf, MixesTheOrientationsOfAMatrix) {
  // Nisa et al., SC 2019, figure 1: a dense row and a dense column of an 8 x 8 matrix. Its words include the values,
  // and a row or column takes one word.
  std::vector<std::uint64_t> coordinates;
  for (std::uint64_t i = 0; i < 8; ++i) {
    coordinates.insert(coordinates.end(), {3, i});
    if (i != 3) coordinates.insert(coordinates.end(), {i, 5});
  }
  const NaturalTensor tensor = natural_tensor({8, 8}, coordinates);
  const auto words = [](const std::vector<Partition>& of) {
    return std::accumulate(of.begin(), of.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const Partition& part) { return sum + part.fibers + 2 * part.nnz; });
  };

  const auto rows = partitions(tensor, {{{0, 1}, 1}});
  const auto columns = partitions(tensor, {{{1, 0}, 1}});
  const auto mixed = partitions(tensor, mm_candidates(tensor.coo.shape, false));

  EXPECT_EQ(words(rows), 38U);
  EXPECT_EQ(words(rows) + words(columns), 76U);
  EXPECT_THAT(mixed, SizeIs(2));
  EXPECT_EQ(words(mixed), 32U);
}

TEST(MmCsf, TakesSevenFibersForTheWorkedExample) {
  const NaturalTensor tensor = tensor_of_figure_4();
  SerialExecutor executor;

  const auto rival =
      make_rival(RivalKind::mm_csf, tensor.view(), {.knobs = {.fiber_limit = 128, .every_leaf = true}}, executor);

  std::uint64_t fibers = 0;
  for (const RivalPart& part : rival->parts()) fibers += part.nodes[1];
  EXPECT_EQ(fibers, 7U);
  EXPECT_EQ(rival->storage().index_bytes, 33U * 4);
  EXPECT_EQ(rival->storage().value_bytes, 12U * 8);
  EXPECT_EQ(rival->storage().copies, 1);
}

TEST(MmCsf, OffersTheOrientationsOfTheAuthors) {
  const std::vector<std::uint64_t> three{40, 10, 30};
  const std::vector<std::uint64_t> four{40, 10, 30, 20};
  const auto modes_of = [](const std::vector<MmCandidate>& candidates) {
    std::vector<std::vector<int>> modes;
    for (const MmCandidate& candidate : candidates) modes.push_back(candidate.modes);
    return modes;
  };

  EXPECT_THAT(modes_of(mm_candidates(three, false)), ElementsAre(ElementsAre(1, 2, 0), ElementsAre(1, 0, 2)));
  EXPECT_THAT(modes_of(mm_candidates(four, false)),
              ElementsAre(ElementsAre(1, 3, 2, 0), ElementsAre(1, 2, 3, 0), ElementsAre(1, 0, 3, 2)));
  EXPECT_THAT(modes_of(mm_candidates(three, true)),
              ElementsAre(ElementsAre(1, 2, 0), ElementsAre(1, 0, 2), ElementsAre(2, 0, 1)));
  for (const MmCandidate& candidate : mm_candidates(four, false)) EXPECT_EQ(candidate.scored, 2U);
  for (const MmCandidate& candidate : mm_candidates(four, true)) EXPECT_EQ(candidate.scored, 3U);
}

// Nisa et al., IPDPS 2019, figure 4: a slice of one nonzero, one of three fibers of one, and one of a fiber of four.
NaturalTensor tensor_of_hb_figure_4() {
  return natural_tensor({3, 3, 4}, {0, 1, 2, 1, 0, 0, 1, 1, 3, 1, 2, 1, 2, 1, 0, 2, 1, 1, 2, 1, 2, 2, 1, 3});
}

TEST(HbCsf, GivesEverySliceTheFormatThatSuitsIt) {
  const NaturalTensor tensor = tensor_of_hb_figure_4();
  const std::vector<int> modes{0, 1, 2};
  SerialExecutor executor;

  const HbParts parts = hb_parts(tensor.view(), modes, sorted_by(tensor.view(), modes, executor));
  const SliceList coo = build_singleton_list(tensor.view(), modes, parts.coo, executor);
  const SliceList csl = build_csl_list(tensor.view(), modes, parts.csl, executor);
  const CsfTree csf = build_csf(tensor.view(), modes, parts.csf, 128, executor);

  EXPECT_THAT(parts.coo, ElementsAre(0));
  EXPECT_THAT(parts.csl, ElementsAre(1, 2, 3));
  EXPECT_THAT(parts.csf, ElementsAre(4, 5, 6, 7));
  EXPECT_EQ(coo_words(coo.nnz(), 3) + csl_words(csl.slices(), csl.nnz(), 3) + csf_words(count_nodes(csf)), 19U);
  EXPECT_EQ(coo_words(8, 3), 24U);
  EXPECT_EQ(csf_words(count_nodes(tree_of(tensor, modes))), 24U);
  EXPECT_THAT(csl.index[0], ElementsAre(1));
  EXPECT_THAT(csl.child, ElementsAre(0, 3));
  EXPECT_THAT(csl.index[2], ElementsAre(0, 3, 1));
}

TEST(HbCsf, KeepsOneSliceOfTheWorkedExampleAsCsl) {
  const NaturalTensor tensor = tensor_of_figure_4();
  const std::vector<int> modes{0, 1, 2};
  SerialExecutor executor;

  const HbParts parts = hb_parts(tensor.view(), modes, sorted_by(tensor.view(), modes, executor));

  EXPECT_THAT(parts.coo, IsEmpty());
  EXPECT_THAT(parts.csl, ElementsAre(5, 6));  // slice 3, counted from 1
  EXPECT_THAT(parts.csf, SizeIs(10));
}

}  // namespace
}  // namespace blco::testing
