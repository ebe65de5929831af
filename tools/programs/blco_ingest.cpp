// blco-ingest: turns files of coordinates or keys into one BLCO container.
#include <fmt/format.h>

#include <algorithm>
#include <blco/ingest.hpp>
#include <blco/memory_budget.hpp>
#include <chrono>

#include "tools/programs/cli.hpp"
#include "tools/programs/reporter.hpp"

namespace {

using namespace blco;

struct Arguments {
  std::vector<std::filesystem::path> inputs;
  std::filesystem::path output;
  IngestOptions ingest;
};

// "tab", or the character itself.
char parse_separator(const std::string& word) {
  static const std::vector<std::pair<std::string, char>> words = {
      {"comma", ','}, {"tab", '\t'}, {"semicolon", ';'}, {"bar", '|'}, {"blank", ' '}};
  for (const auto& [name, character] : words) {
    if (word == name) return character;
  }
  if (word.size() == 1 && word != "\"" && word != "\n" && word != "\r") return word[0];
  throw Error(ErrorKind::invalid_argument,
              fmt::format("'{}' is neither comma, tab, semicolon, bar or blank, nor a single character", word));
}

void add_column_options(cli::CommandLine& line, ColumnOptions& columns) {
  line.add("--modes", [&](const std::string& text) { columns.modes = cli::parse_names(text); },
           {.type = "COLUMNS",
            .description =
                "For CSV: names of the columns that become modes, such as user,item,day. Each distinct field of a "
                "column is a key, also if it is a number; keys become indices in the order of their first "
                "appearance, and labels of the mode"});
  line.add("--value", [&](const std::string& text) { columns.value = text; },
           {.type = "COLUMN",
            .description = "For CSV: name of the column of values",
            .fallback = "every row has the value 1"});
  line.add("--separator", [&](const std::string& word) { columns.separator = parse_separator(word); },
           {.type = "CHAR",
            .description = "For CSV: what separates fields: comma, tab, semicolon, bar, blank, or any other character",
            .fallback = "tab for .tsv; otherwise comma, tab or semicolon, whichever the header has most"});
  line.add_path("--labels-from", columns.labels_from,
                {.type = "TENSOR",
                 .description = "For CSV: give keys the same indices as in this container; new keys follow",
                 .fallback = "number all keys from the start"});
}

void add_options(cli::CommandLine& line, Arguments& arguments) {
  IngestOptions& ingest = arguments.ingest;
  line.add_list(
      "INPUT",
      [&](const std::vector<std::string>& names) {
        if (std::ranges::find(names, "") != names.end()) {
          throw Error(ErrorKind::invalid_argument, "a file name must not be empty");
        }
        for (const std::string& name : names) arguments.inputs.emplace_back(name == "-" ? "/dev/stdin" : name);
      },
      {.type = "",
       .description =
           "One or more files that together, in this order, hold one tensor. Each is text, plain or compressed with "
           "gzip "
           "or zstd: FROSTT (.tns, also with a header of GenTen or ParTI), Matrix Market (.mtx), or CSV with a header "
           "(requires --modes); - is standard input. Or each holds arrays of coordinates that start at 0: a NumPy "
           "archive (.npz, also from scipy.sparse or sparse) or an HDF5 file (FILE:/GROUP for a group in it)",
       .required = true});
  line.add_path(
      "-o,--output", arguments.output,
      {.type = "OUT", .description = "File for the container, written only once it is complete", .required = true});
  add_column_options(line, ingest.columns);
  line.add_size("--memory", ingest.memory_bytes,
                "Memory budget of the whole job; entries that do not fit are sorted with temporary files");
  line.add_threads(ingest.threads);
  line.add_choice<Device>(
      "--device", ingest.device, {{"auto", Device::automatic}, {"cpu", Device::cpu}, {"cuda", Device::cuda}},
      "Where to sort, fold and pack; the container is the same. auto takes the CPU, as long as no hardware has shown "
      "that a GPU is faster");
  line.add_path("--tmp", ingest.temporary_directory,
                {.type = "DIR",
                 .description = "Folder for the temporary files of entries that do not fit in --memory",
                 .fallback = "the folder of OUT"});
  line.add_choice<DuplicatePolicy>("--duplicates", ingest.duplicates,
                                   {{"sum", DuplicatePolicy::sum},
                                    {"error", DuplicatePolicy::error},
                                    {"first", DuplicatePolicy::first},
                                    {"last", DuplicatePolicy::last},
                                    {"max", DuplicatePolicy::max}},
                                   "What to do with entries of the same coordinates: keep their sum, the first, the "
                                   "last or the largest, or stop with an error");
  line.add("--shape", [&](const std::string& text) { ingest.shape = cli::parse_shape(text); },
           {.type = "SHAPE",
            .description = "Length of each mode, such as 100x200x300",
            .fallback = "what the input declares, or its largest coordinates"});
  line.add("--mode-names", [&](const std::string& text) { ingest.mode_names = cli::parse_names(text); },
           {.type = "NAMES",
            .description = "One name per mode, such as source,target,day",
            .fallback = "the names of --modes, or mode0,mode1,..."});
  line.add_choice<Relabel>(
      "--relabel", ingest.relabel, {{"none", Relabel::none}, {"frequency", Relabel::frequency}},
      "frequency renumbers the indices of each mode inside the container, most frequent first; this usually makes the "
      "container smaller but takes longer, and outputs have the original indices");
  line.add_compression(ingest.zstd_level, ingest.zstd_saving_percent);
  line.add_choice<int>("--index-base", ingest.index_base, {{"0", 0}, {"1", 1}},
                       "The smallest coordinate in text; in arrays it is always 0");
  line.add_whole(
      "--skip-lines", ingest.skip_lines, 0,
      {.type = "N", .description = "Number of lines to skip at the start of every text file", .fallback = "0"});
  line.add_chunk_nnz(ingest.chunk_nnz);
}

void check(const Arguments& arguments) {
  const std::filesystem::path& folder = arguments.ingest.temporary_directory;
  std::error_code ignored;
  if (!folder.empty() && !std::filesystem::is_directory(folder, ignored)) {
    throw Error(ErrorKind::invalid_argument,
                fmt::format("there is no folder {}; create it, or choose another with --tmp", folder.string()));
  }
  std::vector<std::filesystem::path> read = arguments.inputs;
  if (const auto& labels = arguments.ingest.columns.labels_from; !labels.empty()) read.push_back(labels);
  cli::check_output(arguments.output, read);
}

std::string column_text(const ColumnBytes& column, std::uint64_t nnz) {
  return fmt::format("{} bits per nonzero stored, {} cached and streamed", cli::format_bits(column.stored, nnz),
                     cli::format_bits(column.streamed, nnz));
}

cli::Json stages_json(const std::vector<StageTime>& stages) {
  cli::Json json = cli::Json::array();
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

cli::Json column_json(const ColumnBytes& column) {
  return {{"stored_bytes", column.stored}, {"streamed_bytes", column.streamed}};
}

void report_container(cli::Reporter& reporter, const IngestReport& report, const Arguments& arguments) {
  const std::filesystem::path& output = arguments.output;
  reporter.event("result", {{"output", output.string()},
                            {"input_format", report.input_format},
                            {"shape", report.shape},
                            {"relabelled_modes", report.relabelled_modes},
                            {"entries_read", report.entries_read},
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
  row("shape", cli::format_shape(report.shape));
  const std::vector<std::string>& columns = arguments.ingest.columns.modes;
  for (std::size_t n = 0; n < columns.size(); ++n) {
    row(n == 0 ? "keys" : "", fmt::format("{} of {}", cli::format_count(report.shape[n]), columns[n]));
  }
  if (!report.relabelled_modes.empty()) {
    row("relabel", cli::format_modes(report.relabelled_modes, report.shape.size()));
  }
  row("nonzeros",
      fmt::format("{} of {} entries read", cli::format_count(report.nnz), cli::format_count(report.entries_read)));
  row("index", column_text(report.index, report.nnz));
  row("value", column_text(report.value, report.nnz));
  row("file", fmt::format("{} in {} chunk{}", cli::format_bytes(report.file_bytes),
                          cli::format_count(report.chunk_count), report.chunk_count == 1 ? "" : "s"));
}

void ingest(const Arguments& arguments, cli::Reporter& reporter) {
  check(arguments);
  const ProgressCallback progress = reporter.progress();
  const auto start = std::chrono::steady_clock::now();
  reporter.note(fmt::format("reading {} file{}", arguments.inputs.size(), arguments.inputs.size() == 1 ? "" : "s"));
  const std::string over = budget_note(arguments.ingest.memory_bytes);
  if (!over.empty()) reporter.note(over);
  const IngestReport report = ingest_files(arguments.inputs, arguments.output, arguments.ingest, progress);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (report.input_format != "FROSTT text") reporter.note(fmt::format("the input is {}", report.input_format));
  reporter.note(fmt::format("done in {:.2f} s: {}", seconds.count(), stages_text(report.stages)));
  report_container(reporter, report, arguments);
}

}  // namespace

int main(int argc, char** argv) {
  cli::CommandLine line("blco-ingest", "Converts coordinate lists or CSV tables to a BLCO container.",
                        "  blco-ingest calls.tns.gz -o calls.blco --mode-names caller,callee,day\n"
                        "  blco-ingest part1.tns part2.tns -o all.blco --memory 8GiB --duplicates last\n"
                        "  blco-ingest clicks.csv --modes user,item,day --value count -o clicks.blco\n"
                        "  blco-ingest matrix.npz -o matrix.blco");
  Arguments arguments;
  add_options(line, arguments);
  cli::Reporter reporter(line, argc, argv);
  return line.run(argc, argv, [&] { ingest(arguments, reporter); });
}
