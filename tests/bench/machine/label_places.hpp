// Finds room for the labels of a plot: what is drawn takes boxes, and a label goes where it meets the fewest.
#pragma once

#include <span>
#include <vector>

#include "tests/bench/machine/svg_writer.hpp"

namespace blco {

struct PixelBox {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;

  bool meets(const PixelBox& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
  bool is_within(const PixelBox& other) const {
    return left >= other.left && right <= other.right && top >= other.top && bottom <= other.bottom;
  }
};

inline PixelBox box_about(PixelPoint middle, double width, double height) {
  return {middle.x - width / 2, middle.y - height / 2, middle.x + width / 2, middle.y + height / 2};
}

// Boxes that cover a text of this width and height, turned clockwise about the middle of its left side.
std::vector<PixelBox> boxes_along(PixelPoint left_middle, double width, double height, double degrees);

class LabelPlaces {
 public:
  explicit LabelPlaces(const PixelBox& frame) : frame_(frame) {}

  void take(const PixelBox& box) { taken_.push_back(box); }
  void take(std::span<const PixelBox> boxes) { taken_.insert(taken_.end(), boxes.begin(), boxes.end()); }
  // How many of what is taken the boxes meet, with as many for each box that leaves the frame.
  int conflicts(std::span<const PixelBox> boxes) const;

 private:
  PixelBox frame_;
  std::vector<PixelBox> taken_;
};

}  // namespace blco
