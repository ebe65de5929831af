// The roofline: limits worked by hand, and the image read back by a small parser of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <regex>

#include "blco/error.hpp"
#include "tests/bench/machine/roofline.hpp"
#include "tests/bench/machine/xml_reader.hpp"

namespace blco {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Roofline fake_roofline() {
  Roofline roofline;
  roofline.device = "a processor";
  roofline.threads = 2;
  roofline.levels = {{"L1", 48 << 10, 200e9}, {"L2", 1 << 20, 100e9}, {"memory", 1 << 30, 10e9}};
  roofline.peaks = {{"f64", 50e9}, {"f32", 100e9}};
  return roofline;
}

// `intensity` flops per byte at `gflops` GFLOP/s.
RooflinePoint roofline_point(const std::string& format, int mode, double intensity, double gflops) {
  return {format, mode, Precision::f64, intensity * 1e9, 1e9, intensity / gflops};
}

double number_of(const XmlElement& element, const std::string& attribute) {
  return std::stod(element.attributes.at(attribute));
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos;
}

struct Pixel {
  double x = 0;
  double y = 0;
};

// What the image shows, as one who looks at it reads it: values by the numbers along the axes.
class ShownPlot {
 public:
  explicit ShownPlot(const std::string& svg) : elements_(XmlReader(svg).elements()) {
    std::map<double, double> x_numbers;
    std::map<double, double> y_numbers;
    for (const XmlElement& element : elements_) {
      if (element.name != "text" || !is_number(element.text) || element.attributes.count("stroke") != 0) continue;
      const bool below = element.attributes.at("text-anchor") == "middle";
      (below ? x_numbers : y_numbers)[std::stod(element.text)] = number_of(element, below ? "x" : "y");
    }
    fit(x_numbers, x_);
    fit(y_numbers, y_);
  }

  const std::vector<XmlElement>& elements() const { return elements_; }
  // Flops per byte and GFLOP/s at a place. Numbers beside the y axis lie 4 pixels below their line.
  Pixel value_at(Pixel place) const {
    return {std::pow(10, (place.x - x_.at_one) / x_.decade), std::pow(10, (place.y + 4 - y_.at_one) / y_.decade)};
  }
  std::vector<std::string> texts() const {
    std::vector<std::string> texts;
    for (const XmlElement& element : elements_) texts.push_back(element.text);
    return texts;
  }
  std::vector<XmlElement> with_tooltip(const std::string& name) const {
    std::vector<XmlElement> found;
    std::ranges::copy_if(elements_, std::back_inserter(found),
                         [&](const XmlElement& of) { return of.name == name && !of.tooltip.empty(); });
    return found;
  }

 private:
  struct Scale {
    double at_one = 0;
    double decade = 0;
  };

  // Through the outermost two; the others have to agree.
  static void fit(const std::map<double, double>& numbers, Scale& scale) {
    ASSERT_GE(numbers.size(), 2U);
    const auto& [low, first] = *numbers.begin();
    const auto& [high, last] = *numbers.rbegin();
    scale.decade = (last - first) / (std::log10(high) - std::log10(low));
    scale.at_one = first - std::log10(low) * scale.decade;
    for (const auto& [value, at] : numbers) EXPECT_NEAR(at, scale.at_one + std::log10(value) * scale.decade, 0.05);
  }

