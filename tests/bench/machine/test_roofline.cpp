// The roofline: limits worked by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "blco/error.hpp"
#include "tests/bench/machine/roofline.hpp"

namespace blco {
namespace {

Roofline fake_roofline() {
  Roofline roofline;
  roofline.device = "a processor";
  roofline.threads = 2;
  roofline.levels = {{"L1", 48 << 10, 200e9}, {"L2", 1 << 20, 100e9}, {"memory", 1 << 30, 10e9}};
  roofline.peaks = {{"f64", 50e9}, {"f32", 100e9}};
  return roofline;
}

TEST(Roofline, DividesWhatAPointDid) {
  const RooflinePoint point{"csf", 1, 6e9, 24e9, 2};

  EXPECT_DOUBLE_EQ(point.intensity(), 0.25);
  EXPECT_DOUBLE_EQ(point.flops_per_second(), 3e9);
  EXPECT_DOUBLE_EQ(point.bytes_per_second(), 12e9);
  EXPECT_EQ((RooflinePoint{"csf", 1, 6e9, 0, 0}.intensity()), 0);
  EXPECT_EQ((RooflinePoint{"csf", 1, 6e9, 0, 0}.flops_per_second()), 0);
}

TEST(Roofline, NamesTheLastLevelThatIsFastEnough) {
  const Roofline roofline = fake_roofline();
  const auto level_of = [&](double bytes_per_second) -> std::string {
    const RooflineLevel* const level = roofline.level_above({"blco", 0, 1, bytes_per_second, 1});
    return level != nullptr ? level->name : "none";
  };

  EXPECT_EQ(level_of(9e9), "memory");
  EXPECT_EQ(level_of(10e9), "memory");
  EXPECT_EQ(level_of(11e9), "L2");
  EXPECT_EQ(level_of(101e9), "L1");
  EXPECT_EQ(level_of(201e9), "none");
}

TEST(Roofline, TellsWhatBindsAPoint) {
  const Roofline roofline = fake_roofline();
  const auto limit_of = [&](const RooflinePoint& point) {
    const RooflineLimit limit = roofline.limit_share(point);
    return limit.name + " " + std::to_string(limit.share);
  };

  // In two seconds, of 50 GFLOP/s, 200 GB/s, 100 GB/s and 10 GB/s.
  EXPECT_EQ(limit_of({"a", 0, 60e9, 100e9, 2}), "f64 0.600000");
  EXPECT_EQ(limit_of({"a", 0, 60e9, 100e9, 2, 0, "f32"}), "f32 0.300000");
  EXPECT_EQ(limit_of({"a", 0, 6e9, 100e9, 2}), "L1 0.250000");
  EXPECT_EQ(limit_of({"a", 0, 6e9, 1e9, 2, 15e9}), "memory 0.750000");        // more than any set
  EXPECT_EQ(limit_of({"a", 0, 0, 0, 1e-3, double{1 << 20}}), "L2 0.010486");  // as many as that of L2
}

TEST(RooflineMeasurement, MeasuresTheProcessorWithLittle) {
  const Roofline roofline =
      measure_roofline({.devices = {"cpu"}, .threads = 2, .repeats = 1, .seconds = 1e-5, .memory_bytes = 1 << 20});

  EXPECT_FALSE(roofline.device.empty());
  EXPECT_EQ(roofline.threads, 2);
  ASSERT_GE(roofline.levels.size(), 3U);
  EXPECT_EQ(roofline.levels.front().name, "L1");
  EXPECT_EQ(roofline.levels.back().name, "memory");
  EXPECT_EQ(roofline.levels.back().bytes, 1U << 20);
  for (const RooflineLevel& level : roofline.levels) {
    EXPECT_GT(level.bytes, 0U);
    EXPECT_TRUE(std::isfinite(level.bytes_per_second) && level.bytes_per_second > 0) << level.name;
  }
  ASSERT_EQ(roofline.peaks.size(), 2U);
  for (const RooflinePeak& peak : roofline.peaks) EXPECT_GT(peak.flops_per_second, 0);
}

TEST(RooflineMeasurement, RefusesNonsense) {
  EXPECT_THROW(measure_roofline({.devices = {"cpu"}, .repeats = 0}), Error);
  EXPECT_THROW(measure_roofline({.devices = {"cpu"}, .threads = -1}), Error);
  EXPECT_THROW(measure_roofline({.devices = {"cpu"}, .seconds = -1}), Error);
}

}  // namespace
}  // namespace blco
