#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "tests/bench/machine/label_places.hpp"
#include "tests/bench/machine/log_axis.hpp"
#include "tests/bench/machine/roofline.hpp"
#include "tests/bench/machine/svg_writer.hpp"

namespace blco {
namespace {

constexpr double image_width = 900;
constexpr double image_height = 600;
constexpr double frame_left = 72;
constexpr double frame_top = 78;
constexpr double frame_bottom = 540;
constexpr double legend_width = 176;
constexpr double giga = 1e9;
constexpr double label_size = 11.5;
constexpr double mode_size = 9;
constexpr std::size_t most_formats = 16;

constexpr const char* ink = "#1f2937";
constexpr const char* quiet_ink = "#6b7280";
constexpr const char* roof_colour = "#334155";
constexpr const char* grid_colour = "#e5e7eb";
constexpr const char* faint_grid_colour = "#f1f3f5";
constexpr const char* roofed_colour = "#f8fafc";

// Neighbours differ in hue and lightness; the eight shapes of markers repeat with the second half.
constexpr std::array<const char*, most_formats> colours = {
    "#1f77b4", "#d9480f", "#2b8a3e", "#9c36b5", "#e6a700", "#0b9e9e", "#c2255c", "#5c4033",
    "#74a9e8", "#f08c4a", "#74b816", "#b197fc", "#8a8d00", "#364fc7", "#f783ac", "#495057"};

bool is_drawable(double x, double y) { return std::isfinite(x) && std::isfinite(y) && x > 0 && y > 0; }

// Every line and marker of the plot, in its units: flops per byte, and GFLOP/s.
struct Line {
  std::string label;
  std::string tooltip;
  double slope = 0;  // of a level: GB/s
  double peak = 0;   // of a peak: GFLOP/s
};

struct Marker {
  const RooflinePoint* point = nullptr;
  std::size_t format = 0;
  double x = 0;
  double y = 0;
};

std::string with_unit(double per_second, const char* unit) {
  const bool is_tera = per_second >= 1e12;
  return plain_number(per_second / (is_tera ? 1e12 : giga)) + (is_tera ? " T" : " G") + unit;
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto size = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; size >= 1024 && unit + 1 < units.size(); ++unit) size /= 1024;
  return (bytes == 0 ? "0" : plain_number(size)) + ' ' + units[unit];
}

std::string tooltip_of(const RooflinePoint& point) {
  constexpr std::array precisions = {"f64", "f32", "mixed"};
  return point.format + ", mode " + std::to_string(point.mode) + ", " +
         precisions[static_cast<std::size_t>(point.precision)] + ": " + plain_number(point.intensity()) +
         " flop/byte, " + with_unit(point.flops_per_second(), "FLOP/s") + ", " +
         with_unit(point.bytes_per_second(), "B/s");
}

struct Range {
  double low = std::numeric_limits<double>::max();
  double high = 0;

  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool is_empty() const { return high == 0; }
};

class RooflinePlot {
 public:
  RooflinePlot(const Roofline& roofline, std::span<const RooflinePoint> points);

  std::string draw(const std::string& title);

 private:
  void add_lines(const Roofline& roofline);
  void add_markers(std::span<const RooflinePoint> points);
  LogAxis make_x_axis() const;
  LogAxis make_y_axis() const;
  PixelPoint place(double x, double y) const { return {x_.position(x), y_.position(y)}; }
  double roof_at(double x) const { return std::min(highest_peak_, x * fastest_level_); }

  void draw_titles(const std::string& title);
  void draw_roofed();
  void draw_grid();
  void draw_lines();
  void draw_line(PixelPoint from, PixelPoint to, const Line& line);
  void label_peak(const Line& peak);
  void label_level(const Line& level);
  void draw_markers();
  void label_mode(const Marker& marker);
  void draw_legend();

