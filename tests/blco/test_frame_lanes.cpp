// The warp's decode, run lane by lane, against the values that were packed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "blco/frame_lanes.hpp"
#include "tests/blco/frame_values.hpp"

namespace blco {
namespace {

enum class LaneOrder { forward, reverse, shuffled };

std::array<int, warp_lanes> lanes_in(LaneOrder order) {
  std::array<int, warp_lanes> lanes;
  for (int i = 0; i < warp_lanes; ++i) lanes[static_cast<std::size_t>(i)] = i;
  if (order == LaneOrder::reverse) std::reverse(lanes.begin(), lanes.end());
  if (order == LaneOrder::shuffled) std::shuffle(lanes.begin(), lanes.end(), std::mt19937(11));
  return lanes;
}

std::vector<std::uint64_t> decode_by_lanes(const FrameLanes& frame, FrameCoding coding, LaneOrder order) {
  const auto lanes = lanes_in(order);
  std::vector<std::uint64_t> scratch(frame_entries, 0xdeadbeef);
  std::uint64_t fields[warp_lanes][lane_entries];
  const auto slot = [](int lane, int j) { return static_cast<std::size_t>(frame_slot(lane * lane_entries + j)); };
  for (const int lane : lanes) {
    frame.unpack(lane, fields[lane]);
    for (int j = 0; j < lane_entries; ++j) scratch[slot(lane, j)] = fields[lane][j];
  }
  for (const int lane : lanes) frame.patch(lane, scratch.data());
  std::vector<std::uint64_t> values;
  std::uint64_t before = frame.first();
  for (int lane = 0; lane < warp_lanes; ++lane) {
    for (int j = 0; j < lane_entries; ++j) fields[lane][j] = scratch[slot(lane, j)];
    const std::uint64_t sum = coding == FrameCoding::differences ? FrameLanes::accumulate(fields[lane]) : 0;
    for (const std::uint64_t field : fields[lane]) values.push_back(before + field);
    before += sum;
  }
  return values;
}

class EveryLaneOrder : public testing::TestWithParam<LaneOrder> {};

TEST_P(EveryLaneOrder, GivesTheValuesThatWerePacked) {
  for (const NamedValues& named : frame_test_values()) {
    for (const FrameCoding coding : {FrameCoding::differences, FrameCoding::plain}) {
      std::vector<std::byte> bytes;
      const FrameShape shape = encode_frame(named.values, coding, 1000, bytes);
      bytes.resize(bytes.size() + 8);

      std::vector<std::uint64_t> values = decode_by_lanes({bytes.data(), shape, 1000}, coding, GetParam());

      values.resize(named.values.size());
      ASSERT_EQ(values, named.values) << named.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(FrameLanes, EveryLaneOrder,
                         testing::Values(LaneOrder::forward, LaneOrder::reverse, LaneOrder::shuffled));

TEST(FrameLanes, SlotsOfOneStepLieInDifferentBanks) {
  std::vector<int> seen(frame_entries, 0);

  for (int entry = 0; entry < frame_entries; ++entry) ++seen[static_cast<std::size_t>(frame_slot(entry))];

  EXPECT_EQ(seen, std::vector<int>(frame_entries, 1));
  for (int lane = 1; lane < warp_lanes; ++lane) EXPECT_EQ(frame_slot(lane * lane_entries), lane);
}

}  // namespace
}  // namespace blco
