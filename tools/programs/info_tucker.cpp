// A Tucker model as text and as JSON: how the fit went, the largest numbers of its core, and what its columns consist
// of.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "tools/programs/info.hpp"

namespace blco::info {
namespace {

using cli::Json;

std::string column_name(const TuckerModel& model, const std::vector<std::uint64_t>& index) {
  std::string text;
  for (std::size_t n = 0; n < index.size(); ++n) {
    text += fmt::format("{}{} {}", n == 0 ? "" : ", ", mode_name(model.mode_names, n), index[n]);
  }
  return text;
}

// The columns of a mode that the entries use, in order.
std::vector<std::uint64_t> columns_of(const std::vector<CoreEntry>& entries, std::size_t mode) {
  std::vector<std::uint64_t> columns;
  for (const CoreEntry& entry : entries) columns.push_back(entry.index[mode]);
  std::ranges::sort(columns);
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  return columns;
}

double share(const CoreEntry& entry, double squares) { return squares > 0 ? entry.value * entry.value / squares : 0; }

void print_tucker(const std::filesystem::path& path, const TuckerModel& model, const std::vector<CoreEntry>& entries,
                  double squares, const SummaryOptions& options, const CoordinateNames& names) {
  print_row("model", path.string() + " (Tucker)");
  std::vector<std::uint64_t> label_bytes;
  for (const Labels& labels : model.labels) label_bytes.push_back(labels.memory_bytes());
  print_modes(model.shape, model.mode_names, label_bytes);
  print_reading(model.reading);
  print_row("ranks", cli::format_shape(model.ranks));
  print_row("method", model.method);
  print_row("fit",
            fmt::format("{:.12f} (1 - |X - model| / |X|; cells that are not listed count as zero)", model.fit()));
  print_row("sweeps", model.sweeps());
  print_row("stopped by", to_string(model.stop_reason));
  print_row("seed", model.seed);
  if (entries.empty()) return;
  print_row("core",
            fmt::format("{} of {} numbers, the largest first, each with its column of every mode, and its share of the "
                        "squares; columns are numbered from 0",
                        entries.size(), model.core.size()));
  for (const CoreEntry& entry : entries) {
    fmt::print("  {:>12.6g}  {:5.1f}%  {}\n", entry.value, 100 * share(entry, squares),
               column_name(model, entry.index));
  }
  for (std::size_t n = 0; n < model.shape.size() && options.entries > 0; ++n) {
    fmt::print("\n{}\n", mode_name(model.mode_names, n));
    for (const std::uint64_t column : columns_of(entries, n)) {
      std::vector<std::string> items;
      for (const FactorEntry& entry : model.top(n, static_cast<std::size_t>(column), options.entries)) {
        items.push_back(fmt::format("{} {:.3f}", names.text(n, entry.row), entry.value));
      }
      fmt::print("{}\n", wrapped(fmt::format("  column {:<4} ", column), items));
    }
  }
}

Json columns_json(const TuckerModel& model, const std::vector<CoreEntry>& entries, std::size_t mode,
                  const SummaryOptions& options, const CoordinateNames& names) {
  Json columns = Json::array();
  for (const std::uint64_t column : columns_of(entries, mode)) {
    Json largest = Json::array();
    for (const FactorEntry& entry : model.top(mode, static_cast<std::size_t>(column), options.entries)) {
      largest.push_back({{"coordinate", entry.row}, {"name", names.name(mode, entry.row)}, {"value", entry.value}});
    }
    columns.push_back({{"column", column}, {"largest", largest}});
  }
  return columns;
}

}  // namespace

void report_tucker(cli::Reporter& reporter, const std::filesystem::path& path, const TuckerModel& model,
                   const SummaryOptions& options, int index_base) {
  const CoordinateNames names{index_base, model.labels};
  const std::vector<CoreEntry> entries = model.top_of_core(options.components);
  double squares = 0;
  for (const double number : model.core) squares += number * number;
  if (!reporter.is_json()) return print_tucker(path, model, entries, squares, options, names);
  Json core = Json::array();
  for (const CoreEntry& entry : entries) {
    core.push_back({{"index", entry.index}, {"value", entry.value}, {"share", share(entry, squares)}});
  }
  Json modes = Json::array();
  for (std::size_t n = 0; n < model.shape.size(); ++n) {
    modes.push_back({{"name", model.mode_names.empty() ? "" : model.mode_names[n]},
                     {"length", model.shape[n]},
                     {"rank", model.ranks[n]},
                     {"columns", columns_json(model, entries, n, options, names)}});
  }
  reporter.event("result", {{"type", "tucker"},
                            {"file", path.string()},
                            {"method", model.method},
                            {"fit", model.fit()},
                            {"sweeps", model.sweeps()},
                            {"stop_reason", to_string(model.stop_reason)},
                            {"seed", model.seed},
                            {"precision", to_string(model.precision)},
                            {"reading", reading_json(model.reading)},
                            {"core", core},
                            {"modes", modes}});
}

void report_angles(cli::Reporter& reporter, const std::filesystem::path& path, const TuckerModel& model,
                   const std::filesystem::path& other, const TuckerModel& second) {
  constexpr double degrees = 180 / std::numbers::pi;
  const std::vector<std::vector<double>> angles = principal_angles(model, second);
  Json modes = Json::array();
  reporter.print(
      "principal angles in degrees between the spaces of the columns of {} (ranks {}) and {} (ranks {}): 0 for "
      "a direction that both have, 90 for one that only one has",
      path.string(), cli::format_shape(model.ranks), other.string(), cli::format_shape(second.ranks));
  for (std::size_t n = 0; n < angles.size(); ++n) {
    modes.push_back({{"name", model.mode_names.empty() ? "" : model.mode_names[n]}, {"angles", angles[n]}});
    std::vector<std::string> items;
    for (const double angle : angles[n]) items.push_back(fmt::format("{:.4f}", angle * degrees));
    if (reporter.is_text())
      fmt::print("{}\n", wrapped(fmt::format("  {:<12} ", mode_name(model.mode_names, n)), items));
  }
  reporter.event("result", {{"type", "angles"}, {"file", path.string()}, {"other", other.string()}, {"modes", modes}});
}

}  // namespace blco::info