  std::vector<XmlElement> elements_;
  Scale x_;
  Scale y_;
};

Pixel place_of(const XmlElement& marker) {
  std::smatch found;
  const std::string transform = marker.attributes.at("transform");
  EXPECT_TRUE(std::regex_match(transform, found, std::regex("translate\\(([-0-9.]+) ([-0-9.]+)\\)"))) << transform;
  return {std::stod(found[1]), std::stod(found[2])};
}

TEST(Roofline, DividesWhatAPointDid) {
  const RooflinePoint point{"csf", 1, Precision::f64, 6e9, 24e9, 2};

  EXPECT_DOUBLE_EQ(point.intensity(), 0.25);
  EXPECT_DOUBLE_EQ(point.flops_per_second(), 3e9);
  EXPECT_DOUBLE_EQ(point.bytes_per_second(), 12e9);
  EXPECT_EQ((RooflinePoint{"csf", 1, Precision::f64, 6e9, 0, 0}.intensity()), 0);
  EXPECT_EQ((RooflinePoint{"csf", 1, Precision::f64, 6e9, 0, 0}.flops_per_second()), 0);
}

TEST(Roofline, LimitsAPointByBytesOrByFlops) {
  const Roofline roofline = fake_roofline();
  RooflinePoint point = roofline_point("blco", 0, 0.25, 3);
  const auto limits = [&] {
    std::vector<double> found;
    for (const RooflineLevel& level : roofline.levels)
      found.push_back(roofline.attainable_flops_per_second(level, point));
    return found;
  };
  EXPECT_THAT(limits(), ::testing::ElementsAre(50e9, 25e9, 2.5e9));

  point.flops = point.bytes;  // one flop per byte
  EXPECT_THAT(limits(), ::testing::ElementsAre(50e9, 50e9, 10e9));
  point.precision = Precision::mixed;
  EXPECT_THAT(limits(), ::testing::ElementsAre(50e9, 50e9, 10e9));
  point.precision = Precision::f32;
  EXPECT_THAT(limits(), ::testing::ElementsAre(100e9, 100e9, 10e9));
}

TEST(Roofline, NamesTheLastLevelThatIsFastEnough) {
  const Roofline roofline = fake_roofline();
  const auto level_of = [&](double bytes_per_second) -> std::string {
    const RooflineLevel* const level = roofline.level_above({"blco", 0, Precision::f64, 1, bytes_per_second, 1});
    return level != nullptr ? level->name : "none";
  };

  EXPECT_EQ(level_of(9e9), "memory");
  EXPECT_EQ(level_of(10e9), "memory");
  EXPECT_EQ(level_of(11e9), "L2");
  EXPECT_EQ(level_of(101e9), "L1");
  EXPECT_EQ(level_of(201e9), "none");
}

TEST(RooflineSvg, PutsEveryPointWhereTheAxesSay) {
  const std::vector<RooflinePoint> points{roofline_point("blco", 0, 0.2, 9), roofline_point("blco", 1, 0.31, 4.5),
                                          roofline_point("csf", 0, 0.11, 1.25), roofline_point("coo", 2, 1.7, 0.4)};

  const ShownPlot plot(roofline_svg(fake_roofline(), points, "title"));

  const std::vector<XmlElement> markers = plot.with_tooltip("path");
  ASSERT_EQ(markers.size(), points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Pixel shown = plot.value_at(place_of(markers[i]));
    EXPECT_NEAR(shown.x / points[i].intensity(), 1, 1e-3);
    EXPECT_NEAR(shown.y * 1e9 / points[i].flops_per_second(), 1, 1e-3);
    EXPECT_THAT(markers[i].tooltip, HasSubstr(points[i].format + ", mode " + std::to_string(points[i].mode)));
  }
  // The same format has the same colour and shape.
  EXPECT_EQ(markers[0].attributes.at("fill"), markers[1].attributes.at("fill"));
  EXPECT_EQ(markers[0].attributes.at("d"), markers[1].attributes.at("d"));
  EXPECT_NE(markers[0].attributes.at("fill"), markers[2].attributes.at("fill"));
}

TEST(RooflineSvg, DrawsEveryLevelAndPeakAtItsSpeed) {
  for (const bool has_points : {false, true}) {
    std::vector<RooflinePoint> points;
    if (has_points) points.push_back(roofline_point("blco", 0, 0.001, 0.01));

    const ShownPlot plot(roofline_svg(fake_roofline(), points, "title"));

    const std::vector<XmlElement> lines = plot.with_tooltip("line");
    ASSERT_EQ(lines.size(), 5U);
    const std::vector<double> peaks{100, 50};
    const std::vector<double> levels{200, 100, 10};
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const Pixel begin = plot.value_at({number_of(lines[i], "x1"), number_of(lines[i], "y1")});
      const Pixel end = plot.value_at({number_of(lines[i], "x2"), number_of(lines[i], "y2")});
      EXPECT_LT(begin.x, end.x);
      for (const Pixel& at : {begin, end}) {
        const double expected = i < 2 ? peaks[i] : at.x * levels[i - 2];
        EXPECT_NEAR(at.y / expected, 1, 2e-3);
      }
    }
    EXPECT_THAT(plot.texts(), ::testing::IsSupersetOf({"L1 \u00b7 200 GB/s", "memory \u00b7 10 GB/s",
                                                       "f64 \u00b7 50 GFLOP/s", "a processor, 2 threads"}));
  }
}

TEST(RooflineSvg, EscapesTextAndReplacesWhatIsNone) {
  Roofline roofline = fake_roofline();
  roofline.device = "R&D \"chip\" \x01\xff";
  roofline.levels[0].name = "<L1>";

  const ShownPlot plot(
      roofline_svg(roofline, std::vector{roofline_point("a<b>&'c'", 0, 0.1, 1)}, "\u00e9 < \xc3 &amp; \xed\xa0\x80"));

  EXPECT_THAT(plot.texts(), ::testing::IsSupersetOf({"R&D \"chip\" ??, 2 threads", "<L1> \u00b7 200 GB/s", "a<b>&'c'",
                                                     "\u00e9 < ? &amp; ???"}));
}

