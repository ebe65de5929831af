// The name of the column of values: an attribute of the container, and what a table of the tensor calls that column;
// and how its input was read.
#include <gtest/gtest.h>

#include "tests/io/container/stored_tensor.hpp"

namespace blco::tests {
namespace {

TEST(ValueName, IsKept) {
  const TemporaryFolder folder;
  StoredTensor tensor = random_tensor({{40, 50, 60}, 1000, 300});
  write_tensor(tensor, folder / "without.blco");
  tensor.info.value_name = "how many";
  write_tensor(tensor, folder / "with.blco");

  const ContainerReader without(folder / "without.blco");
  const ContainerReader with(folder / "with.blco");

  EXPECT_EQ(without.info().value_name, "");
  EXPECT_EQ(with.info().value_name, "how many");
  EXPECT_EQ(read_columns(with), read_columns(without));
}

TEST(InputReading, IsKept) {
  const TemporaryFolder folder;
  StoredTensor tensor = random_tensor({{40, 50, 60}, 1000, 300});
  write_tensor(tensor, folder / "without.blco");
  tensor.info.reading = {{"shop", "when:day:every", "price:bins=60"}, "unbekannt", DuplicatePolicy::max};
  write_tensor(tensor, folder / "with.blco");

  const ContainerReader without(folder / "without.blco");
  const ContainerReader with(folder / "with.blco");

  EXPECT_TRUE(without.info().reading == InputReading{});
  EXPECT_TRUE(with.info().reading == tensor.info.reading);
}

TEST(ValueName, IsUnlikeTheNamesOfTheModes) {
  ContainerInfo info;
  info.mode_names = {"value", "count", "value_", "count__"};

  const std::string without = value_column_name(info);
  info.value_name = "count";
  const std::string with = value_column_name(info);

  EXPECT_EQ(without, "value__");
  EXPECT_EQ(with, "count_");
}

}  // namespace
}  // namespace blco::tests
