// Writes a model as one page of HTML.
#include <algorithm>
#include <array>
#include <blco/cpd_method.hpp>
#include <blco/model_summary.hpp>
#include <blco/nonzeros.hpp>
#include <blco/report.hpp>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/common/number_text.hpp"
#include "engine/model/model_check.hpp"
#include "io/file/output_file.hpp"
#include "io/file/temporary_file.hpp"
#include "io/table/number_bins.hpp"
#include "io/text/quoted_text.hpp"

namespace blco {
namespace {

constexpr std::size_t max_points = 200;
constexpr std::uint64_t longest_line_of_numbers = 1000;
constexpr std::size_t longest_label = 120;  // bytes
constexpr std::size_t named_peaks = 5;      // below a line

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
path.zero { stroke: var(--rule); stroke-width: 1 }
.axis { display: flex; justify-content: space-between; gap: 1rem }
.search { position: sticky; top: 0; z-index: 1; padding: .5rem 0; background: var(--paper) }
input { font: inherit; width: min(100%, 24rem); padding: .35rem .6rem }
article { border-top: 1px solid var(--rule); padding: 1rem 0; content-visibility: auto; contain-intrinsic-size: auto 24rem }
article[hidden] { display: none }
.modes { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 16rem), 1fr)); gap: 1rem 2rem }
section { min-width: 0 }
ol { list-style: none; margin: .25rem 0 0; padding: 0 }
li { display: grid; grid-template-columns: minmax(0, 5fr) minmax(0, 4fr) 3.2em; gap: .5em; align-items: center; font-size: .9rem }
.lifts li { grid-template-columns: minmax(0, 5fr) minmax(0, 3fr) 3.2em 3.1em }
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
  found.textContent = word === "" ? "" : `${shown} of ${cards.length} components`;
});
</script>
)";

std::string rounded(double number, int digits = 4, std::chars_format format = std::chars_format::general) {
  std::array<char, 512> text;  // holds the largest number in full
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number, format, digits).ptr};
}

std::string percent(double share) { return rounded(100 * share, 1, std::chars_format::fixed) + "%"; }

// Three decimals, where that says something and is short.
std::string in_columns(double number) {
  const bool is_usual = std::abs(number) >= 0.001 && std::abs(number) < 100;
  return is_usual ? rounded(number, 3, std::chars_format::fixed) : rounded(number, 3);
}

