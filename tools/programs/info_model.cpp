// Prints a model as text: how the fit went, and what its components consist of.
#include <fmt/format.h>

#include <algorithm>
#include <blco/cpd_method.hpp>
#include <cmath>

#include "tools/programs/cancellation_words.hpp"
#include "tools/programs/cli.hpp"
#include "tools/programs/info.hpp"
#include "tools/programs/info_rows.hpp"

namespace blco::info {
namespace {

constexpr std::size_t line_width = 100;

// Number of UTF-8 characters, not bytes.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, width_of(text)), ' ');
}

// Items separated by commas, wrapped and indented below `start`.
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

// Labels may contain anything: control characters are shown as '?', and a label that would look like two entries is
// quoted, as in CSV.
std::string printable(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; }, '?');
  if (name.find_first_of(" ,\"") == std::string::npos) return name;
  std::string quoted = "\"";
  for (const char c : name) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

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
      entries.push_back(fmt::format("{} {:.3f}", printable(names.name(n, entry.row)), entry.value));
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

}  // namespace

std::string CoordinateNames::name(std::size_t mode, std::uint64_t row) const {
  if (mode < labels.size() && !labels[mode].empty()) return std::string(labels[mode][row]);
  return std::to_string(row + static_cast<std::uint64_t>(index_base));
}

void print_model(const std::filesystem::path& path, const CpdModel& model,
                 const std::vector<ComponentSummary>& components, const SummaryOptions& options,
                 const CoordinateNames& names) {
  print_row("model", path.string());
  std::vector<std::uint64_t> label_bytes;
  for (const Labels& labels : model.labels) label_bytes.push_back(labels.memory_bytes());
  print_modes(model.shape, model.mode_names, label_bytes);
  print_row("rank", model.rank);
  print_method(model);
  print_row("sweeps", model.sweeps());
  print_row("stopped by", to_string(model.stop_reason));
  print_row("seed", model.seed);
  if (model.ridge != 0) print_row("ridge", fmt::format("{}", model.ridge));
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
    print_row("note", cli::describe_cancellation(*found));
  }

  std::vector<std::string> modes;
  for (std::size_t n = 0; n < model.shape.size(); ++n) modes.push_back(mode_name(model.mode_names, n));
  for (const ComponentSummary& component : components) print_component(component, modes, options.small, names);
}

}  // namespace blco::info
