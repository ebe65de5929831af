// What is said of a budget that the machine does not have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/sysinfo.h>

#include <blco/memory_budget.hpp>
#include <cstdint>

namespace blco {
namespace {

TEST(BudgetNote, IsGivenForMoreThanTheMachineHas) {
  struct sysinfo machine {};
  ASSERT_EQ(sysinfo(&machine), 0);
  const std::uint64_t installed = std::uint64_t{machine.totalram} * machine.mem_unit;

  EXPECT_EQ(budget_note(0), "");
  EXPECT_EQ(budget_note(std::uint64_t{1} << 20), "");
  const std::string note = budget_note(2 * installed);
  EXPECT_THAT(note, testing::HasSubstr("the budget of "));
  EXPECT_THAT(note, testing::HasSubstr(" exceeds the "));
}

}  // namespace
}  // namespace blco
