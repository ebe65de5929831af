// blco-ingest: turns files of coordinates or keys into one BLCO container.
#include <fmt/format.h>

#include <algorithm>
#include <blco/ingest.hpp>
#include <blco/memory_budget.hpp>
#include <chrono>

#include "tools/programs/cli.hpp"
#include "tools/programs/ingest_options.hpp"
#include "tools/programs/reporter.hpp"

namespace {

using namespace blco;

struct Arguments {
  std::vector<std::filesystem::path> inputs;
  std::filesystem::path output;
  IngestOptions ingest;
};

// MODE=FILE; a name of a mode has no '='.
LabelSource parse_label_source(const std::string& text) {
  const std::size_t sign = text.find('=');
  if (sign == std::string::npos || sign == 0 || sign + 1 == text.size()) {
    cli::refuse(fmt::format("'{}' is not MODE=FILE, such as word=words.map or 2=words.map.gz", text));
  }
  return {text.substr(0, sign), cli::parse_input(text.substr(sign + 1))};
}

std::string column_text(const ColumnBytes& column, std::uint64_t nnz) {
  return fmt::format("{} bits per nonzero stored, {} cached and streamed", cli::format_bits(column.stored, nnz),
                     cli::format_bits(column.streamed, nnz));
}

std::string stages_text(const std::vector<StageTime>& stages) {
  std::string text;
  for (const StageTime& time : stages) {
    text += fmt::format("{}{} {:.2f} s", text.empty() ? "" : ", ", time.stage, time.seconds);
  }
  const auto longest = std::ranges::max_element(stages, {}, &StageTime::seconds);
  return fmt::format("{}; {} took longest", text, longest->stage);
}

// "1,234 rows: 1,000 without 'price', 234 without 'user'"
std::string skipped_text(const IngestReport& report) {
  std::uint64_t rows = 0;
  std::string columns;
  for (const SkippedRowCount& skipped : report.skipped_rows) {
    rows += skipped.rows;
    columns += fmt::format("{}{} without '{}'", columns.empty() ? "" : ", ", cli::format_count(skipped.rows),
                           cli::printable(skipped.column, cli::longest_name));
  }
  return fmt::format("{}: {}", cli::format_count(rows, "row"), columns);
}

// "5%" or 0.05.
double parse_share(const std::string& text) {
  const bool is_percent = text.ends_with('%');
  const double share = cli::parse_real(is_percent ? text.substr(0, text.size() - 1) : text) / (is_percent ? 100 : 1);
  if (share > 0 && share < 1) return share;
  cli::refuse(fmt::format("'{}' is not a share above 0 and below 1, such as 5% or 0.05", text));
}

std::string labels_text(const LabelCounts& labels, const std::vector<std::string>& names) {
  const std::string mode = labels.mode < names.size() ? names[labels.mode] : fmt::format("mode {}", labels.mode);
  const std::string text = fmt::format("{} of {}", cli::format_count(labels.labels), mode);
  if (labels.repeated == 0) return text;
  return fmt::format("{}; {} {} more than once", text, cli::format_count(labels.repeated),
                     labels.repeated == 1 ? "label occurs" : "labels occur");
}

// How long it took, and what is odd about the modes.
void note_ingest(cli::Reporter& reporter, const IngestReport& report, const std::vector<std::string>& columns,
                 double seconds) {
  if (report.input_format != "FROSTT text") reporter.note("the input is {}", report.input_format);
  reporter.note("done in {:.2f} s: {}", seconds, stages_text(report.stages));
  for (const CrowdedMode& mode : report.crowded_modes) {
    reporter.note(
        "--modes {}: {} keys for {} rows, so a model says little of them; take times by their day (COLUMN:day), "
        "numbers in bins (COLUMN:bins=20), or leave the column out",
        columns[mode.mode], cli::format_count(mode.keys), cli::format_count(report.entries_read));
  }
  for (const FewerBins& mode : report.fewer_bins) {
    reporter.note("--modes {}: {} instead of {}, because equal numbers share one", columns[mode.mode],
                  cli::format_count(mode.made, "bin"), cli::format_count(mode.wanted));
  }
  for (const std::string& note : report.notes) reporter.note(note);
}

cli::Json report_json(const IngestReport& report, const std::filesystem::path& output) {
  using cli::Json;
  const auto column = [](const ColumnBytes& c) {
    return Json{{"stored_bytes", c.stored}, {"streamed_bytes", c.streamed}};
  };
  const auto labels = [](const LabelCounts& m) {
    return Json{{"mode", m.mode}, {"labels", m.labels}, {"repeated", m.repeated}};
  };
  const auto crowded = [](const CrowdedMode& m) { return Json{{"mode", m.mode}, {"keys", m.keys}}; };
  const auto bins = [](const FewerBins& m) { return Json{{"mode", m.mode}, {"wanted", m.wanted}, {"made", m.made}}; };
  const auto stage = [](const StageTime& t) { return Json{{"stage", t.stage}, {"seconds", t.seconds}}; };
  return {{"output", output.string()},
          {"input_format", report.input_format},
          {"shape", report.shape},
          {"labels", cli::list_json(report.labels, labels)},
          {"reordered_modes", report.reordered_modes},
          {"compacted_modes",
           cli::list_json(report.compacted_modes,
                          [](const CompactedMode& mode) {
                            return Json{{"mode", mode.mode}, {"indices", mode.indices}, {"original", mode.original}};
                          })},
          {"crowded_modes", cli::list_json(report.crowded_modes, crowded)},
          {"fewer_bins", cli::list_json(report.fewer_bins, bins)},
          {"notes", report.notes},
          {"entries_read", report.entries_read},
          {"skipped_rows", cli::skipped_json(report.skipped_rows)},
          {"unknown_rows", report.unknown_rows},
          {"nonzeros", report.nnz},
          {"held_out_nonzeros", report.held_out_nnz},
          {"chunks", report.chunk_count},
          {"index", column(report.index)},
          {"value", column(report.value)},
          {"orders", cli::list_json(report.ordered_modes,
                                    [&](const OrderedMode& mode) {
                                      return Json{{"mode", mode.mode},
                                                  {"copy", mode.has_copy},
                                                  {"along", mode.along ? Json(*mode.along) : Json()},
                                                  {"nonzeros_per_fiber", mode.nonzeros_per_fiber},
                                                  {"rows_per_nonzero", mode.rows_per_nonzero},
                                                  {"index", column(mode.index)},
                                                  {"value", column(mode.value)}};
                                    })},
          {"file_bytes", report.file_bytes},
          {"stages", cli::list_json(report.stages, stage)}};
}

std::string order_text(const OrderedMode& mode, std::uint64_t nnz) {
  const std::string fibers =
      mode.along ? fmt::format(", fibers along mode {} of {:.1f} nonzeros", *mode.along, mode.nonzeros_per_fiber) : "";
  const std::string rows =
      mode.rows_per_nonzero > 0 ? fmt::format("{:.2f} rows per nonzero", mode.rows_per_nonzero) : "";
  if (!mode.has_copy) {
    const bool pays = mode.rows_per_nonzero <= most_rows_per_nonzero;
    return fmt::format("mode {}: no copy{}", mode.mode, pays ? ", its order is the natural one" : "; " + rows);
  }
  return fmt::format("mode {}: {} bits per nonzero stored{}{}", mode.mode,
                     cli::format_bits(mode.index.stored + mode.value.stored, nnz), fibers,
                     rows.empty() ? "" : ", " + rows);
}

void print_report(cli::Reporter& reporter, const IngestReport& report, const IngestOptions& options,
                  const std::filesystem::path& output) {
  const auto row = [&](const char* name, const std::string& text) { reporter.print("{:<10}{}", name, text); };
  row("container", output.string());
  row("shape", cli::format_shape(report.shape));
  const std::vector<std::string>& columns = options.columns.modes;
  for (std::size_t n = 0; n < columns.size(); ++n) {
    row(n == 0 ? "keys" : "", fmt::format("{} {} {}", cli::format_count(report.shape[n]),
                                          columns[n].ends_with(":index") ? "indices by" : "of",
                                          cli::printable(columns[n], cli::longest_name)));
  }
  for (std::size_t i = 0; i < report.labels.size(); ++i) {
    row(i == 0 ? "labels" : "", labels_text(report.labels[i], options.mode_names));
  }
  for (const CompactedMode& mode : report.compacted_modes) {
    row("compacted", fmt::format("mode {}: {} of {} indices have entries; labels are the original ones", mode.mode,
                                 cli::format_count(mode.indices), cli::format_count(mode.original)));
  }
  if (!report.reordered_modes.empty()) {
    row("reordered", cli::format_modes(report.reordered_modes, report.shape.size()));
  }
  const std::string held_out = options.held_out_to.string();
  row("nonzeros",
      fmt::format("{} of {} entries read", cli::format_count(report.nnz), cli::format_count(report.entries_read)));
  if (!held_out.empty()) row("held out", fmt::format("{} in {}", cli::format_count(report.held_out_nnz), held_out));
  if (!report.skipped_rows.empty()) row("skipped", skipped_text(report));
  if (report.unknown_rows > 0) {
    row("unknown", cli::format_count(report.unknown_rows, "row") + " with keys that --labels-from does not have");
  }
  row("index", column_text(report.index, report.nnz));
  row("value", column_text(report.value, report.nnz));
  for (std::size_t i = 0; i < report.ordered_modes.size(); ++i) {
    row(i == 0 ? "orders" : "", order_text(report.ordered_modes[i], report.nnz));
  }
  row("file",
      fmt::format("{} in {}", cli::format_bytes(report.file_bytes), cli::format_count(report.chunk_count, "chunk")));
}

constexpr const char* modes_text =
    "For CSV: names of the columns that become modes, such as user,item,when:day. Each distinct field of a "
    "column is a key, also if it is a number; keys become indices in the order of their first "
    "appearance, and labels of the mode. COLUMN:day takes times (ISO 8601, 20240305140733, or seconds since 1970) by "
    "their "
    "day, in the order of time; likewise year, quarter, month, week, hour, minute, weekday and "
    "hour-of-day; COLUMN:day:every has days without rows too, COLUMN:day:utc counts by UTC and not by the clock of a "
    "time's zone. COLUMN:index takes whole numbers from 0 as the indices themselves. COLUMN:bins=20 takes numbers, in "
    "20 "
    "intervals of equal width, COLUMN:quantiles=20 in 20 of nearly equal numbers of rows. A name with a "
    "comma needs quotes of its own: 'user,\"day, hour\"'";

void add_mode_options(cli::CommandLine& line, IngestOptions& ingest) {
  line.add(
      "--shape", ingest.shape, cli::parse_shape,
      {"SHAPE", "Length of each mode, such as 100x200x300", "what the input declares, or its largest coordinates"});
  line.add("--mode-names", ingest.mode_names, cli::parse_names,
           {"NAMES", "One name per mode, such as source,target,day", "the names of --modes, or mode0,mode1,..."});
  line.add(
      "--labels", [&](const std::string& text) { ingest.label_files.push_back(parse_label_source(text)); },
      {"MODE=FILE",
       "For text and arrays: labels for a mode, which is a name of --mode-names or a number from 0. The file has "
       "one label a line, the first for the first index of the mode, as .map files of FROSTT have; it may be "
       "compressed with gzip or zstd. May be given once for every mode",
       "coordinates are numbers"},
      cli::Takes::a_word_each_time);
}

void add_options(cli::CommandLine& line, Arguments& arguments) {
  IngestOptions& ingest = arguments.ingest;
  line.add(
      "INPUT", [&](const std::string& name) { arguments.inputs.push_back(cli::parse_input(name)); },
      {"",
       "One or more files that together, in this order, hold one tensor. Each is text, plain or compressed with "
       "gzip or zstd: FROSTT (.tns, also extended, or with a header of GenTen or ParTI), Matrix Market (.mtx), or CSV "
       "with a header (requires --modes); - is standard input. Or each holds arrays of coordinates that start at 0: a "
       "NumPy archive (.npz, also from scipy.sparse or sparse) or an HDF5 file (FILE:/GROUP for a group in it). Or one "
       "container, of which OUT becomes another with just the copies that --orders asks for",
       cli::required},
      cli::Takes::words);
  line.add_path("-o,--output", arguments.output,
                {"OUT", "File for the container, written only once it is complete", cli::required});
  cli::add_table_options(line, ingest.columns, {"COLUMNS", modes_text},
                         {"COLUMN", "For CSV: name of the column of values", "every row has the value 1"});
  line.add_path("--labels-from", ingest.columns.labels_from,
                {"FILE",
                 "For CSV: give keys the same indices as in this container or model; new keys follow, and numbers get "
                 "its bins",
                 "number all keys from the start"});
  line.add_flag("--skip-unknown", ingest.columns.skip_unknown,
                "With --labels-from: leave out rows with keys that it does not have, and count them, so that the "
                "container has its shape");
  line.add("--hold-out", ingest.hold_out, parse_share,
           {"SHARE",
            "Put about this share of all cells, such as 5%, into the container of --held-out-to instead, for "
            "blco-cpd --validate and blco-predict. A hash of its labels or coordinates decides for each cell",
            "none"});
  line.add_path("--held-out-to", ingest.held_out_to,
                {"FILE", "With --hold-out: container of these cells; it has the shape and the labels of OUT"});
  line.needs("--hold-out", "--held-out-to");
  line.needs("--held-out-to", "--hold-out");
  line.add_size("--memory", ingest.memory_bytes,
                "Memory budget of the whole job; entries that do not fit are sorted with temporary files");
  line.add_threads(ingest.threads);
  line.add_choice<bool>("--devices", ingest.sorts_on_gpu, {{"cpu", false}, {"cuda", true}},
                        "Where to sort, fold and pack; the container is the same. No hardware has shown yet that a GPU "
                        "is faster");
  line.add_choice<DuplicatePolicy>("--duplicates", ingest.duplicates,
                                   {{"sum", DuplicatePolicy::sum},
                                    {"error", DuplicatePolicy::error},
                                    {"first", DuplicatePolicy::first},
                                    {"last", DuplicatePolicy::last},
                                    {"max", DuplicatePolicy::max},
                                    {"mean", DuplicatePolicy::mean},
                                    {"count", DuplicatePolicy::count}},
                                   "What becomes of entries of the same coordinates: their sum, an error, the first, "
                                   "the last, the largest, their mean, or their number");
  add_mode_options(line, ingest);
  line.add_choice<int>("--index-base", ingest.index_base, {{"0", 0}, {"1", 1}},
                       "The smallest coordinate in text; in arrays it is always 0");
  line.add_whole("--skip-lines", ingest.skip_lines, 0,
                 {"N", "Number of lines to skip at the start of every text file"});
  line.add_flag(
      "--compact", ingest.compact,
      "Renumber the indices of each mode that have entries, in rising order, so that modes are no longer than "
      "they have of these; the original index becomes the label, where there is none");
  cli::add_container_options(line, ingest);
}

void check(const Arguments& arguments) {
  const std::filesystem::path& folder = arguments.ingest.temporary_directory;
  std::error_code ignored;
  if (!folder.empty() && !std::filesystem::is_directory(folder, ignored)) {
    cli::refuse(fmt::format("there is no folder {}; create it, or choose another with --tmp", folder.string()));
  }
  std::vector<std::filesystem::path> read = arguments.inputs;
  if (const auto& labels = arguments.ingest.columns.labels_from; !labels.empty()) read.push_back(labels);
  for (const LabelSource& labels : arguments.ingest.label_files) read.push_back(labels.file);
  cli::check_output(arguments.output, read);
  if (const auto& held_out = arguments.ingest.held_out_to; !held_out.empty()) {
    if (held_out == arguments.output) cli::refuse("-o and --held-out-to name the same file; give two names");
    cli::check_output(held_out, read, "--held-out-to");
  }
}

void ingest(const cli::CommandLine& line, const Arguments& arguments, cli::Reporter& reporter) {
  check(arguments);
  const ProgressCallback progress = reporter.progress();
  const auto start = std::chrono::steady_clock::now();
  reporter.note("reading {}", cli::format_count(arguments.inputs.size(), "file"));
  const std::string over = budget_note(arguments.ingest.memory_bytes);
  if (!over.empty()) reporter.note(over);
  IngestReport report = ingest_files(arguments.inputs, arguments.output, arguments.ingest, progress);
  for (std::string& note : report.notes) note = line.name_flags(note);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  note_ingest(reporter, report, arguments.ingest.columns.modes, seconds.count());
  reporter.event("result", report_json(report, arguments.output));
  print_report(reporter, report, arguments.ingest, arguments.output);
}

}  // namespace

int main(int argc, char** argv) {
  cli::CommandLine line("blco-ingest", "Converts coordinate lists or CSV tables to a BLCO container.",
                        "  blco-ingest calls.tns.gz -o calls.blco --mode-names caller,callee,day\n"
                        "  blco-ingest part1.tns part2.tns -o all.blco --memory 8GiB --duplicates last\n"
                        "  blco-ingest clicks.csv --modes user,item,day --value count -o clicks.blco\n"
                        "  blco-ingest nips.tns.gz -o nips.blco --mode-names paper,author,word,year "
                        "--labels word=words.map.gz\n"
                        "  blco-ingest sales.csv --modes shop,when:week,price:bins=20 -o sales.blco\n"
                        "  blco-ingest matrix.npz -o matrix.blco\n"
                        "  blco-ingest calls.blco --orders auto -o ordered.blco");
  Arguments arguments;
  add_options(line, arguments);
  cli::Reporter reporter(line, argc, argv);
  arguments.ingest.on_compile = reporter.notes_of_threads();
  return line.run(argc, argv, [&] { ingest(line, arguments, reporter); });
}
