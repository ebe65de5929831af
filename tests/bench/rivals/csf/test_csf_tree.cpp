// Trees of the CSF family: what they hold, and how limits split them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "tests/bench/rivals/csf/csf_cases.hpp"
#include "tests/bench/rivals/csf/csf_tree.hpp"

namespace blco::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Le;

std::vector<std::uint64_t> counted_nodes_of(const NaturalTensor& tensor, const std::vector<int>& modes) {
  ThreadExecutor executor(3);
  return count_csf_nodes(tensor.view(), modes, sorted_by(tensor.view(), modes, executor), executor);
}

TEST(CsfTree, HasTheNodesOfTheWorkedExample) {
  const NaturalTensor tensor = tensor_of_figure_4();

  const CsfTree natural = tree_of(tensor, {0, 1, 2});
  const CsfTree turned = tree_of(tensor, {2, 0, 1});

  EXPECT_THAT(count_nodes(natural), ElementsAre(4, 8, 12));
  EXPECT_THAT(counted_nodes_of(tensor, {0, 1, 2}), ElementsAre(4, 8, 12));
  EXPECT_THAT(counted_nodes_of(tensor, {2, 0, 1}), ElementsAre(4, 11, 12));
  EXPECT_THAT(natural.index[0], ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(natural.child[0], ElementsAre(0, 2, 3, 5, 8));
  EXPECT_THAT(natural.index[1], ElementsAre(0, 2, 0, 0, 3, 1, 2, 3));
  EXPECT_THAT(natural.child[1], ElementsAre(0, 2, 3, 5, 6, 7, 9, 11, 12));
  EXPECT_THAT(natural.index[2], ElementsAre(0, 1, 2, 1, 2, 1, 3, 0, 1, 2, 3, 3));
  EXPECT_THAT(count_nodes(turned), ElementsAre(4, 11, 12));
}

TEST(CsfTree, HoldsEveryNonzeroWhateverLimitsAndThreads) {
  const std::vector<std::vector<std::uint64_t>> shapes{{9, 30}, {7, 9, 40}, {5, 4, 6, 12}, {3, 4, 3, 2, 7}};
  for (const auto& shape : shapes) {
    const NaturalTensor tensor = natural_tensor(random_tensor({.shape = shape, .nnz = 200, .seed = 3, .skew = 2.0}));
    for (int root = 0; root < static_cast<int>(shape.size()); ++root) {
      for (const std::uint32_t fiber_limit : {0U, 1U, 3U}) {
        const std::vector<int> modes = modes_under(root, shape);
        const CsfTree serial = tree_of(tensor, modes, fiber_limit);
        const CsfTree parallel = tree_of(tensor, modes, fiber_limit, 3);
        const CsfTree paired = mm_tree_of(tensor, modes, fiber_limit, 3);

        EXPECT_TRUE(holds_tensor(serial, tensor)) << shape.size() << ", root " << root << ", limit " << fiber_limit;
        EXPECT_EQ(serial.index, parallel.index);
        EXPECT_EQ(serial.child, parallel.child);
        EXPECT_TRUE(holds_tensor(paired, tensor)) << shape.size() << ", root " << root << ", limit " << fiber_limit;
        EXPECT_EQ(paired.has_paired_roots(), shape.size() > 2);
      }
    }
  }
}

TEST(CsfTree, SplitsFibersAtTheLimit) {
  // One slice with fibers of 128, 129 and 300 nonzeros.
  std::vector<std::uint64_t> coordinates;
  const std::array<std::uint64_t, 3> lengths{128, 129, 300};
  for (std::uint64_t j = 0; j < lengths.size(); ++j) {
    for (std::uint64_t k = 0; k < lengths[j]; ++k) coordinates.insert(coordinates.end(), {0, j, k});
  }
  const NaturalTensor tensor = natural_tensor({1, 3, 300}, coordinates);

  const CsfTree whole = tree_of(tensor, {0, 1, 2});
  const CsfTree split = tree_of(tensor, {0, 1, 2}, 128, 2);

  EXPECT_THAT(nonzeros_below(whole, 1), ElementsAre(128, 129, 300));
  EXPECT_THAT(nonzeros_below(split, 1), ElementsAre(128, 128, 1, 128, 128, 44));
  EXPECT_THAT(split.index[1], ElementsAre(0, 1, 1, 2, 2, 2));
  EXPECT_EQ(split.nodes(0), 1U);
}

TEST(CsfTree, PairsRootsWithNodesThatCloseAtTheLimit) {
  // Subtrees of level 1 with fibers of 3, 3, 2 and of 1 nonzeros.
  const NaturalTensor tensor = natural_tensor({1, 2, 4, 3}, {0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 1, 0, 0, 0,
                                                             1, 1, 0, 0, 1, 2, 0, 0, 2, 0, 0, 0, 2, 1, 0, 1, 3, 0});

  const CsfTree tree = mm_tree_of(tensor, {0, 1, 2, 3}, 4);

  EXPECT_THAT(tree.index[0], ElementsAre(0, 0, 0));
  EXPECT_THAT(tree.index[1], ElementsAre(0, 0, 1));
  EXPECT_THAT(nonzeros_below(tree, 1), ElementsAre(6, 2, 1));
  EXPECT_THAT(nonzeros_below(tree, 2), ElementsAre(3, 3, 2, 1));
  EXPECT_THAT(count_nodes(tree), ElementsAre(1, 3, 4, 9));
}

TEST(CsfTree, OrdersModesByLength) {
  const std::vector<std::uint64_t> shape{50, 7, 90, 7};

  EXPECT_THAT(ascending_modes(shape), ElementsAre(1, 3, 0, 2));
  EXPECT_THAT(modes_under(2, shape), ElementsAre(2, 1, 3, 0));
  EXPECT_THAT(modes_under(1, shape), ElementsAre(1, 3, 0, 2));
}

// One slice of one fiber of 2048 nonzeros, behind one of a single nonzero.
NaturalTensor tensor_with_a_long_fiber() {
  std::vector<std::uint64_t> coordinates{0, 0, 0};
  for (std::uint64_t k = 0; k < 2048; ++k) coordinates.insert(coordinates.end(), {1, 0, k});
  return natural_tensor({2, 1, 2048}, coordinates);
}

TEST(CsfCuts, CutALongFiberEvenly) {
  // As B-CSF cuts a slice of 2048 nonzeros into 4 blocks of 512.
  const CsfTree tree = tree_of(tensor_with_a_long_fiber(), {0, 1, 2});

  const std::vector<CsfPart> parts = cut_tree(tree, 4);

  ASSERT_EQ(parts.size(), 4U);
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(parts[i].begin[2], 2049U * i / 4);
    EXPECT_EQ(parts[i].end[2], 2049U * (i + 1) / 4);
    EXPECT_EQ(parts[i].begin[0], i == 0 ? 0U : 1U);
    EXPECT_EQ(parts[i].end[0], 2U);
  }
}