// Fit for any place of the page, whatever bytes the text has: what controls, and what is not UTF-8, becomes U+FFFD.
std::string escaped(std::string_view text, std::size_t longest = std::string_view::npos) {
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

struct ModePlot {
  std::string name;  // escaped
  Labels labels = {};
  double low = 0;  // of all columns, and 0
  double high = 0;
  bool is_line = false;
  std::vector<double> sums;         // of each column's magnitudes
  std::vector<double> shares = {};  // of each index in the magnitudes of the tensor; empty: unknown
};

void check_tensor(const CpdModel& model, const Tensor& tensor) {
  if (tensor.shape() != model.shape) {
    refuse("the tensor has the shape " + shape_text(tensor.shape()) + ", but the model " + shape_text(model.shape) +
           "; give the tensor that was fitted");
  }
  const std::vector<Labels> labels = tensor.labels();
  for (std::size_t n = 0; n < labels.size() && n < model.labels.size(); ++n) {
    if (!labels[n].empty() && !model.labels[n].empty() && labels[n] != model.labels[n]) {
      refuse("the labels of mode " + std::to_string(n) +
             " are others in the tensor than in the model; give the tensor that was fitted");
    }
  }
}

void add_shares(std::vector<ModePlot>& plots, const CpdModel& model, const ReportOptions& options,
                const ProgressCallback& progress) {
  check_tensor(model, *options.tensor);
  for (std::size_t n = 0; n < plots.size(); ++n) plots[n].shares.resize(static_cast<std::size_t>(model.shape[n]));
  double total = 0;
  const auto visit = [&](const NonzeroBlock& block) {
    for (std::size_t i = 0; i < block.count(); ++i) {
      const double size = std::abs(block.values[i]);
      total += size;
      for (std::size_t n = 0; n < plots.size(); ++n) plots[n].shares[block.coordinates[n][i]] += size;
    }
    return true;
  };
  for_each_nonzero(*options.tensor, visit, {.memory_bytes = options.memory_bytes, .threads = options.threads},
                   progress);
  for (ModePlot& plot : plots) {
    for (double& share : plot.shares) share /= total;
  }
}

ModePlot make_plot(const CpdModel& model, std::size_t n) {
  const auto rank = static_cast<std::size_t>(model.rank);
  ModePlot plot{.name = "mode " + std::to_string(n), .sums = std::vector<double>(rank)};
  if (n < model.mode_names.size() && !model.mode_names[n].empty()) plot.name = escaped(model.mode_names[n]);
  if (n < model.labels.size()) plot.labels = model.labels[n];
  for (std::size_t at = 0; at < model.factors[n].size(); ++at) {
    const double number = model.factors[n][at];
    plot.low = std::min(plot.low, number);
    plot.high = std::max(plot.high, number);
    plot.sums[at % rank] += std::abs(number);
  }
  plot.is_line =
      plot.labels.empty() ? model.shape[n] >= 3 && model.shape[n] <= longest_line_of_numbers : is_ordered(plot.labels);
  return plot;
}

// A line through `points`, from `low` at the bottom to `high` at the top. Its box is stretched to what the page has.
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

std::string axis(const std::string& first, const std::string& last) {
  return "<div class=\"axis\"><span>" + first + "</span><span>" + last + "</span></div>";
}

class Report {
 public:
  Report(const CpdModel& model, const ReportOptions& options, const ProgressCallback& progress)
      : model_(&model), options_(&options), components_(summarize()) {
    for (std::size_t n = 0; n < model.shape.size(); ++n) plots_.push_back(make_plot(model, n));
    if (options.tensor != nullptr) add_shares(plots_, model, options, progress);
  }

  void write(const TextSink& sink) const {
    const std::string title = escaped(options_->title);
    sink(std::string(head) + "<title>" + title + "</title>\n</head>\n<body>\n<h1>" + title + "</h1>\n" + facts() +
         history() + guide());
    for (const ComponentSummary& component : components_) sink(card(component));
    sink(std::string("</main>\n<footer>blco</footer>\n") + std::string(script) + "</body>\n</html>\n");
  }

 private:
  std::vector<ComponentSummary> summarize() const {
    check_sizes(*model_, "cannot report on the model");
    if (options_->index_base != 0 && options_->index_base != 1) {
      refuse(option_name("index_base") + " must be 0 or 1, not " + std::to_string(options_->index_base));
    }
    const SummaryOptions all{.components = model_->weights.size(), .entries = options_->entries};
    std::vector<ComponentSummary> components = summarize_components(*model_, all);
    std::ranges::stable_sort(components, std::ranges::greater(), &ComponentSummary::share);
    components.resize(std::min(components.size(), options_->components));
    return components;
  }

  std::string name_of(std::size_t mode, std::uint64_t row) const {
    const Labels& labels = plots_[mode].labels;
    return labels.empty() ? std::to_string(row + static_cast<std::uint64_t>(options_->index_base))
                          : escaped(labels[row], longest_label);
  }

  std::string facts() const {
    std::string list = "<dl>\n";
    const auto fact = [&](const char* name, const std::string& value) {
      list.append("<dt>").append(name).append("</dt><dd>").append(value).append("</dd>\n");
    };
    const bool is_fit = !model_->fit_history.empty();
    fact("method", escaped(model_->method) + (model_->method == "als" ? "" : ", loss " + to_string(model_->loss)));
    fact("rank", std::to_string(model_->rank));
    if (is_fit) fact("fit", rounded(model_->fit(), 6) + " <small>1 - |X - model| / |X|</small>");
    if (!is_fit && !model_->objective_history.empty()) fact("objective", rounded(model_->objective(), 6));
    if (model_->explained) fact("explained", percent(*model_->explained) + " of the constant model's deviance");
    fact("sweeps",
         std::to_string(model_->sweeps()) + " <small>stopped by " + to_string(model_->stop_reason) + "</small>");
    std::string shape;
    for (std::size_t n = 0; n < plots_.size(); ++n) {
      shape += (n == 0 ? "" : " × ") + std::to_string(model_->shape[n]) + " " + plots_[n].name;
    }
    fact("shape", shape);
    if (model_->tensor_nnz > 0) fact("nonzeros", std::to_string(model_->tensor_nnz));
    for (std::size_t n = 0; n < model_->constraints.size(); ++n) {
      if (model_->constraints[n] != RowConstraint{}) {
        fact("constraint", plots_[n].name + ": " + escaped(to_string(model_->constraints[n])));
      }
    }
    if (model_->ridge != 0) fact("ridge", rounded(model_->ridge));
    fact("precision", to_string(model_->precision));
    fact("seed", std::to_string(model_->seed));
    if (const std::optional<Cancellation> found = find_cancellation(*model_)) {
      fact("note", "components " + std::to_string(found->first) + " and " + std::to_string(found->second) +
                       " cancel each other, and the largest component is " + rounded(found->excess, 3) +
                       " times as large as the tensor: read none of them by itself");
    }
    return list + "</dl>\n";
  }

  std::string history() const {
    const bool is_fit = !model_->fit_history.empty();
    const std::vector<double>& history = is_fit ? model_->fit_history : model_->objective_history;
    if (history.size() < 2 || !std::ranges::all_of(history, [](double number) { return std::isfinite(number); })) {
      return "";
    }
    // The last of each part, so that the line ends where the fit did.
    std::vector<double> points(std::min(history.size(), max_points));
    for (std::size_t i = 0; i < history.size(); ++i) points[i * points.size() / history.size()] = history[i];
    const auto [low, high] = std::ranges::minmax(points);
    const std::string name = is_fit ? "fit" : "objective";
    return "<figure>\n<figcaption>" + name + " by sweep, from " + rounded(low, 6) + " to " + rounded(high, 6) +
           "</figcaption>\n" + line_of(points, low, high, name + " by sweep") + "\n" +
           axis("sweep 1: " + rounded(history.front(), 6),
                "sweep " + std::to_string(history.size()) + ": " + rounded(history.back(), 6)) +
           "\n</figure>\n";
  }

  std::string guide() const {
    std::string text = "<p><small>" + std::to_string(components_.size()) + " of " + std::to_string(model_->rank) +
                       " components by falling share, numbered from 0; the share is the weight over the sum of all "
                       "weights, each without its sign. All plots of a mode have one scale, and each mode its own. ";
    text +=
        options_->tensor == nullptr
            ? "Lift, how much more common an entry is in the component than in the tensor, is left out: it takes the "
              "tensor."
            : "×2 marks the lift: the entry is twice as common in the component as in the tensor.";
    return text +
           "</small></p>\n<div class=\"search\"><input type=\"search\" placeholder=\"Find a label\" "
           "aria-label=\"Find a label\"> <output></output></div>\n<main" +
           (options_->tensor == nullptr ? "" : " class=\"lifts\"") + ">\n";
  }

  std::string card(const ComponentSummary& component) const {
    const std::string number = std::to_string(component.component);
    std::string text = "<article id=\"component-" + number + "\">\n<h2>Component " + number + " <small>share " +
                       percent(component.share) + ", weight " + rounded(component.weight, 6) +
                       "</small></h2>\n<div class=\"modes\">\n";
    for (std::size_t n = 0; n < plots_.size(); ++n) {
      text += "<section>\n<h3>" + plots_[n].name + "</h3>\n";
      if (plots_[n].is_line) text += line(component, n);
      text += entries(component, n) + "</section>\n";
    }
    return text + "</div>\n</article>\n";
  }

  std::string line(const ComponentSummary& component, std::size_t n) const {
    const ModePlot& plot = plots_[n];
    const auto rank = static_cast<std::size_t>(model_->rank);
    const double* const column = model_->factors[n].data() + component.component;
    const auto length = static_cast<std::size_t>(model_->shape[n]);
    const std::vector<double> points = thinned(length, [&](std::size_t i) { return column[i * rank]; });
    return line_of(points, plot.low, plot.high, plot.name) + "\n" + axis(name_of(n, 0), name_of(n, length - 1)) + "\n";
  }

  // Without those below a hundredth of the largest, whose bars nobody would see.
  std::string entries(const ComponentSummary& component, std::size_t n) const {
    const ModePlot& plot = plots_[n];
    const double scale = std::max(-plot.low, plot.high);
    const std::vector<FactorEntry>& largest = component.modes[n].largest;
    std::string list = "<ol>\n";
    for (std::size_t i = 0; i < largest.size() && !(plot.is_line && i == named_peaks); ++i) {
      const auto& [row, value] = largest[i];
      const double size = std::abs(value);
      if (size < std::abs(largest.front().value) / 100) break;
      list += "<li><bdi>" + name_of(n, row) + "</bdi><i" + (value < 0 ? " class=\"minus\"" : "") +
              " style=\"width:" + percent(size / scale) + "\"></i><b>" + in_columns(value) + "</b>";
      if (!plot.shares.empty()) list += "<em>" + lift(component, n, largest[i]) + "</em>";
      list += "</li>\n";
    }
    return list + "</ol>\n";
  }

  std::string lift(const ComponentSummary& component, std::size_t n, const FactorEntry& entry) const {
    const double share = plots_[n].shares[entry.row];
    if (!(share > 0)) return "";
    const double lift = std::abs(entry.value) / plots_[n].sums[static_cast<std::size_t>(component.component)] / share;
    return "×" + rounded(lift, lift < 1 ? 2 : lift < 10 ? 1 : 0, std::chars_format::fixed);
  }

  const CpdModel* model_;
  const ReportOptions* options_;
  std::vector<ComponentSummary> components_;
  std::vector<ModePlot> plots_;
};

}  // namespace

void write_report(const CpdModel& model, const TextSink& sink, const ReportOptions& options,
                  const ProgressCallback& progress) {
  Report(model, options, progress).write(sink);
}

void write_report(const CpdModel& model, const std::filesystem::path& output, const ReportOptions& options,
                  const ProgressCallback& progress, const OutputClaims* claims) {
  TemporaryFile file(output, claims == nullptr ? nullptr : claims->find(output));
  OutputFile page(file.path(), output);
  write_report(
      model, [&](std::string_view text) { page.write(text); }, options, progress);
  page.close();
  file.publish();
}

}  // namespace blco
