// How slices are cut for blocks and warps, on trees written down by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "tests/bench/rivals/cuda/slice_parts.hpp"

namespace blco {
namespace {

using ::testing::ElementsAre;

// From the sizes of fibers; slices of two fibers, the last one of what is left.
CsfTree tree_of_fibers(const std::vector<std::uint32_t>& sizes) {
  CsfTree tree;
  tree.modes = {0, 1, 2};
  tree.index.resize(3);
  tree.child = {{}, {0}};
  for (std::uint32_t fiber = 0; fiber < sizes.size(); ++fiber) {
    if (fiber % 2 == 0) tree.child[0].push_back(fiber);
    if (fiber % 2 == 0) tree.index[0].push_back(70 + fiber);
    tree.index[1].push_back(fiber);
    tree.child[1].push_back(tree.child[1].back() + sizes[fiber]);
  }
  tree.child[0].push_back(static_cast<std::uint32_t>(sizes.size()));
  tree.index[2].resize(tree.child[1].back());
  return tree;
}

TEST(SlicePartsTest, GivesWarpsSlicesOfUpTo1024NonzerosAndFibers) {
  const CsfTree tree = tree_of_fibers({511, 511, 511, 512, 3});

  const SliceParts parts = cut_slices(tree, 512);

  EXPECT_EQ(parts.block_parts, 2U);
  EXPECT_THAT(parts.words, ElementsAre(2, 3, 72, 3, 4, 72, 0, 2, 70, 4, 5, 74));
}

TEST(SlicePartsTest, KeepsHeavySlicesWholeWhereNothingIsSplit) {
  const CsfTree tree = tree_of_fibers({3, 1, 600, 600});

  const SliceParts parts = cut_slices(tree, 0);

  EXPECT_EQ(parts.block_parts, 1U);
  EXPECT_THAT(parts.words, ElementsAre(2, 4, 72, 0, 2, 70));
}

TEST(SlicePartsTest, LetsALongFiberBeAPart) {
  const CsfTree tree = tree_of_fibers({5, 2000});

  const SliceParts parts = cut_slices(tree, 128);

  EXPECT_EQ(parts.block_parts, 2U);
  EXPECT_THAT(parts.words, ElementsAre(0, 1, 70, 1, 2, 70));
}

// One slice of 5 nodes with 1, 2, 1, 1 and 1 fibers of 300 nonzeros each.
TEST(SlicePartsTest, NamesTheNodesAboveAPart) {
  CsfTree tree;
  tree.modes = {3, 2, 1, 0};
  tree.index = {{40}, {1, 2, 3, 4, 5}, {1, 1, 2, 1, 1, 1}, std::vector<std::uint32_t>(1800)};
  tree.child = {{0, 5}, {0, 1, 3, 4, 5, 6}, {0, 300, 600, 900, 1200, 1500, 1800}};

  const SliceParts parts = cut_slices(tree, 600);

  EXPECT_EQ(parts.words_per_part, 4U);
  EXPECT_EQ(parts.block_parts, 3U);
  EXPECT_THAT(parts.words, ElementsAre(0, 2, 40, 0, 2, 4, 40, 1, 4, 6, 40, 3));
}

TEST(SlicePartsTest, CutsListsOfSingletonFibers) {
  SliceList list;
  list.modes = {0, 1, 2};
  list.index = {{8, 9}, {}, {}};
  list.child = {0, 512, 1112};

  const SliceParts parts = cut_slices(list, 256);

  EXPECT_EQ(parts.block_parts, 3U);
  EXPECT_THAT(parts.words, ElementsAre(512, 768, 9, 768, 1024, 9, 1024, 1112, 9, 0, 512, 8));
}

}  // namespace
}  // namespace blco
