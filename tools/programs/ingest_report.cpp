// Prints an ingest's report as text and as JSON.
#include "tools/programs/ingest_report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace blco::cli {
namespace {

std::string column_text(const ColumnBytes& column, std::uint64_t nnz) {
  return fmt::format("{} bits per nonzero stored, {} cached and streamed", format_bits(column.stored, nnz),
                     format_bits(column.streamed, nnz));
}

Json stages_json(const std::vector<StageTime>& stages) {
  Json json = Json::array();
  for (const StageTime& time : stages) json.push_back({{"stage", time.stage}, {"seconds", time.seconds}});
  return json;
}

std::string stages_text(const std::vector<StageTime>& stages) {
  std::string text;
  for (const StageTime& time : stages) {
    text += fmt::format("{}{} {:.2f} s", text.empty() ? "" : ", ", time.stage, time.seconds);
  }
  const auto longest = std::ranges::max_element(stages, {}, &StageTime::seconds);
  return fmt::format("{}; {} took longest", text, longest->stage);
}

std::uint64_t skipped_rows(const IngestReport& report) {
  std::uint64_t rows = 0;
  for (const SkippedRowCount& skipped : report.skipped_rows) rows += skipped.rows;
  return rows;
}

// "1,234 rows: 1,000 without 'price', 234 without 'user'"
std::string skipped_text(const IngestReport& report) {
  const std::uint64_t rows = skipped_rows(report);
  std::string text = fmt::format("{} row{}: ", format_count(rows), rows == 1 ? "" : "s");
  for (std::size_t i = 0; i < report.skipped_rows.size(); ++i) {
    const SkippedRowCount& skipped = report.skipped_rows[i];
    text += fmt::format("{}{} without '{}'", i == 0 ? "" : ", ", format_count(skipped.rows), skipped.column);
  }
  return text;
}

Json skipped_json(const IngestReport& report) {
  Json json = Json::array();
  for (const SkippedRowCount& skipped : report.skipped_rows) {
    json.push_back({{"column", skipped.column}, {"rows", skipped.rows}});
  }
  return json;
}

Json column_json(const ColumnBytes& column) {
  return {{"stored_bytes", column.stored}, {"streamed_bytes", column.streamed}};
}

Json labels_json(const std::vector<LabelCounts>& labels) {
  Json json = Json::array();
  for (const LabelCounts& mode : labels) {
    json.push_back({{"mode", mode.mode}, {"labels", mode.labels}, {"repeated", mode.repeated}});
  }
  return json;
}

Json crowded_json(const std::vector<CrowdedMode>& modes) {
  Json json = Json::array();
  for (const CrowdedMode& mode : modes) json.push_back({{"mode", mode.mode}, {"keys", mode.keys}});
  return json;
}

Json fewer_bins_json(const std::vector<FewerBins>& modes) {
  Json json = Json::array();
  for (const FewerBins& mode : modes) {
    json.push_back({{"mode", mode.mode}, {"wanted", mode.wanted}, {"made", mode.made}});
  }
  return json;
}

std::string labels_text(const LabelCounts& labels, const std::vector<std::string>& names) {
  const std::string mode = labels.mode < names.size() ? names[labels.mode] : fmt::format("mode {}", labels.mode);
  const std::string text = fmt::format("{} of {}", format_count(labels.labels), mode);
  if (labels.repeated == 0) return text;
  return fmt::format("{}; {} {} more than once", text, format_count(labels.repeated),
                     labels.repeated == 1 ? "label occurs" : "labels occur");
}

void note_modes(Reporter& reporter, const IngestReport& report, const std::vector<std::string>& columns) {
  for (const CrowdedMode& mode : report.crowded_modes) {
    reporter.note(
        fmt::format("--modes {}: {} keys for {} rows, so a model says little of them; take times by their day "
                    "(COLUMN:day), numbers "
                    "in bins (COLUMN:bins=20), or leave the column out",
                    columns[mode.mode], format_count(mode.keys), format_count(report.entries_read)));
  }
  for (const FewerBins& mode : report.fewer_bins) {
    reporter.note(fmt::format("--modes {}: {} bin{} instead of {}, because equal numbers share one", columns[mode.mode],
                              format_count(mode.made), mode.made == 1 ? "" : "s", format_count(mode.wanted)));
  }
}

}  // namespace

void note_ingest(Reporter& reporter, const IngestReport& report, const IngestOptions& options, double seconds) {
  reporter.note(fmt::format("done in {:.2f} s: {}", seconds, stages_text(report.stages)));
  note_modes(reporter, report, options.columns.modes);
}

void report_container(Reporter& reporter, const IngestReport& report, const IngestOptions& options,
                      const std::filesystem::path& output) {
  reporter.event("result", {{"output", output.string()},
                            {"input_format", report.input_format},
                            {"shape", report.shape},
                            {"labels", labels_json(report.labels)},
                            {"relabelled_modes", report.relabelled_modes},
                            {"crowded_modes", crowded_json(report.crowded_modes)},
                            {"fewer_bins", fewer_bins_json(report.fewer_bins)},
                            {"entries_read", report.entries_read},
                            {"skipped_rows", skipped_json(report)},
                            {"nonzeros", report.nnz},
                            {"chunks", report.chunk_count},
                            {"index", column_json(report.index)},
                            {"value", column_json(report.value)},
                            {"file_bytes", report.file_bytes},
                            {"stages", stages_json(report.stages)}});
  const auto row = [&](const char* name, const std::string& text) {
    reporter.print(fmt::format("{:<10}{}", name, text));
  };
  row("container", output.string());
  row("shape", format_shape(report.shape));
  const std::vector<std::string>& columns = options.columns.modes;
  for (std::size_t n = 0; n < columns.size(); ++n) {
    row(n == 0 ? "keys" : "", fmt::format("{} of {}", format_count(report.shape[n]), columns[n]));
  }
  for (std::size_t i = 0; i < report.labels.size(); ++i) {
    row(i == 0 ? "labels" : "", labels_text(report.labels[i], options.mode_names));
  }
  if (!report.relabelled_modes.empty()) {
    row("relabel", format_modes(report.relabelled_modes, report.shape.size()));
  }
  row("nonzeros", fmt::format("{} of {} entries read", format_count(report.nnz), format_count(report.entries_read)));
  if (!report.skipped_rows.empty()) row("skipped", skipped_text(report));
  row("index", column_text(report.index, report.nnz));
  row("value", column_text(report.value, report.nnz));
  row("file", fmt::format("{} in {} chunk{}", format_bytes(report.file_bytes), format_count(report.chunk_count),
                          report.chunk_count == 1 ? "" : "s"));
}

}  // namespace blco::cli
