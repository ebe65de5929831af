// What pages of HTML about models and tensors are made of. Texts are escaped already, unless it says otherwise.
#pragma once

#include <algorithm>
#include <blco/export_text.hpp>
#include <blco/labels.hpp>
#include <blco/output_claims.hpp>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace blco {

inline constexpr std::size_t named_peaks = 5;  // below a line

std::string rounded(double number, int digits = 4, std::chars_format format = std::chars_format::general);
std::string percent(double share);
// Three decimals, where that says something and is short.
std::string in_columns(double number);
// "950", "12.3k", "-4.56M".
std::string short_number(double number);
// Fit for any place of the page, whatever bytes the text has: what controls, and what is not UTF-8, becomes U+FFFD.
std::string escaped(std::string_view text, std::size_t longest = std::string_view::npos);

// How a mode and its indices are called, and whether numbers along it are a line.
struct PageMode {
  std::string name;
  Labels labels;
  int index_base = 1;
  bool is_line = false;

  std::string name_of(std::uint64_t row) const;
  // Of a list of rows whose names are name_of(). Bars have one scale, so all lists of a mode have columns of one width.
  std::string list_start() const;
};

// Of a model or a tensor, whose names and labels may be fewer than its modes. Throws Error{invalid_argument} for an
// index base that is neither 0 nor 1.
std::vector<PageMode> page_modes(const std::vector<std::uint64_t>& shape, const std::vector<std::string>& names,
                                 const std::vector<Labels>& labels, int index_base);

// A list of names and values.
class PageFacts {
 public:
  void add(const char* name, const std::string& value);
  void add_shape(const char* name, const std::vector<std::uint64_t>& lengths, const std::vector<PageMode>& modes);
  std::string list() const { return "<dl>\n" + list_ + "</dl>\n"; }

 private:
  std::string list_;
};

// A line through `points`, from `low` at the bottom to `high` at the top. Its box is stretched to what the page has.
std::string line_of(std::span<const double> points, double low, double high, const std::string& description);
std::string axis(const std::string& first, const std::string& last);

struct PlotPoint {
  double x = 0;  // 0 to 1
  double y = 0;
};
// A dot per point, but one for those that lie together. The points `named`, at most nine, have the marks ①, ②, ...
std::string scatter_of(std::span<const PlotPoint> points, std::span<const std::size_t> named,
                       const std::string& description);
std::string mark_of(std::size_t number);
// A row of cells, each the fuller of colour the nearer its number, 0 to 1, is to 1.
std::string cells_of(std::span<const double> numbers);
// A number per sweep; empty where there is no line to be drawn.
std::string history_of(const std::vector<double>& history, const std::string& name);

inline constexpr std::size_t max_points = 200;

// At most max_points of them, each the one of largest magnitude of its part.
template <class At>
std::vector<double> thinned(std::size_t count, const At& at) {
  const std::size_t kept = std::min(count, max_points);
  std::vector<double> points(kept);
  for (std::size_t i = 0; i < count; ++i) {
    double& point = points[i * kept / count];
    if (std::abs(at(i)) > std::abs(point)) point = at(i);
  }
  return points;
}

// The line of at(i), for each index of the mode.
template <class At>
std::string line_along(const PageMode& mode, std::uint64_t length, double low, double high, const At& at) {
  const std::vector<double> points = thinned(static_cast<std::size_t>(length), at);
  return line_of(points, low, high, mode.name) + "\n" + axis(mode.name_of(0), mode.name_of(length - 1)) + "\n";
}

// A row of a list: a bar of `size`, a share of the longest; what stands behind it, and perhaps `more`.
std::string bar_row(const std::string& name, double size, bool is_minus, const std::string& number,
                    const std::string& more = "");

// The page from its beginning to where its parts, each an <article>, begin. `parts` is what these are called;
// `has_more`: some rows have two numbers. `title` is not escaped.
std::string page_start(const std::string& title, const std::string& facts, const std::string& guide, const char* parts,
                       bool has_more);
std::string page_end();

// Writes a page that appears, or replaces an older one, only when it is complete.
void write_page(const std::filesystem::path& output, const OutputClaims* claims,
                const std::function<void(const TextSink&)>& write);

}  // namespace blco
