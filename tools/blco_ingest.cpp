// blco-ingest: coordinates in text files to one BLCO container.
#include <fmt/format.h>

#include <algorithm>
#include <blco/ingest.hpp>
#include <chrono>

#include "tools/cli.hpp"

namespace {

using namespace blco;

struct Arguments {
  std::vector<std::filesystem::path> inputs;
  std::filesystem::path output;
  IngestOptions ingest;
};

void add_options(cli::CommandLine& line, Arguments& arguments) {
  IngestOptions& ingest = arguments.ingest;
  line.add_list("INPUT",
                [&](const std::vector<std::string>& names) {
                  if (std::ranges::find(names, "") != names.end()) {
                    throw Error(ErrorKind::invalid_argument, "the name of a file must not be empty");
                  }
                  arguments.inputs.assign(names.begin(), names.end());
                },
                {.type = "",
                 .description = "FROSTT text (.tns), plain, gzip or zstd; several files are one tensor, in this order",
                 .required = true});
  line.add_path("-o,--output", arguments.output,
                {.type = "OUT", .description = "The container, which appears when it is whole", .required = true});
  line.add_size("--memory", ingest.memory_bytes, "Memory budget of the whole job");
  line.add_threads(ingest.threads);
  line.add_path(
      "--tmp", ingest.temporary_directory,
      {.type = "DIR", .description = "Folder for spilled runs; unused while the tensor must fit in --memory"});
  line.add_choice<DuplicatePolicy>("--duplicates", ingest.duplicates,
                                   {{"sum", DuplicatePolicy::sum},
                                    {"error", DuplicatePolicy::error},
                                    {"first", DuplicatePolicy::first},
                                    {"last", DuplicatePolicy::last},
                                    {"max", DuplicatePolicy::max}},
                                   "How entries of the same coordinates become one");
  line.add(
      "--shape", [&](const std::string& text) { ingest.shape = cli::parse_shape(text); },
      {.type = "SHAPE", .description = "Mode lengths, such as 100x200x300", .fallback = "the largest coordinates"});
  line.add(
      "--mode-names", [&](const std::string& text) { ingest.mode_names = cli::parse_names(text); },
      {.type = "NAMES", .description = "One name per mode, such as source,target,day", .fallback = "mode0,mode1,..."});
  line.add_compression(ingest.zstd_level);
  line.add_choice<int>("--index-base", ingest.index_base, {{"0", 0}, {"1", 1}}, "The smallest coordinate in the input");
  line.add_whole("--skip-lines", ingest.skip_lines, 0,
                 {.type = "N", .description = "Header lines to leave out at the start of every file", .fallback = "0"});
  line.add_chunk_nnz(ingest.chunk_nnz);
}

void check(const Arguments& arguments) {
  const std::filesystem::path& folder = arguments.ingest.temporary_directory;
  std::error_code ignored;
  if (!folder.empty() && !std::filesystem::is_directory(folder, ignored)) {
    throw Error(ErrorKind::invalid_argument, fmt::format("--tmp: there is no folder {}", folder.string()));
  }
  cli::check_output(arguments.output, arguments.inputs);
}

void print_column(const char* name, const ColumnBytes& column, std::uint64_t nnz) {
  fmt::print("{:<10}{} bits per nonzero stored, {} cached and streamed\n", name, cli::format_bits(column.stored, nnz),
             cli::format_bits(column.streamed, nnz));
}

void print_report(const IngestReport& report, const std::filesystem::path& output) {
  fmt::print("{:<10}{}\n", "container", output.string());
  fmt::print("{:<10}{}\n", "shape", cli::format_shape(report.shape));
  fmt::print("{:<10}{} of {} entries read\n", "nonzeros", cli::format_count(report.nnz),
             cli::format_count(report.entries_read));
  print_column("index", report.index, report.nnz);
  print_column("value", report.value, report.nnz);
  fmt::print("{:<10}{} in {} chunk{}\n", "file", cli::format_bytes(report.file_bytes),
             cli::format_count(report.chunk_count), report.chunk_count == 1 ? "" : "s");
}

void ingest(const Arguments& arguments) {
  check(arguments);
  const auto start = std::chrono::steady_clock::now();
  cli::log_info(fmt::format("reading {} file{}", arguments.inputs.size(), arguments.inputs.size() == 1 ? "" : "s"));
  const IngestReport report = ingest_text(arguments.inputs, arguments.output, arguments.ingest);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  cli::log_info(fmt::format("done in {:.2f} s", seconds.count()));
  print_report(report, arguments.output);
}

}  // namespace

int main(int argc, char** argv) {
  cli::CommandLine line("blco-ingest", "Turns coordinate text into a BLCO container.",
                        "  blco-ingest calls.tns.gz -o calls.blco --mode-names caller,callee,day\n"
                        "  blco-ingest part1.tns part2.tns -o all.blco --memory 8GiB --duplicates last");
  Arguments arguments;
  add_options(line, arguments);
  return line.run(argc, argv, [&] { ingest(arguments); });
}
