// Generated tensors: their contract, seen in the text that they are written as.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <blco/generate.hpp>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

struct TextEntry {
  std::vector<std::uint64_t> coordinates;  // 1-based
  double value = 0;
};

class Generate : public testing::Test {
 protected:
  std::string text(const GenerateOptions& options, int threads = 1) const {
    generate_text(options, folder_ / "out.tns", threads);
    return file_contents(folder_ / "out.tns");
  }

  std::vector<TextEntry> entries(const GenerateOptions& options) const {
    std::vector<TextEntry> read;
    std::istringstream lines(text(options));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream fields(line);
      TextEntry entry{.coordinates = std::vector<std::uint64_t>(options.shape.size())};
      for (std::uint64_t& coordinate : entry.coordinates) fields >> coordinate;
      fields >> entry.value;
      read.push_back(entry);
    }
    return read;
  }

  const TemporaryFolder folder_;
};

// Batches hold 65536 entries and tasks 4096: sizes on both sides of either.
TEST_F(Generate, DrawsTheSameOnAnyNumberOfThreads) {
  for (const std::uint64_t nnz : {1, 4095, 4097, 65535, 65536, 65537, 140000}) {
    const GenerateOptions options{.shape = {50, 60, 70}, .nnz = nnz, .seed = 3, .skew = 2.5};

    const std::string one = text(options, 1);
    const std::string three = text(options, 3);

    EXPECT_TRUE(one == three) << nnz << " entries";
    EXPECT_EQ(std::count(one.begin(), one.end(), '\n'), static_cast<std::ptrdiff_t>(nnz));
  }
}

TEST_F(Generate, KeepsTheFirstEntriesWhenMoreAreDrawn) {
  GenerateOptions options{.shape = {50, 60, 70}, .nnz = 5000, .seed = 3};
  const std::string fewer = text(options);
  options.nnz = 70000;

  const std::string more = text(options);

  EXPECT_TRUE(more.starts_with(fewer));
}

TEST_F(Generate, GivesAnotherTensorForAnotherSeed) {
  GenerateOptions options{.shape = {50, 60, 70}, .nnz = 100, .seed = 3};
  const std::string first = text(options);
  options.seed = 4;

  const std::string second = text(options);

  EXPECT_NE(first, second);
}

TEST_F(Generate, StaysWithinTheShapeAndReachesAllOfIt) {
  const std::vector<std::uint64_t> shape{1, 2, 7, 64};

  std::vector<std::set<std::uint64_t>> seen(shape.size());
  for (const TextEntry& entry : entries({.shape = shape, .nnz = 20000, .seed = 11})) {
    for (std::size_t n = 0; n < shape.size(); ++n) seen[n].insert(entry.coordinates[n]);
  }

  for (std::size_t n = 0; n < shape.size(); ++n) {
    EXPECT_EQ(seen[n].size(), shape[n]);
    EXPECT_EQ(*seen[n].begin(), 1u);
    EXPECT_EQ(*seen[n].rbegin(), shape[n]);
  }
}

TEST_F(Generate, DrawsModesOfAnyLength) {
  const std::uint64_t longest = ~std::uint64_t{0};
  const std::uint64_t above_32_bits = (std::uint64_t{1} << 32) + 1;

  const std::vector<TextEntry> read = entries({.shape = {longest, above_32_bits}, .nnz = 5000, .seed = 2, .skew = 1});

  std::uint64_t largest = 0;
  std::set<std::uint64_t> distinct;
  for (const TextEntry& entry : read) {
    EXPECT_LE(entry.coordinates[1], above_32_bits);
    largest = std::max(largest, entry.coordinates[0]);
    distinct.insert(entry.coordinates[0]);
  }
  EXPECT_GT(largest, longest / 100 * 99);
  EXPECT_EQ(distinct.size(), read.size());
}

// Under u^3, coordinate 0 of a mode of 1000 takes the share (1/1000)^(1/3) = 10% of all entries.
TEST_F(Generate, SkewMakesFewRowsHeavyAndScattersThem) {
  const std::uint64_t nnz = 50000;

  std::map<std::uint64_t, std::uint64_t> of_row;
  for (const TextEntry& entry : entries({.shape = {1000}, .nnz = nnz, .seed = 5, .skew = 3}))
    ++of_row[entry.coordinates[0]];

  std::vector<std::pair<std::uint64_t, std::uint64_t>> heaviest;
  for (const auto& [row, count] : of_row) heaviest.emplace_back(count, row);
  std::sort(heaviest.rbegin(), heaviest.rend());
  EXPECT_NEAR(static_cast<double>(heaviest[0].first), 0.1 * nnz, 0.01 * nnz);
  EXPECT_NE(heaviest[0].second, 1u);
  EXPECT_GT(std::abs(static_cast<double>(heaviest[0].second) - static_cast<double>(heaviest[1].second)), 1.0);
}

