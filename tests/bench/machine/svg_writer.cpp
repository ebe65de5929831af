#include "tests/bench/machine/svg_writer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

namespace blco {
namespace {

// How many bytes the UTF-8 character at the start of `text` has; 0 if there is none that XML allows.
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return first >= 0x20 || first == '\t' || first == '\n' ? 1 : 0;
  const std::size_t size = first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 0;
  if (size == 0 || size > text.size()) return 0;
  std::uint32_t code = first & (0x7fU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if (byte(i) >> 6 != 2) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr std::array<std::uint32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  const bool is_character =
      code >= least[size] && code <= 0x10ffff && !is_surrogate && code != 0xfffe && code != 0xffff;
  return is_character ? size : 0;
}

std::string_view entity_of(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

struct Attribute {
  std::string_view name;
  std::string value;
};

void append(std::string& svg, std::string_view element, std::initializer_list<Attribute> attributes) {
  svg.append("<").append(element);
  for (const Attribute& attribute : attributes) {
    if (!attribute.value.empty()) svg.append(" ").append(attribute.name).append("=\"").append(attribute.value) += '"';
  }
}

// Corners on a circle, alternating with others on an inner one where `inner` is below 1. The first is at the top,
// turned by `turn` of a corner.
std::string star_path(int corners, double radius, double inner, double turn) {
  std::string path;
  const int points = inner < 1 ? 2 * corners : corners;
  for (int i = 0; i < points; ++i) {
    const double angle = 2 * std::numbers::pi * (i + turn) / points;
    const double distance = inner < 1 && i % 2 == 1 ? radius * inner : radius;
    path += path.empty() ? 'M' : 'L';
    path += pixels(distance * std::sin(angle)) + ' ' + pixels(-distance * std::cos(angle));
  }
  return path + 'Z';
}

}  // namespace

std::string escape_xml(std::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    const std::size_t size = character_bytes(text);
    const std::string_view entity = entity_of(text.front());
    escaped += size == 0 ? "?" : entity.empty() ? text.substr(0, size) : entity;
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return escaped;
}

std::string pixels(double coordinate) {
  constexpr double most = 1e6;
  std::array<char, 32> text{};
  // Zero is added so that nothing is "-0".
  const double rounded = std::round(std::clamp(coordinate, -most, most) * 100) / 100 + 0.0;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), rounded).ptr};
}

double text_width(std::string_view text, double font_size) {
  const auto characters = std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) >> 6) != 2; });
  return 0.56 * font_size * static_cast<double>(characters);
}

SvgWriter::SvgWriter(double width, double height, std::string_view description) {
  append(svg_, "svg",
         {{"xmlns", "http://www.w3.org/2000/svg"},
          {"viewBox", "0 0 " + pixels(width) + ' ' + pixels(height)},
          {"width", pixels(width)},
          {"height", pixels(height)},
          {"font-family", "Inter, Helvetica, Arial, Liberation Sans, sans-serif"},
          {"role", "img"},
          {"aria-label", escape_xml(description)}});
  svg_ += ">\n";
  box({0, 0}, width, height, "#ffffff");
}

void SvgWriter::text(PixelPoint at, std::string_view text, const TextStyle& style) {
  append(
      svg_, "text",
      {{"x", pixels(at.x)},
       {"y", pixels(at.y)},
       {"font-size", pixels(style.size)},
       {"font-weight", style.is_bold ? "600" : ""},
       {"fill", style.colour},
       {"text-anchor", style.anchor == std::string_view("start") ? "" : style.anchor},
       {"transform",
        style.degrees == 0 ? "" : "rotate(" + pixels(style.degrees) + ' ' + pixels(at.x) + ' ' + pixels(at.y) + ')'}});
  if (style.has_halo) svg_ += " stroke=\"#ffffff\" stroke-width=\"3\" stroke-linejoin=\"round\" paint-order=\"stroke\"";
  svg_.append(">").append(escape_xml(text)).append("</text>\n");
}

void SvgWriter::tooltip(std::string_view text) {
  if (text.empty()) {
    svg_ += "/>\n";
  } else {
    svg_.append("><title>").append(escape_xml(text)).append("</title>");
  }
}

void SvgWriter::line(PixelPoint from, PixelPoint to, const LineStyle& style, std::string_view tip) {
  append(svg_, "line",
         {{"x1", pixels(from.x)},
          {"y1", pixels(from.y)},
          {"x2", pixels(to.x)},
          {"y2", pixels(to.y)},
          {"stroke", style.colour},
          {"stroke-width", pixels(style.width)},
          {"stroke-linecap", style.width > 1 ? "round" : ""}});
  tooltip(tip);
  if (!tip.empty()) svg_ += "</line>\n";
}

void SvgWriter::shape(PixelPoint at, std::string_view path, std::string_view fill, std::string_view tip) {
  append(svg_, "path",
         {{"transform", "translate(" + pixels(at.x) + ' ' + pixels(at.y) + ')'},
          {"d", std::string(path)},
          {"fill", std::string(fill)},
          {"stroke", tip.empty() ? "" : "#ffffff"}});
  tooltip(tip);
  if (!tip.empty()) svg_ += "</path>\n";
}

void SvgWriter::box(PixelPoint corner, double width, double height, std::string_view fill) {
  append(svg_, "rect",
         {{"x", pixels(corner.x)},
          {"y", pixels(corner.y)},
          {"width", pixels(width)},
          {"height", pixels(height)},
          {"fill", std::string(fill)}});
  svg_ += "/>\n";
}

std::string SvgWriter::finish() { return std::move(svg_) + "</svg>\n"; }

std::string marker_path(int kind, double radius) {
  const std::string r = pixels(0.95 * radius);
  const std::string two = pixels(2 * 0.95 * radius);
  switch (kind % 8) {
    case 0:
      return "M-" + r + " 0a" + r + ' ' + r + " 0 1 0 " + two + " 0a" + r + ' ' + r + " 0 1 0 -" + two + " 0Z";
    case 1:
      return star_path(4, 1.2 * radius, 1, 0.5);
    case 2:
      return star_path(3, 1.3 * radius, 1, 0);
    case 3:
      return star_path(4, 1.25 * radius, 1, 0);
    case 4:
      return star_path(3, 1.3 * radius, 1, 1.5);
    case 5:
      return star_path(5, 1.4 * radius, 0.45, 0);
    case 6:
      return star_path(6, 1.1 * radius, 1, 0);
    default:
      return star_path(4, 1.4 * radius, 0.45, 1);
  }
}

}  // namespace blco
