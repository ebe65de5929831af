#include "tests/bench/machine/label_places.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace blco {

std::vector<PixelBox> boxes_along(PixelPoint left_middle, double width, double height, double degrees) {
  const double angle = degrees * std::numbers::pi / 180;
  const int count = std::max(static_cast<int>(std::ceil(width / height)), 1);
  std::vector<PixelBox> boxes;
  for (int i = 0; i < count; ++i) {
    const double along = width * (i + 0.5) / count;
    const PixelPoint middle{left_middle.x + along * std::cos(angle), left_middle.y + along * std::sin(angle)};
    boxes.push_back(box_about(middle, std::max(width / count, height), height));
  }
  return boxes;
}

int LabelPlaces::conflicts(std::span<const PixelBox> boxes) const {
  constexpr int of_leaving = 1000;
  int conflicts = 0;
  for (const PixelBox& box : boxes) {
    if (!box.is_within(frame_)) conflicts += of_leaving;
    conflicts += static_cast<int>(std::ranges::count_if(taken_, [&](const PixelBox& of) { return box.meets(of); }));
  }
  return conflicts;
}

}  // namespace blco