// P(coordinate < 1000 q) = q^(1/skew), whatever the skew: here seen in the sizes of the rows, heaviest first.
TEST_F(Generate, FollowsAFractionalSkew) {
  const double skew = 1.75;
  const std::uint64_t nnz = 100000;

  std::map<std::uint64_t, std::uint64_t> of_row;
  for (const TextEntry& entry : entries({.shape = {100}, .nnz = nnz, .seed = 5, .skew = skew}))
    ++of_row[entry.coordinates[0]];

  std::vector<std::uint64_t> counts;
  for (const auto& [row, count] : of_row) counts.push_back(count);
  std::sort(counts.rbegin(), counts.rend());
  double below = 0;
  for (std::size_t row = 0; row < 25; ++row) below += static_cast<double>(counts[row]);
  EXPECT_NEAR(below / static_cast<double>(nnz), std::pow(0.25, 1 / skew), 0.01);
}

TEST_F(Generate, PlantsARankOneModelWhoseValuesAreProducts) {
  std::map<std::array<std::uint64_t, 2>, double> value;
  for (const TextEntry& entry : entries({.shape = {6, 5}, .nnz = 5000, .seed = 9, .planted_rank = 1, .noise = 0})) {
    value[{entry.coordinates[0], entry.coordinates[1]}] = entry.value;
  }
  ASSERT_EQ(value.size(), 30u);

  for (std::uint64_t i = 2; i <= 6; ++i) {
    for (std::uint64_t j = 2; j <= 5; ++j) {
      const double left = value[{1, 1}] * value[{i, j}];
      const double right = value[{i, 1}] * value[{1, j}];
      // Six decimals of values of up to 9.
      EXPECT_NEAR(left, right, 4e-5);
    }
  }
}

TEST_F(Generate, ValuesHaveMeanOneAndSixDecimals) {
  double sum = 0;
  const std::uint64_t nnz = 50000;

  for (const TextEntry& entry :
       entries({.shape = {3000, 2000, 1000}, .nnz = nnz, .seed = 1, .planted_rank = 8, .noise = 0})) {
    sum += entry.value;
    EXPECT_GT(entry.value, 0);
    EXPECT_NEAR(entry.value * 1e6, std::round(entry.value * 1e6), 1e-3);
  }

  EXPECT_NEAR(sum / static_cast<double>(nnz), 1.0, 0.05);
}

TEST_F(Generate, CountsArePositiveWholeNumbersWithoutAPoint) {
  const GenerateOptions options{.shape = {30, 20, 10}, .nnz = 5000, .seed = 1, .counts = true};

  const std::string all = text(options);

  EXPECT_EQ(all.find_first_not_of("0123456789 \n"), std::string::npos);
  for (const TextEntry& entry : entries(options)) EXPECT_GE(entry.value, 1);
}

TEST_F(Generate, WithoutModelAndNoiseAllValuesAreOne) {
  const std::vector<TextEntry> read = entries({.shape = {30, 20}, .nnz = 100, .planted_rank = 0, .noise = 0});

  ASSERT_EQ(read.size(), 100u);
  for (const TextEntry& entry : read) EXPECT_EQ(entry.value, 1);
}

TEST_F(Generate, RefusesWhatIsNoTensor) {
  const GenerateOptions good{.shape = {3, 4}, .nnz = 5};
  std::vector<GenerateOptions> bad(8, good);
  bad[0].shape = {};
  bad[1].shape = {3, 0};
  bad[2].nnz = 0;
  bad[3].nnz = (std::uint64_t{1} << 62) + 1;
  bad[4].skew = 0;
  bad[5].skew = std::nan("");
  bad[6].noise = -0.5;
  bad[7].planted_rank = -1;

  for (std::size_t i = 0; i < bad.size(); ++i) {
    try {
      generate_text(bad[i], folder_ / "bad.tns");
      ADD_FAILURE() << "accepted: case " << i;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument) << error.what();
    }
  }

  EXPECT_FALSE(std::filesystem::exists(folder_ / "bad.tns"));
}

}  // namespace
}  // namespace blco