  std::string device_;
  std::vector<Line> levels_;
  std::vector<Line> peaks_;
  double fastest_level_ = std::numeric_limits<double>::infinity();
  double highest_peak_ = std::numeric_limits<double>::infinity();
  std::vector<std::string> formats_;
  std::vector<Marker> markers_;
  double marker_radius_ = 5;
  double frame_right_;
  LogAxis x_;
  LogAxis y_;
  LabelPlaces places_;
  SvgWriter svg_;
};

// The members that the axes need are made by then: they are declared before.
RooflinePlot::RooflinePlot(const Roofline& roofline, std::span<const RooflinePoint> points)
    : device_(roofline.device),
      frame_right_((add_lines(roofline), add_markers(points), image_width - (formats_.empty() ? 28 : legend_width))),
      x_(make_x_axis()),
      y_(make_y_axis()),
      places_({frame_left, frame_top, frame_right_, frame_bottom}),
      svg_(image_width, image_height, "Roofline of " + roofline.device) {
  if (roofline.threads > 0)
    device_ += ", " + std::to_string(roofline.threads) + (roofline.threads == 1 ? " thread" : " threads");
  if (markers_.size() > 40) marker_radius_ = 4;
  for (const Marker& marker : markers_)
    places_.take(box_about(place(marker.x, marker.y), 2.4 * marker_radius_, 2.4 * marker_radius_));
}

void RooflinePlot::add_lines(const Roofline& roofline) {
  for (const RooflineLevel& level : roofline.levels) {
    if (!is_drawable(level.bytes_per_second, 1)) continue;
    const std::string speed = with_unit(level.bytes_per_second, "B/s");
    levels_.push_back({level.name + " \u00b7 " + speed,
                       level.name + ": " + speed + ", by loads from " + size_text(level.bytes),
                       level.bytes_per_second / giga, 0});
  }
  for (const RooflinePeak& peak : roofline.peaks) {
    if (!is_drawable(peak.flops_per_second, 1)) continue;
    const std::string speed = with_unit(peak.flops_per_second, "FLOP/s");
    peaks_.push_back(
        {peak.name + " \u00b7 " + speed, peak.name + " multiply-adds: " + speed, 0, peak.flops_per_second / giga});
  }
  const auto faster = [](const Line& a, const Line& b) { return a.slope + a.peak > b.slope + b.peak; };
  std::ranges::stable_sort(levels_, faster);
  std::ranges::stable_sort(peaks_, faster);
  if (!levels_.empty()) fastest_level_ = levels_.front().slope;
  if (!peaks_.empty()) highest_peak_ = peaks_.front().peak;
}

void RooflinePlot::add_markers(std::span<const RooflinePoint> points) {
  for (const RooflinePoint& point : points) {
    auto found = std::ranges::find(formats_, point.format);
    if (found == formats_.end()) found = formats_.insert(found, point.format);
    const double x = point.intensity();
    const double y = point.flops_per_second() / giga;
    if (is_drawable(x, y)) markers_.push_back({&point, static_cast<std::size_t>(found - formats_.begin()), x, y});
  }
}

// Shows the points and the ridges of the fastest level, or without points every ridge: where a level meets a peak.
LogAxis RooflinePlot::make_x_axis() const {
  Range range;
  for (const Marker& marker : markers_) range.add(marker.x);
  for (const Line& level : levels_) {
    if (!markers_.empty() && level.slope < fastest_level_) break;
    for (const Line& peak : peaks_) range.add(peak.peak / level.slope);
  }
  if (range.is_empty()) range.add(1);
  // Right of the ridges there is room for the peaks' labels.
  range.low /= 1.8;
  range.high *= std::max(3.0, std::pow(range.high / range.low, 0.22));
  return {range.low, range.high, frame_left, frame_right_, 1.7};
}

// Shows every level's line from the left edge on.
LogAxis RooflinePlot::make_y_axis() const {
  Range range;
  for (const Marker& marker : markers_) range.add(marker.y);
  for (const Line& peak : peaks_) range.add(peak.peak);
  for (const Line& level : levels_) range.add(std::min(level.slope * x_.low(), highest_peak_));
  if (peaks_.empty() && !levels_.empty()) range.add(fastest_level_ * x_.high());
  if (range.is_empty()) range.add(1);
  range.low /= 1.5;
  range.high *= 1.6;
  return {range.low, range.high, frame_bottom, frame_top, 1.7};
}

std::string RooflinePlot::draw(const std::string& title) {
  draw_titles(title);
  draw_roofed();
  draw_grid();
  draw_lines();
  draw_markers();
  draw_legend();
  return svg_.finish();
}

void RooflinePlot::draw_titles(const std::string& title) {
  svg_.text({frame_left, 34}, title, {.size = 19, .colour = ink, .is_bold = true});
  svg_.text({frame_left, 56}, device_, {.size = 12.5, .colour = quiet_ink});
  const double middle = (frame_left + frame_right_) / 2;
  svg_.text({middle, image_height - 16}, "flop per byte that the cores request",
            {.size = 13, .colour = ink, .anchor = "middle"});
  svg_.text({20, (frame_top + frame_bottom) / 2}, "GFLOP/s",
            {.size = 13, .colour = ink, .anchor = "middle", .degrees = -90});
}

// What lies below the highest roof can be reached.
void RooflinePlot::draw_roofed() {
  if (levels_.empty() || peaks_.empty()) return;
  const double ridge = highest_peak_ / fastest_level_;
  const PixelPoint left = place(x_.low(), roof_at(x_.low()));
  const PixelPoint top = place(ridge, highest_peak_);
  const auto corner = [](double x, double y) { return pixels(x) + ' ' + pixels(y); };
  svg_.shape({0, 0},
             'M' + corner(left.x, frame_bottom) + 'L' + corner(left.x, left.y) + 'L' + corner(top.x, top.y) + 'L' +
                 corner(frame_right_, top.y) + 'L' + corner(frame_right_, frame_bottom) + 'Z',
             roofed_colour);
}

void RooflinePlot::draw_grid() {
  const TextStyle numbers{.size = 11, .colour = quiet_ink, .anchor = "middle"};
  for (const AxisTick& tick : x_.ticks()) {
    const double x = x_.position(tick.value);
    svg_.line({x, frame_top}, {x, frame_bottom}, {tick.has_number ? grid_colour : faint_grid_colour});
    if (tick.has_number) svg_.text({x, frame_bottom + 18}, plain_number(tick.value), numbers);
  }
  TextStyle beside = numbers;
  beside.anchor = "end";
  for (const AxisTick& tick : y_.ticks()) {
    const double y = y_.position(tick.value);
    svg_.line({frame_left, y}, {frame_right_, y}, {tick.has_number ? grid_colour : faint_grid_colour});
    if (tick.has_number) svg_.text({frame_left - 8, y + 4}, plain_number(tick.value), beside);
  }
  svg_.line({frame_left, frame_bottom}, {frame_right_, frame_bottom}, {"#9ca3af"});
  svg_.line({frame_left, frame_top}, {frame_left, frame_bottom}, {"#9ca3af"});
}

void RooflinePlot::draw_lines() {
  for (const Line& peak : peaks_) {
    const double begin = std::max(peak.peak / fastest_level_, x_.low());
    draw_line(place(begin, peak.peak), place(x_.high(), peak.peak), peak);
  }
  for (const Line& level : levels_) {
    const double end = std::min(highest_peak_ / level.slope, x_.high());
    draw_line(place(x_.low(), level.slope * x_.low()), place(end, level.slope * end), level);
  }
  for (const Line& peak : peaks_) label_peak(peak);
  for (const Line& level : levels_) label_level(level);
}

// Labels keep away from it.
void RooflinePlot::draw_line(PixelPoint from, PixelPoint to, const Line& line) {
  constexpr double step = 4;
  svg_.line(from, to, {roof_colour, 1.8}, line.tooltip);
  const double length = std::hypot(to.x - from.x, to.y - from.y);
  for (double along = 0; along < length; along += step) {
    const double share = along / length;
    places_.take(box_about({std::lerp(from.x, to.x, share), std::lerp(from.y, to.y, share)}, 1, 1));
  }
}

// At the right end of the line, above it or else below; or left of its beginning, above all levels.
void RooflinePlot::label_peak(const Line& peak) {
  const double width = text_width(peak.label, label_size);
  const double y = y_.position(peak.peak);
  const double begin = std::max(x_.position(peak.peak / fastest_level_), frame_left);
  const double last = frame_right_ - 6;
  std::vector<PixelPoint> candidates;  // the middle of the label's right side
  for (double end = last; end == last || end > begin + width; end -= 8) {
    candidates.push_back({end, y - 10});
    candidates.push_back({end, y + 11});
  }
  candidates.push_back({begin - 12, y});
  std::pair<int, PixelPoint> best{std::numeric_limits<int>::max(), {}};
  for (const PixelPoint& at : candidates) {
    const int conflicts = places_.conflicts(boxes_along({at.x - width, at.y}, width, label_size, 0));
    if (conflicts < best.first) best = {conflicts, at};
  }
  const PixelPoint at = best.second;
  places_.take(boxes_along({at.x - width, at.y}, width, label_size, 0));
  svg_.text({at.x, at.y + 4}, peak.label,
            {.size = label_size, .colour = roof_colour, .anchor = "end", .is_bold = true, .has_halo = true});
}

// Along the line from its left end, above it or else below.
void RooflinePlot::label_level(const Line& level) {
  const double width = text_width(level.label, label_size);
  const double angle = std::atan2(y_.decade_pixels(), x_.decade_pixels());
  const double degrees = angle * 180 / std::numbers::pi;
  const PixelPoint begin = place(x_.low(), level.slope * x_.low());
  const double end = std::min(highest_peak_ / level.slope, x_.high());
  const double length = (x_.position(end) - begin.x) / std::cos(angle);
  std::pair<int, PixelPoint> best{std::numeric_limits<int>::max(), begin};
  std::vector<PixelBox> room;
  for (double along = 14; along == 14 || along + width < length - 14; along += 14) {
    for (const double aside : {-9.0, 10.0}) {
      const PixelPoint at{begin.x + along * std::cos(angle) - aside * std::sin(angle),
                          begin.y + along * std::sin(angle) + aside * std::cos(angle)};
      std::vector<PixelBox> boxes = boxes_along(at, width, label_size, degrees);
      const int conflicts = places_.conflicts(boxes);
      if (conflicts >= best.first) continue;
      best = {conflicts, {at.x - 4 * std::sin(angle), at.y + 4 * std::cos(angle)}};
      room = std::move(boxes);
    }
  }
  places_.take(room);
  svg_.text(best.second, level.label,
            {.size = label_size, .colour = roof_colour, .is_bold = true, .has_halo = true, .degrees = degrees});
}

void RooflinePlot::draw_markers() {
  for (const Marker& marker : markers_) {
    svg_.shape(place(marker.x, marker.y), marker_path(static_cast<int>(marker.format), marker_radius_),
               colours[marker.format % most_formats], tooltip_of(*marker.point));
  }
  for (const Marker& marker : markers_) label_mode(marker);
}

// The mode's number beside the marker, where there is room.
void RooflinePlot::label_mode(const Marker& marker) {
  const std::string number = std::to_string(marker.point->mode);
  const double width = text_width(number, mode_size) + 1;
  const PixelPoint at = place(marker.x, marker.y);
  for (const double distance : {1.2 * marker_radius_ + 5, 1.2 * marker_radius_ + 9}) {
    for (int eighth : {0, 4, 6, 2, 7, 5, 1, 3}) {
      const double angle = eighth * std::numbers::pi / 4;
      const PixelPoint middle{at.x + distance * std::cos(angle), at.y + distance * std::sin(angle)};
      const PixelBox box = box_about(middle, width, mode_size - 1);
      if (places_.conflicts({&box, 1}) > 0) continue;
      places_.take(box);
      svg_.text({middle.x, middle.y + 3.2}, number,
                {.size = mode_size, .colour = ink, .anchor = "middle", .has_halo = true});
      return;
    }
  }
}

void RooflinePlot::draw_legend() {
  if (formats_.empty()) return;
  constexpr double row_height = 23;
  constexpr std::size_t most_letters = 21;
  const double left = frame_right_ + 20;
  double y = frame_top + 10;
  for (std::size_t i = 0; i < formats_.size(); ++i, y += row_height) {
    svg_.shape({left + 4, y - 4}, marker_path(static_cast<int>(i), 5.5), colours[i % most_formats]);
    std::string name = formats_[i];
    if (name.size() > most_letters) {
      std::size_t end = most_letters - 1;
      while (end > 0 && (static_cast<unsigned char>(name[end]) >> 6) == 2) --end;
      name = name.substr(0, end) + "\u2026";
    }
    svg_.text({left + 18, y}, name, {.size = 12.5, .colour = ink});
  }
  if (!markers_.empty()) svg_.text({left - 2, y + 4}, "numbers: modes", {.size = 11, .colour = quiet_ink});
}

}  // namespace

std::string roofline_svg(const Roofline& roofline, std::span<const RooflinePoint> points, const std::string& title) {
  return RooflinePlot(roofline, points).draw(title);
}

}  // namespace blco
