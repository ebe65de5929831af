// blco-ingest: turns files of coordinates or keys into one BLCO container.
#include <fmt/format.h>

#include <algorithm>
#include <blco/ingest.hpp>
#include <blco/memory_budget.hpp>
#include <chrono>

#include "tools/programs/cli.hpp"
#include "tools/programs/ingest_report.hpp"
#include "tools/programs/reporter.hpp"
#include "tools/programs/table_options.hpp"

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
    throw Error(ErrorKind::invalid_argument,
                fmt::format("'{}' is not MODE=FILE, such as word=words.map or 2=words.map.gz", text));
  }
  const std::string file = text.substr(sign + 1);
  return {text.substr(0, sign), file == "-" ? "/dev/stdin" : file};
}

constexpr const char* modes_text =
    "For CSV: names of the columns that become modes, such as user,item,when:day. Each distinct field of a "
    "column is a key, also if it is a number; keys become indices in the order of their first "
    "appearance, and labels of the mode. COLUMN:day takes times (ISO 8601, or seconds since 1970) by their "
    "day, in the order of time; likewise year, quarter, month, week, hour, minute, weekday and "
    "hour-of-day; COLUMN:day:every has days without rows too. COLUMN:bins=20 takes numbers, in 20 "
    "intervals of equal width, COLUMN:quantiles=20 in 20 of nearly equal numbers of rows. A name with a "
    "comma needs quotes of its own: 'user,\"day, hour\"'";

void add_column_options(cli::CommandLine& line, ColumnOptions& columns) {
  cli::add_table_options(line, columns,
                         {.modes = {.type = "COLUMNS", .description = modes_text},
                          .value = {.type = "COLUMN",
                                    .description = "For CSV: name of the column of values",
                                    .fallback = "every row has the value 1"}});
  line.add_path("--labels-from", columns.labels_from,
                {.type = "FILE",
                 .description = "For CSV: give keys the same indices as in this container or model; new keys follow, "
                                "and numbers get its bins",
                 .fallback = "number all keys from the start"});
}

void add_mode_options(cli::CommandLine& line, IngestOptions& ingest) {
  line.add("--shape", [&](const std::string& text) { ingest.shape = cli::parse_shape(text); },
           {.type = "SHAPE",
            .description = "Length of each mode, such as 100x200x300",
            .fallback = "what the input declares, or its largest coordinates"});
  line.add("--mode-names", [&](const std::string& text) { ingest.mode_names = cli::parse_names(text); },
           {.type = "NAMES",
            .description = "One name per mode, such as source,target,day",
            .fallback = "the names of --modes, or mode0,mode1,..."});
  line.add_repeated(
      "--labels", [&](const std::string& text) { ingest.label_files.push_back(parse_label_source(text)); },
      {.type = "MODE=FILE",
       .description = "For text and arrays: labels for a mode, which is a name of --mode-names or a number from 0. "
                      "The file has one label a line, the first for the first index of the mode, as .map files of "
                      "FROSTT have; it may be compressed with gzip or zstd. May be given once for every mode",
       .fallback = "coordinates are numbers"});
  line.add_choice<Relabel>(
      "--relabel", ingest.relabel, {{"none", Relabel::none}, {"frequency", Relabel::frequency}},
      "frequency renumbers the indices of each mode inside the container, most frequent first; this usually makes the "
      "container smaller but takes longer, and outputs have the original indices");
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
                                    {"max", DuplicatePolicy::max},
                                    {"mean", DuplicatePolicy::mean},
                                    {"count", DuplicatePolicy::count}},
                                   "What becomes of entries of the same coordinates: their sum, an error, the first, "
                                   "the last, the largest, their mean, or their number");
  add_mode_options(line, ingest);
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
  for (const LabelSource& labels : arguments.ingest.label_files) read.push_back(labels.file);
  cli::check_output(arguments.output, read);
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
  cli::note_ingest(reporter, report, arguments.ingest, seconds.count());
  cli::report_container(reporter, report, arguments.ingest, arguments.output);
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
                        "  blco-ingest matrix.npz -o matrix.blco");
  Arguments arguments;
  add_options(line, arguments);
  cli::Reporter reporter(line, argc, argv);
  return line.run(argc, argv, [&] { ingest(arguments, reporter); });
}
