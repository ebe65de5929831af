// F-COO's copies against flags and sizes from papers and by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/rivals/fcoo_copies.hpp"
#include "tests/bench/rivals/rival_cases.hpp"

namespace blco::testing {
namespace {

using ::testing::ElementsAre;

std::string flags_of(const std::vector<std::uint32_t>& words, std::size_t count) {
  std::string flags;
  for (std::size_t i = 0; i < count; ++i) flags += (words[i / 32] >> i % 32 & 1) != 0 ? '1' : '0';
  return flags;
}

TEST(FcooCopy, FlagsTheSegmentsOfFigure4) {
  const NaturalTensor tensor = tensor_of_figure_4();
  SerialExecutor executor;

  const auto copy = build_fcoo_copy<double>(tensor.view(), 0, 4, executor);

  EXPECT_EQ(flags_of(copy.bit_flags, 12), "110101011110");
  EXPECT_EQ(flags_of(copy.start_flags, 3), "110");
  EXPECT_THAT(copy.rows, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(copy.first_segments, ElementsAre(0, 1, 3));
}

TEST(FcooCopy, KeepsTheOtherModesOfSortedNonzeros) {
  // Sorted by mode 1: (0, 0, 2), (4, 0, 1), (0, 3, 1), (2, 3, 0); rows 1 and 2 are empty.
  const NaturalTensor tensor = natural_tensor(CooTensor{{5, 4, 3}, {0, 0, 2, 0, 3, 1, 2, 3, 0, 4, 0, 1}, {1, 2, 3, 4}});
  ThreadExecutor executor(2);

  const auto copy = build_fcoo_copy<float>(tensor.view(), 1, 3, executor);

  ASSERT_EQ(copy.indices.size(), 2U);
  const auto first_four = [](const auto& buffer) { return std::vector(buffer.data(), buffer.data() + 4); };
  EXPECT_THAT(first_four(copy.indices[0]), ElementsAre(0, 4, 0, 2));
  EXPECT_THAT(first_four(copy.indices[1]), ElementsAre(2, 1, 1, 0));
  EXPECT_THAT(first_four(copy.values), ElementsAre(1, 4, 2, 3));
  EXPECT_EQ(flags_of(copy.bit_flags, 4), "1010");
  EXPECT_EQ(flags_of(copy.start_flags, 2), "10");
  EXPECT_THAT(copy.rows, ElementsAre(0, 3));
  EXPECT_THAT(copy.first_segments, ElementsAre(0, 1));
}

TEST(FcooCopy, TakesTheBytesOfTable8) {
  // Nisa et al., SC 2019, table 8: MiB of indices of seven tensors of order 3 as COO, 4 N M bytes, and as F-COO with 16
  // nonzeros per thread. M is known as exactly as COO's MiB are: to half a MiB, which is one of F-COO.
  const std::vector<std::pair<double, double>> coo_and_fcoo{{1604, 3260}, {1643, 3341}, {880, 1789}, {1292, 2627},
                                                            {1139, 2316}, {1601, 3256}, {325, 662}};
  constexpr double mib = 1 << 20;
  for (const auto& [coo, fcoo] : coo_and_fcoo) {
    const auto nnz = static_cast<std::uint64_t>(coo * mib / 12);
    EXPECT_NEAR(static_cast<double>(fcoo_index_bytes(3, nnz, 16)) / mib, fcoo, 2.0) << coo;
  }

  // nell2's number of nonzeros is known.
  EXPECT_EQ(static_cast<int>(static_cast<double>(fcoo_index_bytes(3, 76879419, 16)) / mib + 0.5), 1789);
}

}  // namespace
}  // namespace blco::testing