TEST(CsfCuts, PreferTheBeginningOfAFiber) {
  // Ten fibers of 10 nonzeros; the even cuts are at 25, 50 and 75.
  std::vector<std::uint64_t> coordinates;
  for (std::uint64_t i = 0; i < 100; ++i) coordinates.insert(coordinates.end(), {0, i / 10, i % 10});
  const CsfTree tree = tree_of(natural_tensor({1, 10, 10}, coordinates), {0, 1, 2});

  const std::vector<CsfPart> parts = cut_tree(tree, 4);

  std::vector<std::uint32_t> fibers;
  for (const CsfPart& part : parts) fibers.push_back(part.begin[1]);
  EXPECT_THAT(fibers, ElementsAre(0, 2, 5, 7));
  EXPECT_THAT(nonzeros_below(tree, 1), Each(Le(10U)));
  EXPECT_EQ(parts[1].begin[2], 20U);
  EXPECT_EQ(parts[3].end[2], 100U);
}

TEST(CsfCuts, LeaveNoPartWithoutNonzeros) {
  const CsfTree tree = tree_of(natural_tensor({1, 1, 3}, {0, 0, 0, 0, 0, 2}), {0, 1, 2});

  EXPECT_EQ(cut_tree(tree, 7).size(), 2U);
}

}  // namespace
}  // namespace blco::testing
