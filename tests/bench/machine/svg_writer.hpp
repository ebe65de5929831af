// Writes the elements of an SVG image: text, lines, shapes.
#pragma once

#include <string>
#include <string_view>

namespace blco {

struct PixelPoint {
  double x = 0;
  double y = 0;
};

struct TextStyle {
  double size = 12;                // of the font, in pixels
  const char* colour = "#1f2937";  // as SVG writes it
  const char* anchor = "start";    // or "middle", "end"
  bool is_bold = false;
  bool has_halo = false;  // a white rim, which sets it off from what lies below
  double degrees = 0;     // by which it is turned about its point, clockwise
};

struct LineStyle {
  const char* colour = "#1f2937";
  double width = 1;
};

// Text as XML content or attribute: markup is escaped, and what XML 1.0 or UTF-8 does not allow becomes '?'.
std::string escape_xml(std::string_view text);

// A coordinate, to a hundredth of a pixel.
std::string pixels(double coordinate);

// About how wide the text is in a sans-serif font.
double text_width(std::string_view text, double font_size);

class SvgWriter {
 public:
  // The image's white background lies below all; `description` is for those who do not see it.
  SvgWriter(double width, double height, std::string_view description);

  void text(PixelPoint at, std::string_view text, const TextStyle& style);
  // With a tooltip where it is not empty, as for the following.
  void line(PixelPoint from, PixelPoint to, const LineStyle& style, std::string_view tooltip = {});
  // A closed path, in SVG's words for paths, relative to `at`.
  void shape(PixelPoint at, std::string_view path, std::string_view fill, std::string_view tooltip = {});
  // A box of one colour.
  void box(PixelPoint corner, double width, double height, std::string_view fill);

  // Ends the image.
  std::string finish();

 private:
  void tooltip(std::string_view text);

  std::string svg_;
};

// The path of a marker about its middle; `kind` counts from 0, and eight differ.
std::string marker_path(int kind, double radius);

}  // namespace blco
