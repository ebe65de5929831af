// What a model in memory answers by itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/model.hpp>
#include <cstdint>
#include <utility>
#include <vector>

#include "blco/error.hpp"

namespace blco {
namespace {

// Two components of a tensor of 3 x 2.
CpdModel model_of_a_matrix() {
  CpdModel model;
  model.shape = {3, 2};
  model.rank = 2;
  model.weights = {2, -1};
  model.factors = {{1, 0.5, -3, 0, 0, 0.5}, {0.25, 4, 0.75, 8}};
  return model;
}

TEST(CpdModel, SaysWhatACellIs) {
  const CpdModel model = model_of_a_matrix();

  EXPECT_EQ(model.value(std::vector<std::uint64_t>{0, 0}), 2 * 1 * 0.25 - 0.5 * 4);
  EXPECT_EQ(model.value(std::vector<std::uint64_t>{1, 1}), 2 * -3 * 0.75);
  EXPECT_EQ(model.value(std::vector<std::uint64_t>{2, 1}), -0.5 * 8);
}

TEST(CpdModel, ListsTheLargestEntriesOfAColumn) {
  const CpdModel model = model_of_a_matrix();
  const auto top = [&](std::size_t component, std::size_t mode, std::size_t count) {
    std::vector<std::pair<std::uint64_t, double>> entries;
    for (const FactorEntry& entry : model.top(component, mode, count)) entries.emplace_back(entry.row, entry.value);
    return entries;
  };
  using Entries = std::vector<std::pair<std::uint64_t, double>>;

  EXPECT_EQ(top(0, 0, 9), (Entries{{1, -3}, {0, 1}}));
  EXPECT_EQ(top(1, 0, 9), (Entries{{0, 0.5}, {2, 0.5}}));
  EXPECT_EQ(top(1, 1, 1), (Entries{{1, 8}}));
}

TEST(CpdModel, RefusesWhatItDoesNotHave) {
  const CpdModel model = model_of_a_matrix();

  EXPECT_THROW(model.value(std::vector<std::uint64_t>{0, 2}), Error);
  EXPECT_THROW(model.value(std::vector<std::uint64_t>{0}), Error);
  EXPECT_THROW(model.top(2, 0, 1), Error);
  EXPECT_THROW(model.top(0, 2, 1), Error);
}

}  // namespace
}  // namespace blco
