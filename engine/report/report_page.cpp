// The page's style and script, and its parts.
#include "engine/report/report_page.hpp"

#include <array>
#include <optional>
#include <set>

#include "blco/error.hpp"
#include "engine/common/number_text.hpp"
#include "io/file/output_file.hpp"
#include "io/file/temporary_file.hpp"
#include "io/table/number_bins.hpp"
#include "io/text/quoted_text.hpp"

namespace blco {
namespace {

constexpr std::uint64_t longest_line_of_numbers = 1000;
constexpr std::size_t longest_label = 120;  // bytes

// Nothing on the page comes from elsewhere, which the policy makes sure of.
constexpr std::string_view head = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<style>
:root { --paper: #fff; --ink: #1d2126; --pale: #5d6670; --rule: #d9dee3; --bar: #2f6fb2; --minus: #b8532f; --hit: #ffe58a }
@media (prefers-color-scheme: dark) {
  :root { --paper: #15181b; --ink: #e6e8ea; --pale: #9aa4ae; --rule: #343a40; --bar: #6aa9e6; --minus: #e5906c; --hit: #6b5700 }
}
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 76rem; padding: 1rem; background: var(--paper); color: var(--ink); font: 1rem/1.4 system-ui, sans-serif }
h1 { font-size: 1.5rem; margin: 0 0 1rem; overflow-wrap: anywhere }
h2 { font-size: 1.15rem; margin: 0 0 .5rem }
h3 { font-size: 1rem; margin: 0 0 .25rem; overflow-wrap: anywhere }
small, figcaption, .axis, footer { color: var(--pale); font-size: .85rem; font-weight: normal }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 0 }
dt { color: var(--pale) }
dd { margin: 0; overflow-wrap: anywhere }
figure { margin: 1rem 0 }
svg { display: block; width: 100%; height: 4rem; border-bottom: 1px solid var(--rule); overflow: visible }
figure svg { height: 8rem }
path { fill: none; stroke: var(--bar); stroke-width: 2; vector-effect: non-scaling-stroke; stroke-linejoin: round }
path.dots { stroke-width: 5; stroke-linecap: round }
path.named { stroke: var(--minus) }
.scatter { position: relative; margin-top: 1.5rem }
.scatter svg { height: 10rem; border-left: 1px solid var(--rule) }
.scatter span { position: absolute; letter-spacing: .15em; text-shadow: 0 0 3px var(--paper), 0 0 3px var(--paper), 0 0 3px var(--paper) }
table { width: 100%; border-spacing: 0 .15rem; font-size: .9rem }
th { color: var(--pale); font-weight: normal }
th, td { text-align: left; padding: 0 1rem 0 0; font-variant-numeric: tabular-nums }
td:last-child { width: 100%; padding: 0 }
td svg { height: 1.1rem; border: 0 }
rect { fill: var(--bar) }
details { margin: .75rem 0 }
summary { cursor: pointer; font-size: 1.15rem; font-weight: bold }
path.zero { stroke: var(--rule); stroke-width: 1 }
.axis { display: flex; justify-content: space-between; gap: 1rem }
.search { position: sticky; top: 0; z-index: 1; padding: .5rem 0; background: var(--paper) }
input { font: inherit; width: min(100%, 24rem); padding: .35rem .6rem }
article { border-top: 1px solid var(--rule); padding: 1rem 0; content-visibility: auto; contain-intrinsic-size: auto 24rem }
article[hidden] { display: none }
.modes { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 16rem), 1fr)); gap: 1rem 2rem }
section { min-width: 0 }
article > ol { max-width: 40rem }
ol { list-style: none; margin: .25rem 0 0; padding: 0 }
li { display: grid; grid-template-columns: minmax(0, 5fr) minmax(0, 4fr) 3.2em; gap: .5em; align-items: center; font-size: .9rem }
.lifts li { grid-template-columns: minmax(0, 7fr) minmax(0, 3fr) 3.2em 3.1em }
.short li { grid-template-columns: 6em minmax(0, 1fr) 3.2em }
.lifts .short li { grid-template-columns: 6em minmax(0, 1fr) 3.2em 3.1em }
bdi { overflow-wrap: anywhere }
bdi.hit { background: var(--hit) }
i { display: block; height: .7rem; min-width: 1px; background: var(--bar) }
i.minus { background: var(--minus) }
b, em { font-weight: normal; font-style: normal; text-align: right; font-variant-numeric: tabular-nums }
em { color: var(--pale) }
</style>
)";

