// Models as text and as JSON: how the fit went, what the components consist of, and how alike two models are.
#include <fmt/ranges.h>

#include <algorithm>
#include <blco/cpd_method.hpp>
#include <cmath>

#include "tools/programs/info.hpp"

namespace blco::info {
namespace {

using cli::Json;

constexpr std::size_t line_width = 100;

// Number of UTF-8 characters, not bytes.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, width_of(text)), ' ');
}

}  // namespace

std::string wrapped(const std::string& start, const std::vector<std::string>& items) {
  std::string text = start;
  std::size_t column = width_of(start);
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::string item = items[i];
    if (i + 1 < items.size()) item += ',';
    if (i > 0 && column + 1 + width_of(item) > line_width) {
      text.append(1, '\n').append(width_of(start), ' ');
      column = width_of(start);
    } else if (i > 0) {
      text += ' ';
      ++column;
    }
    text += item;
    column += width_of(item);
  }
  return text;
}

// Labels may contain anything, at any length. One that would look like two entries is quoted, as in CSV.
std::string CoordinateNames::text(std::size_t mode, std::uint64_t row) const {
  const std::string name = cli::printable(this->name(mode, row), cli::longest_name);
  if (name.find_first_of(" ,\"") == std::string::npos) return name;
  std::string quoted = "\"";
  for (const char c : name) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

namespace {

void print_component(const ComponentSummary& component, const std::vector<std::string>& modes, double small,
                     const CoordinateNames& names) {
  std::size_t widest = 0;
  for (const std::string& mode : modes) widest = std::max(widest, width_of(mode));
  fmt::print("\ncomponent {}  weight {:.6g}  share {:.1f}%\n", component.component, component.weight,
             100 * component.share);
  for (std::size_t n = 0; n < modes.size(); ++n) {
    const ColumnSummary& column = component.modes[n];
    std::vector<std::string> entries;
    for (const FactorEntry& entry : column.largest) {
      if (std::abs(entry.value) < small * std::abs(column.largest.front().value)) break;
      entries.push_back(fmt::format("{} {:.3f}", names.text(n, entry.row), entry.value));
    }
    const std::string start = fmt::format("  {}  sparse {:5.1f}%  ", padded(modes[n], widest), 100 * column.sparsity);
    const std::string line = wrapped(start, entries);
    fmt::print("{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
  }
}

void print_method(const CpdModel& model) {
  if (model.method != "als") {
    print_row("method", fmt::format("{}, loss {}", model.method, to_string(model.loss)));
    if (!model.objective_history.empty()) print_row("objective", fmt::format("{:.12e}", model.objective()));
    return;
  }
  for (std::size_t n = 0; n < model.constraints.size(); ++n) {
    print_row(n == 0 ? "constraints" : "",
              fmt::format("{}: {}", mode_name(model.mode_names, n), to_string(model.constraints[n])));
  }
  print_row("fit",
            fmt::format("{:.12f} (1 - |X - model| / |X|; cells that are not listed count as zero)", model.fit()));
}

void print_model(const std::filesystem::path& path, const CpdModel& model,
                 const std::vector<ComponentSummary>& components, const SummaryOptions& options,
                 const CoordinateNames& names) {
  print_row("model", path.string());
  std::vector<std::uint64_t> label_bytes;
  for (const Labels& labels : model.labels) label_bytes.push_back(labels.memory_bytes());
  print_modes(model.shape, model.mode_names, label_bytes);
  print_reading(model.reading);
  print_row("rank", model.rank);
  print_method(model);
  print_row("sweeps", model.sweeps());
  print_row("stopped by", to_string(model.stop_reason));
  print_row("seed", model.seed);
  if (model.found_ridge) {
    print_row("ridge", fmt::format("{:.6g}, found by the fit", *model.found_ridge));
  } else if (model.ridge != 0) {
    print_row("ridge", model.ridge > 0 ? fmt::format("{}", model.ridge) : "found by the fit");
  }
  if (!model.options.empty()) print_row("options", fmt::format("{}", fmt::join(model.options, ", ")));
  print_row("components",
            fmt::format("{} of {}, by decreasing weight; numbered from 0, like the columns of the factors",
                        components.size(), model.rank));
  print_row("share", "a component's weight over the sum of all weights, each without its sign");
  const std::string label = names.labels.empty() ? "" : "label, or ";
  print_row("entries",
            fmt::format("{}coordinate, counted from {}, and value; at most {} per mode, by decreasing magnitude", label,
                        names.index_base, options.entries));
  print_row("sparse", fmt::format("share of entries that are 0 or below {:g} of the largest; these are not shown",
                                  options.small));
  if (const std::optional<Cancellation> found = find_cancellation(model)) {
    print_row("note", cli::describe_cancellation(*found, model));
  }

  std::vector<std::string> modes;
  for (std::size_t n = 0; n < model.shape.size(); ++n) modes.push_back(mode_name(model.mode_names, n));
  for (const ComponentSummary& component : components) print_component(component, modes, options.small, names);
}

Json component_json(const ComponentSummary& component, const CoordinateNames& names) {
  Json modes = Json::array();
  for (std::size_t n = 0; n < component.modes.size(); ++n) {
    const auto entry = [&](const FactorEntry& e) {
      return Json{{"row", e.row}, {"name", names.name(n, e.row)}, {"value", e.value}};
    };
    modes.push_back(
        {{"sparsity", component.modes[n].sparsity}, {"largest", cli::list_json(component.modes[n].largest, entry)}});
  }
  return {
      {"component", component.component}, {"weight", component.weight}, {"share", component.share}, {"modes", modes}};
}

Json model_json(const std::filesystem::path& path, const CpdModel& model,
                const std::vector<ComponentSummary>& components, const CoordinateNames& names) {
  const auto component = [&](const ComponentSummary& one) { return component_json(one, names); };
  return {{"type", "model"},
          {"file", path.string()},
          {"shape", model.shape},
          {"mode_names", model.mode_names},
          {"reading", reading_json(model.reading)},
          {"rank", model.rank},
          {"method", model.method},
          {"loss", to_string(model.loss)},
          {"constraints", cli::list_json(model.constraints, [](const RowConstraint& c) { return Json(to_string(c)); })},
          {"fit", model.method == "als" ? Json(model.fit()) : Json()},
          {"fit_history", model.fit_history},
          {"objective_history", model.objective_history},
          {"sweeps", model.sweeps()},
          {"stop_reason", to_string(model.stop_reason)},
          {"seed", model.seed},
          {"precision", to_string(model.precision)},
          {"ridge", model.ridge},
          {"found_ridge", cli::as_json(model.found_ridge)},
          {"options", model.options},
          {"cancellation", cli::cancellation_json(find_cancellation(model))},
          {"components", cli::list_json(components, component)}};
}

Json match_json(const std::filesystem::path& path, const std::filesystem::path& other, const ModelMatch& match) {
  const auto pair = [](const ComponentMatch& p) {
    return Json{{"component", p.component}, {"other", p.other}, {"score", p.score}, {"congruence", p.congruence}};
  };
  return {{"type", "match"},
          {"file", path.string()},
          {"other", other.string()},
          {"score", match.score},
          {"pairs", cli::list_json(match.pairs, pair)}};
}

void print_match(const std::filesystem::path& path, const CpdModel& model, const std::filesystem::path& other,
                 const CpdModel& second, const ModelMatch& match) {
  print_row("model", fmt::format("{} (rank {}, fit {:.6f})", path.string(), model.rank, model.fit()));
  print_row("other", fmt::format("{} (rank {}, fit {:.6f})", other.string(), second.rank, second.fit()));
  print_row("score",
            fmt::format("{:.4f}: factor match score, the mean over the pairs; 1: the same model", match.score));
  print_row("pairs", fmt::format("{} of {} and {} components", match.pairs.size(), model.rank, second.rank));
  fmt::print("\n{:>10}{:>10}{:>14}{:>14}{:>14}{:>10}\n", "component", "other", "weight", "other weight", "congruence",
             "score");
  for (const ComponentMatch& pair : match.pairs) {
    fmt::print("{:>10}{:>10}{:>14.6g}{:>14.6g}{:>14.4f}{:>10.4f}\n", pair.component, pair.other,
               model.weights[static_cast<std::size_t>(pair.component)],
               second.weights[static_cast<std::size_t>(pair.other)], pair.congruence, pair.score);
  }
}

}  // namespace

void report_model(cli::Reporter& reporter, const std::filesystem::path& path, const CpdModel& model,
                  const SummaryOptions& options, int index_base) {
  const std::vector<ComponentSummary> components = summarize_components(model, options);
  const CoordinateNames names{index_base, model.labels};
  reporter.event("result", model_json(path, model, components, names));
  if (reporter.is_text()) print_model(path, model, components, options, names);
}

void report_match(cli::Reporter& reporter, const std::filesystem::path& path, const CpdModel& model,
                  const std::filesystem::path& other, const CpdModel& second) {
  const ModelMatch match = match_components(model, second);
  reporter.event("result", match_json(path, other, match));
  if (reporter.is_text()) print_match(path, model, other, second, match);
}

}  // namespace blco::info
