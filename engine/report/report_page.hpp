// What the pages about models and tensors share: the page that shows them, and modes in its JSON.
#pragma once

#include <algorithm>
#include <blco/export_text.hpp>
#include <blco/labels.hpp>
#include <blco/model.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace blco {

// tools/report/page.html says what the page reads of it. Numbers that are not finite are null, and bytes that are not
// UTF-8 become U+FFFD.
using Json = nlohmann::ordered_json;

inline constexpr std::size_t named_peaks = 5;  // below a line
inline constexpr std::size_t max_points = 200;

// Its bar would be.
inline bool is_invisible(double number, double largest) { return std::abs(number) < std::abs(largest) / 100; }

// At most max_points of the numbers at(0), ..., each the one of largest magnitude of its part: 0 at `low`, 1000 at
// `high`.
template <class At>
Json points_of(std::uint64_t length, double low, double high, const At& at) {
  const auto count = static_cast<std::size_t>(length);
  std::vector<double> points(std::min(count, max_points));
  for (std::size_t i = 0; i < count; ++i) {
    double& point = points[i * points.size() / count];
    if (std::abs(at(i)) > std::abs(point)) point = at(i);
  }
  Json heights = Json::array();
  for (const double point : points)
    heights.push_back(std::lround(high > low ? 1000 * (point - low) / (high - low) : 0));
  return heights;
}

// How a mode and its indices are called, whether numbers along it are a line, and the scale of its plots.
struct PageMode {
  std::string name;
  std::uint64_t length = 0;
  Labels labels;
  int index_base = 1;
  bool is_line = false;
  double low = 0;  // of all entries of its factor, and 0
  double high = 0;

  void set_scale(const std::vector<double>& factor);
  std::string name_of(std::uint64_t row) const;
  // Of a column of the row-major factor: its line, if it is one, and those of its largest entries that can be seen.
  Json column(const std::vector<double>& factor, std::size_t columns, std::size_t column,
              const std::vector<FactorEntry>& largest) const;
};

// Of a model or a tensor, whose names and labels may be fewer than its modes. Throws Error{invalid_argument} for an
// index base that is neither 0 nor 1.
std::vector<PageMode> page_modes(const std::vector<std::uint64_t>& shape, const std::vector<std::string>& names,
                                 const std::vector<Labels>& labels, int index_base);

// Such as a title: cut between characters where it is long.
std::string shortened(std::string_view text);

// Writes the page with its JSON: `head`, to which it adds the modes, and the `parts`, made one at a time.
void write_page(const TextSink& sink, Json head, const std::vector<PageMode>& modes, std::size_t parts,
                const std::function<Json(std::size_t)>& part);

// Writes a page that appears, or replaces an older one, only when it is complete.
void write_page_file(const std::filesystem::path& output, const std::function<void(const TextSink&)>& write);

}  // namespace blco