constexpr std::string_view script = R"(<script>
const box = document.querySelector("input"), found = document.querySelector("output");
const cards = [...document.querySelectorAll("article")];
let labels;
box.addEventListener("input", () => {
  const word = box.value.trim().toLowerCase();
  labels ??= cards.map(card => [...card.querySelectorAll("bdi")].map(label => [label, label.textContent.toLowerCase()]));
  let shown = 0;
  cards.forEach((card, i) => {
    let hits = 0;
    for (const [label, text] of labels[i]) {
      const hit = word !== "" && text.includes(word);
      label.classList.toggle("hit", hit);
      hits += hit;
    }
    card.hidden = word !== "" && hits === 0;
    shown += !card.hidden;
  });
  found.textContent = word === "" ? "" : `${shown} of ${cards.length} ${document.querySelector("main").dataset.parts}`;
});
</script>
)";

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

}  // namespace

std::string rounded(double number, int digits, std::chars_format format) {
  std::array<char, 512> text;  // holds the largest number in full
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number, format, digits).ptr};
}

std::string percent(double share) { return rounded(100 * share, 1, std::chars_format::fixed) + "%"; }

std::string in_columns(double number) {
  const bool is_usual = std::abs(number) >= 0.001 && std::abs(number) < 100;
  return is_usual ? rounded(number, 3, std::chars_format::fixed) : rounded(number, 3);
}

std::string short_number(double number) {
  static constexpr std::array<const char*, 5> units = {"", "k", "M", "G", "T"};
  std::size_t unit = 0;
  for (; std::abs(number) >= 999.5 && unit + 1 < units.size(); ++unit) number /= 1000;
  return rounded(number, 3) + units[unit];
}

std::string escaped(std::string_view text, std::size_t longest) {
  static constexpr std::string_view unknown = "\xef\xbf\xbd";
  std::string page;
  std::size_t valid = find_invalid_utf8(text).value_or(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (at >= longest && (byte & 0xc0) != 0x80) return page + "\xe2\x80\xa6";  // an ellipsis
    if (at == valid) {
      page += unknown;
      valid = at + 1 + find_invalid_utf8(text.substr(at + 1)).value_or(text.size());
    } else if (byte == '&' || byte == '<' || byte == '>' || byte == '"' || byte == '\'') {
      page += "&#" + std::to_string(byte) + ";";
    } else if (byte < 0x20 || byte == 0x7f) {
      page += unknown;
    } else {
      page += text[at];
    }
  }
  return page;
}

std::string PageMode::name_of(std::uint64_t row) const {
  return labels.empty() ? std::to_string(row + static_cast<std::uint64_t>(index_base))
                        : escaped(labels[row], longest_label);
}

std::string PageMode::list_start() const { return labels.empty() ? "<ol class=\"short\">\n" : "<ol>\n"; }

std::vector<PageMode> page_modes(const std::vector<std::uint64_t>& shape, const std::vector<std::string>& names,
                                 const std::vector<Labels>& labels, int index_base) {
  check_index_base(index_base);
  std::vector<PageMode> modes;
  for (std::size_t n = 0; n < shape.size(); ++n) {
    PageMode mode{.name = "mode " + std::to_string(n), .labels = {}, .index_base = index_base};
    if (n < names.size() && !names[n].empty()) mode.name = escaped(names[n]);
    if (n < labels.size()) mode.labels = labels[n];
    mode.is_line = mode.labels.empty() ? shape[n] >= 3 && shape[n] <= longest_line_of_numbers : is_ordered(mode.labels);
    modes.push_back(std::move(mode));
  }
  return modes;
}

