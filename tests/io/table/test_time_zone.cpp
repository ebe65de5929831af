#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blco/error.hpp"
#include "io/table/time_zone.hpp"
#include "tests/io/expect_error.hpp"

namespace blco {
namespace {

TEST(TimeZone, IsAheadOfUtcByAFixedTime) {
  EXPECT_EQ(TimeZone("UTC").offset_at(0), 0);
  EXPECT_EQ(TimeZone("+02:00").offset_at(0), 7200);
  EXPECT_EQ(TimeZone("-0330").offset_at(1'709'647'653), -12'600);
}

// Summer time began there on 2024-03-31 at 1:00 UTC, and will by the rule on 2099-03-29.
TEST(TimeZone, ChangesAsTheDatabaseSays) {
  const TimeZone berlin("Europe/Berlin");

  EXPECT_EQ(berlin.offset_at(1'711'846'799), 3600);
  EXPECT_EQ(berlin.offset_at(1'711'846'800), 7200);
  EXPECT_EQ(berlin.offset_at(4'078'429'199), 3600);
  EXPECT_EQ(berlin.offset_at(4'078'429'200), 7200);
}

TEST(TimeZone, OfAnotherNameOrOfAFileElsewhereIsRefused) {
  for (const char* name :
       {"", "Mars/Base", "../zoneinfo/UTC", "/etc/localtime", "Europe", "+2", "+02:0", "+99:99:99"}) {
    EXPECT_THAT(message_of_error(ErrorKind::invalid_argument, [&] { TimeZone zone(name); }),
                testing::HasSubstr("is not in the machine's time zone database, /usr/share/zoneinfo; install it"))
        << name;
  }
}

}  // namespace
}  // namespace blco
