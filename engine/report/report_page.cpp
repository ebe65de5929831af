// What a label and a mode look like, and the page around its JSON.
#include "engine/report/report_page.hpp"

#include <array>
#include <charconv>
#include <optional>

#include "engine/common/number_text.hpp"
#include "io/file/output_file.hpp"
#include "io/file/temporary_file.hpp"
#include "io/table/number_bins.hpp"

namespace blco {

extern const std::string_view page_html;  // tools/report/page.html, by engine/CMakeLists.txt

namespace {

constexpr std::uint64_t longest_line_of_numbers = 1000;
constexpr std::size_t longest_label = 120;  // bytes

std::optional<double> number_of(std::string_view label) {
  double number = 0;
  const auto [end, failure] = std::from_chars(label.data(), label.data() + label.size(), number);
  const bool whole = failure == std::errc{} && end == label.data() + label.size();
  return whole && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

// Such as 2024-05-01, 2024-W18 or 07; as text they are in the order of time.
bool is_time(std::string_view label) {
  return label.front() >= '0' && label.front() <= '9' &&
         label.find_first_not_of("0123456789-:TWQZ ") == std::string_view::npos;
}

std::optional<double> weekday_of(std::string_view label) {
  static constexpr std::array<std::string_view, 7> days = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                                           "Friday", "Saturday", "Sunday"};
  const auto day = std::ranges::find(days, label);
  return day == days.end() ? std::nullopt : std::optional(static_cast<double>(day - days.begin()));
}

// Whether all labels are of this kind and rise from one to the next.
template <class Place>
bool rises(const Labels& labels, const Place& place) {
  auto last = place(labels[0]);
  for (std::uint64_t i = 1; last && i < labels.size(); ++i) {
    auto next = place(labels[i]);
    if (!next || !(*last < *next)) return false;
    last = next;
  }
  return last.has_value();
}

bool is_ordered(const Labels& labels) {
  if (labels.size() < 3) return false;
  if (rises(labels, [](std::string_view label) { return is_time(label) ? std::optional(label) : std::nullopt; })) {
    return true;
  }
  return rises(labels, weekday_of) || NumberBins::of_labels(labels, labels.size()) ||
         (labels.size() <= longest_line_of_numbers && rises(labels, number_of));
}

// Without "<", of which no text of the page's JSON may have any, lest it ends the element that it is in.
std::string text_of(const Json& json) {
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  for (std::size_t at = 0; (at = text.find('<', at)) != std::string::npos;) text.replace(at, 1, "\\u003c");
  return text;
}

Json json_of(const PageMode& mode) {
  Json json{{"name", mode.name}, {"length", mode.length}, {"low", mode.low}, {"high", mode.high}};
  if (mode.is_line) {
    const std::uint64_t last = mode.length - 1;
    json["ticks"] = Json::array({mode.name_of(0), mode.name_of(last / 2), mode.name_of(last)});
  }
  return json;
}

}  // namespace

std::string shortened(std::string_view text) {
  std::size_t end = std::min(longest_label, text.size());
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) ++end;
  return std::string(text.substr(0, end)) + (end < text.size() ? "…" : "");
}

std::string PageMode::name_of(std::uint64_t row) const {
  return labels.empty() ? std::to_string(row + static_cast<std::uint64_t>(index_base)) : shortened(labels[row]);
}

void PageMode::set_scale(const std::vector<double>& factor) {
  const auto [least, most] = std::ranges::minmax(factor);
  low = std::min(least, 0.0);
  high = std::max(most, 0.0);
}

Json PageMode::column(const std::vector<double>& factor, std::size_t columns, std::size_t column,
                      const std::vector<FactorEntry>& largest) const {
  Json json;
  const auto at = [&](std::size_t i) { return factor[i * columns + column]; };
  if (is_line) json["points"] = points_of(length, low, high, at);
  Json& top = json["top"] = Json::array();
  for (const FactorEntry& entry : largest) {
    if (is_invisible(entry.value, largest.front().value) || (is_line && top.size() == named_peaks)) break;
    top.push_back(Json::array({name_of(entry.row), entry.value}));
  }
  return json;
}

std::vector<PageMode> page_modes(const std::vector<std::uint64_t>& shape, const std::vector<std::string>& names,
                                 const std::vector<Labels>& labels, int index_base) {
  check_index_base(index_base);
  std::vector<PageMode> modes;
  for (std::size_t n = 0; n < shape.size(); ++n) {
    PageMode mode{.name = "mode " + std::to_string(n), .length = shape[n], .labels = {}, .index_base = index_base};
    if (n < names.size() && !names[n].empty()) mode.name = names[n];
    if (n < labels.size()) mode.labels = labels[n];
    mode.is_line = mode.labels.empty() ? shape[n] >= 3 && shape[n] <= longest_line_of_numbers : is_ordered(mode.labels);
    modes.push_back(std::move(mode));
  }
  return modes;
}

void write_page(const TextSink& sink, Json head, const std::vector<PageMode>& modes, std::size_t parts,
                const std::function<Json(std::size_t)>& part) {
  static constexpr std::string_view place = "@DATA@";
  const std::size_t at = page_html.find(place);
  for (const PageMode& mode : modes) head["modes"].push_back(json_of(mode));
  std::string text = text_of(head);
  text.pop_back();
  sink(page_html.substr(0, at));
  sink(text + ",\n\"parts\":[\n");
  for (std::size_t i = 0; i < parts; ++i) sink(text_of(part(i)) + (i + 1 < parts ? ",\n" : "\n"));
  sink("]}");
  sink(page_html.substr(at + place.size()));
}

void write_page_file(const std::filesystem::path& output, const std::function<void(const TextSink&)>& write) {
  TemporaryFile file(output);
  OutputFile page(file.path(), output);
  write([&](std::string_view text) { page.write(text); });
  page.close();
  file.publish();
}

}  // namespace blco