void PageFacts::add(const char* name, const std::string& value) {
  list_.append("<dt>").append(name).append("</dt><dd>").append(value).append("</dd>\n");
}

void PageFacts::add_shape(const char* name, const std::vector<std::uint64_t>& lengths,
                          const std::vector<PageMode>& modes) {
  std::string shape;
  for (std::size_t n = 0; n < modes.size(); ++n) {
    shape += (n == 0 ? "" : " × ") + std::to_string(lengths[n]) + " " + modes[n].name;
  }
  add(name, shape);
}

std::string line_of(std::span<const double> points, double low, double high, const std::string& description) {
  const std::string right = std::to_string(std::max<std::size_t>(points.size(), 2) - 1);
  std::string svg = "<svg viewBox=\"0 0 " + right + " 100\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"" +
                    description + "\">";
  const auto height = [&](double point) {
    return std::to_string(std::lround(100 - 100 * (high > low ? (point - low) / (high - low) : 0.0)));
  };
  if (low < 0 && high > 0) svg += "<path class=\"zero\" d=\"M0 " + height(0) + "H" + right + "\"/>";
  svg += "<path d=\"";
  for (std::size_t i = 0; i < points.size(); ++i) {
    svg.append(i == 0 ? "M" : " ").append(std::to_string(i)).append(1, ' ').append(height(points[i]));
  }
  return svg + "\"/></svg>";
}

std::string axis(const std::string& first, const std::string& last) {
  return "<div class=\"axis\"><span>" + first + "</span><span>" + last + "</span></div>";
}

namespace {

// Marks that would cover each other, and so stand in one place.
struct MarkGroup {
  PlotPoint place;  // of the first of them
  std::set<std::size_t> numbers;

  bool covers(const MarkGroup& other) const {
    constexpr double mark_width = 0.08;
    constexpr double mark_height = 0.13;
    // Within the plot: to the right of a point on its left half, else to the left.
    const auto left_of = [](const MarkGroup& group) {
      return group.place.x - (group.place.x > 0.5 ? mark_width * static_cast<double>(group.numbers.size()) : 0.0);
    };
    const double left = left_of(*this);
    const double other_left = left_of(other);
    return left < other_left + mark_width * static_cast<double>(other.numbers.size()) &&
           other_left < left + mark_width * static_cast<double>(numbers.size()) &&
           std::abs(place.y - other.place.y) < mark_height;
  }
};

std::string marks_at(std::span<const PlotPoint> points, std::span<const std::size_t> named) {
  std::vector<MarkGroup> groups;
  for (std::size_t i = 0; i < named.size(); ++i) {
    MarkGroup added{points[named[i]], {i}};
    const auto is_covered = [&](const MarkGroup& group) { return group.covers(added); };
    for (auto at = groups.begin(); (at = std::ranges::find_if(groups, is_covered)) != groups.end(); groups.erase(at)) {
      added.place = at->place;
      added.numbers.merge(at->numbers);
    }
    groups.push_back(added);
  }
  std::string marks;
  for (const auto& [place, numbers] : groups) {
    const std::string side = place.x > 0.5 ? "right:" + percent(1 - place.x) : "left:" + percent(place.x);
    marks += "<span style=\"" + side + ";bottom:" + percent(place.y) + "\">";
    for (const std::size_t number : numbers) marks += mark_of(number);
    marks += "</span>";
  }
  return marks;
}

}  // namespace

std::string mark_of(std::size_t number) { return std::string("\xe2\x91") + static_cast<char>(0xa0 + number); }