TEST(RooflineSvg, LeavesOutPointsThatHaveNoPlace) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<RooflinePoint> points{
      {"zero", 0, Precision::f64, 1e9, 1e9, 0},   {"zero", 1, Precision::f64, 0, 1e9, 1},
      {"zero", 2, Precision::f64, 1e9, 0, 1},     {"none", 0, Precision::f64, nan, 1e9, 1},
      {"none", 1, Precision::f64, 1e9, 1e9, nan}, {"none", 2, Precision::f64, infinity, 1e9, 1},
      {"less", 0, Precision::f64, -1e9, 1e9, 1},  roofline_point("blco", 3, 0.2, 5)};

  const std::string svg = roofline_svg(fake_roofline(), points, "title");

  EXPECT_EQ(ShownPlot(svg).with_tooltip("path").size(), 1U);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(RooflineSvg, WorksWithoutLinesOrPoints) {
  Roofline no_peaks = fake_roofline();
  no_peaks.peaks.clear();
  Roofline no_levels = fake_roofline();
  no_levels.levels.clear();
  Roofline unmeasured = fake_roofline();
  for (RooflineLevel& level : unmeasured.levels) level.bytes_per_second = 0;
  const std::vector<RooflinePoint> one{roofline_point("blco", 0, 0.2, 5)};

  for (const Roofline& roofline : {Roofline{}, no_peaks, no_levels, unmeasured}) {
    for (const auto& points : {std::vector<RooflinePoint>{}, one}) {
      const std::string svg = roofline_svg(roofline, points, "title");

      EXPECT_EQ(ShownPlot(svg).with_tooltip("path").size(), points.size());
      EXPECT_THAT(svg, Not(HasSubstr("nan")));
      EXPECT_THAT(svg, Not(HasSubstr("inf")));
    }
  }
}

// About the size of what a text covers, if it is not turned.
struct TextBox {
  double left, right, top, bottom;
};

TEST(RooflineSvg, ShowsManyClosePointsWithoutLabelsOnEachOther) {
  std::vector<RooflinePoint> points;
  for (int i = 0; i < 100; ++i) {
    const double at = i;
    points.push_back(roofline_point("format " + std::to_string(i % 16), i / 16, 0.2 + 0.003 * std::fmod(37 * at, 41),
                                    3 + 0.08 * std::fmod(23 * at, 53)));
  }

  const ShownPlot plot(roofline_svg(fake_roofline(), points, "title"));

  EXPECT_EQ(plot.with_tooltip("path").size(), points.size());
  std::map<std::pair<std::string, std::string>, int> looks;
  for (const XmlElement& marker : plot.with_tooltip("path"))
    ++looks[{marker.attributes.at("fill"), marker.attributes.at("d")}];
  EXPECT_EQ(looks.size(), 16U);
  std::vector<TextBox> modes;
  for (const XmlElement& element : plot.elements()) {
    if (element.name != "text" || !is_number(element.text) || element.attributes.count("stroke") == 0) continue;
    const double x = number_of(element, "x");
    const double y = number_of(element, "y");
    modes.push_back({x - 2.5, x + 2.5, y - 7, y});
  }
  EXPECT_GT(modes.size(), 10U);
  for (std::size_t i = 0; i < modes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_FALSE(modes[i].left < modes[j].right && modes[j].left < modes[i].right && modes[i].top < modes[j].bottom &&
                   modes[j].top < modes[i].bottom);
    }
  }
}

TEST(RooflineSvg, KeepsToItsFrameAtAnyMagnitude) {
  for (const double intensity : {1e-12, 1e-4, 1e6}) {
    for (const double gflops : {1e-9, 1e-3, 1e7}) {
      const ShownPlot plot(
          roofline_svg(fake_roofline(), std::vector{roofline_point("blco", 0, intensity, gflops)}, "title"));

      const Pixel at = place_of(plot.with_tooltip("path").at(0));
      EXPECT_TRUE(at.x > 70 && at.x < 740 && at.y > 75 && at.y < 545) << intensity << ' ' << gflops;
      EXPECT_NEAR(std::log10(plot.value_at(at).x), std::log10(intensity), 0.02);
      EXPECT_NEAR(std::log10(plot.value_at(at).y), std::log10(gflops), 0.02);
    }
  }
}

TEST(RooflineMeasurement, MeasuresTheProcessorWithLittle) {
  const Roofline roofline =
      measure_roofline({.device = Device::cpu, .threads = 2, .repeats = 1, .seconds = 1e-5, .memory_bytes = 1 << 20});

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
  for (const Precision precision : {Precision::f64, Precision::f32, Precision::mixed})
    EXPECT_GT(roofline.peak_flops_per_second(precision), 0);
}

TEST(RooflineMeasurement, RefusesNonsense) {
  EXPECT_THROW(measure_roofline({.device = Device::cpu, .repeats = 0}), Error);
  EXPECT_THROW(measure_roofline({.device = Device::cpu, .threads = -1}), Error);
  EXPECT_THROW(measure_roofline({.device = Device::cpu, .seconds = -1}), Error);
}

}  // namespace
}  // namespace blco