std::string scatter_of(std::span<const PlotPoint> points, std::span<const std::size_t> named,
                       const std::string& description) {
  static constexpr std::size_t columns = 160;
  static constexpr std::size_t rows = 80;
  // The strokes' round ends are the dots.
  const auto dot = [](std::size_t x, std::size_t y) {
    return std::string(1, 'M').append(std::to_string(x)).append(1, ' ').append(std::to_string(rows - y)).append("h0");
  };
  const auto place = [](const PlotPoint& point) {
    return std::pair(static_cast<std::size_t>(std::lround(point.x * columns)),
                     static_cast<std::size_t>(std::lround(point.y * rows)));
  };
  std::vector<bool> is_taken((columns + 1) * (rows + 1));
  std::string svg = "<svg viewBox=\"0 0 " + std::to_string(columns) + " " + std::to_string(rows) +
                    "\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"" + description +
                    "\"><path class=\"dots\" d=\"";
  for (const PlotPoint& point : points) {
    const auto [x, y] = place(point);
    if (is_taken[y * (columns + 1) + x]) continue;
    is_taken[y * (columns + 1) + x] = true;
    svg += dot(x, y);
  }
  svg += "\"/><path class=\"dots named\" d=\"";
  for (const std::size_t at : named) {
    const auto [x, y] = place(points[at]);
    svg += dot(x, y);
  }
  return "<div class=\"scatter\">" + svg + "\"/></svg>" + marks_at(points, named) + "</div>";
}

std::string cells_of(std::span<const double> numbers) {
  std::string svg = "<svg viewBox=\"0 0 " + std::to_string(numbers.size()) + " 1\" preserveAspectRatio=\"none\">";
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    svg += "<rect x=\"" + std::to_string(i) + "\" width=\"1\" height=\"1\" fill-opacity=\"" +
           rounded(std::clamp(numbers[i], 0.0, 1.0), 2, std::chars_format::fixed) + "\"/>";
  }
  return svg + "</svg>";
}

std::string history_of(const std::vector<double>& history, const std::string& name) {
  if (history.size() < 2 || !std::ranges::all_of(history, [](double number) { return std::isfinite(number); })) {
    return "";
  }
  // The last of each part, so that the line ends where the fit did.
  std::vector<double> points(std::min(history.size(), max_points));
  for (std::size_t i = 0; i < history.size(); ++i) points[i * points.size() / history.size()] = history[i];
  const auto [low, high] = std::ranges::minmax(points);
  return "<figure>\n<figcaption>" + name + " by sweep, from " + rounded(low, 6) + " to " + rounded(high, 6) +
         "</figcaption>\n" + line_of(points, low, high, name + " by sweep") + "\n" +
         axis("sweep 1: " + rounded(history.front(), 6),
              "sweep " + std::to_string(history.size()) + ": " + rounded(history.back(), 6)) +
         "\n</figure>\n";
}

std::string bar_row(const std::string& name, double size, bool is_minus, const std::string& number,
                    const std::string& more) {
  return "<li><bdi>" + name + "</bdi><i" + (is_minus ? " class=\"minus\"" : "") + " style=\"width:" + percent(size) +
         "\"></i><b>" + number + "</b>" + more + "</li>\n";
}

std::string page_start(const std::string& title, const std::string& facts, const std::string& guide, const char* parts,
                       bool has_more) {
  const std::string shown = escaped(title);
  return std::string(head) + "<title>" + shown + "</title>\n</head>\n<body>\n<h1>" + shown + "</h1>\n" + facts +
         "<p><small>" + guide +
         "</small></p>\n<div class=\"search\"><input type=\"search\" placeholder=\"Find a label\" "
         "aria-label=\"Find a label\"> <output></output></div>\n<main data-parts=\"" +
         parts + (has_more ? "\" class=\"lifts\">\n" : "\">\n");
}

std::string page_end() {
  return std::string("</main>\n<footer>blco</footer>\n") + std::string(script) + "</body>\n</html>\n";
}

void write_page(const std::filesystem::path& output, const OutputClaims* claims,
                const std::function<void(const TextSink&)>& write) {
  TemporaryFile file(output, claims == nullptr ? nullptr : claims->find(output));
  OutputFile page(file.path(), output);
  write([&](std::string_view text) { page.write(text); });
  page.close();
  file.publish();
}

}  // namespace blco
