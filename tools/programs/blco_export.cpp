// blco-export: converts a container back to text, or a model to tables and NumPy arrays or text.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <blco/export.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "tools/programs/cli.hpp"
#include "tools/programs/reporter.hpp"

namespace {

using namespace blco;

struct Arguments {
  std::filesystem::path input;
  std::filesystem::path output;
  std::optional<int> index_base;
  std::optional<ArrayFormat> array_format;
  std::optional<TextFormat> text_format;
  int threads = 0;
};

void add_options(cli::CommandLine& line, Arguments& arguments) {
  line.add_path("FILE", arguments.input,
                {.type = "", .description = "A container from blco-ingest or a model from blco-cpd", .required = true});
  line.add_path(
      "-o,--output", arguments.output,
      {.type = "OUT",
       .description = "For a tensor: a file that ends in .tns (coordinates) or in .csv or .tsv (a header, and "
                      "labels in place of coordinates), optionally followed by .gz or .zst; - is standard output. "
                      "For a model: a folder for one file per array, and one table (.csv) per mode",
       .required = true});
  line.add("--index-base",
           [&](const std::string& word) { arguments.index_base = static_cast<int>(cli::parse_whole(word, 0, 1)); },
           {.type = "0|1", .description = "The smallest coordinate in text and tables", .fallback = "1"});
  line.add(
      "--format",
      [&](const std::string& word) {
        if (word == "npy" || word == "txt") {
          arguments.array_format = word == "npy" ? ArrayFormat::npy : ArrayFormat::text;
        } else if (word == "tns" || word == "csv" || word == "tsv") {
          arguments.text_format = word == "tns" ? TextFormat::tns : word == "csv" ? TextFormat::csv : TextFormat::tsv;
        } else {
          refuse(fmt::format("'{}' is not one of npy|txt|tns|csv|tsv", word));
        }
      },
      {.type = "npy|txt|tns|csv|tsv",
       .description = "For a model: arrays of NumPy (npy) or text (txt), beside the tables. For a tensor on standard "
                      "output: tns, csv or "
                      "tsv; for a tensor in a file, its name decides",
       .fallback = "npy for a model, tns for a tensor"});
  line.add_threads(arguments.threads);
}

void write_to_stdout(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size()) return;
  throw Error(ErrorKind::io, fmt::format("cannot write to standard output: {}", std::strerror(errno)));
}

void export_tensor(const Arguments& arguments, cli::Reporter& reporter) {
  if (arguments.array_format)
    refuse("--format npy and --format txt apply to models; export a tensor as tns, csv or tsv");
  if (arguments.text_format && arguments.output != "-") {
    refuse(
        "for a tensor, --format applies to standard output only; the name of a file decides its format, such as "
        "out.csv.gz");
  }
  const TextOptions options{arguments.index_base.value_or(1), arguments.threads,
                            arguments.text_format.value_or(TextFormat::tns)};
  const TensorFile tensor(arguments.input);
  if (arguments.output == "-") {
    if (reporter.is_json()) refuse("-o - and --json both write to standard output; give one of them");
    export_text(tensor, TextSink(write_to_stdout), options, reporter.progress());
    return;
  }
  cli::check_output(arguments.output, std::array{arguments.input});
  const TextReport report = export_text(tensor, arguments.output, options, reporter.progress());
  const std::uint64_t file_bytes = std::filesystem::file_size(arguments.output);
  reporter.event("result",
                 {{"output", arguments.output.string()}, {"nonzeros", report.nnz}, {"file_bytes", file_bytes}});
  reporter.print(fmt::format("{} ({} nonzeros, {})", arguments.output.string(), cli::format_count(report.nnz),
                             cli::format_bytes(file_bytes)));
}

void export_arrays(const Arguments& arguments, cli::Reporter& reporter) {
  if (arguments.text_format) refuse("--format tns, csv and tsv apply to tensors; export a model as npy or txt");
  static constexpr std::array endings{".npy", ".npz", ".txt", ".csv", ".tsv", ".tns", ".gz", ".zst", ".h5"};
  const std::string ending = arguments.output.extension().string();
  if (arguments.output == "-" || std::ranges::find(endings, ending) != endings.end()) {
    refuse(fmt::format("cannot export a model to {}: a model becomes one file per array; name a folder with -o",
                       arguments.output.string()));
  }
  const CpdModel model = load_model(arguments.input);
  const ArrayFormat format = arguments.array_format.value_or(ArrayFormat::npy);
  cli::Json files = cli::Json::array();
  const int index_base = arguments.index_base.value_or(1);
  std::size_t label_files = 0;
  for (const auto& name : export_model(model, arguments.output, format, reporter.progress(), index_base)) {
    label_files += name.string().ends_with(".labels.txt") ? 1 : 0;
    reporter.print(fmt::format("{} ({})", name.string(), cli::format_bytes(std::filesystem::file_size(name))));
    files.push_back(name.string());
  }
  const auto labelled = std::ranges::count_if(model.labels, [](const Labels& labels) { return !labels.empty(); });
  if (label_files < static_cast<std::size_t>(labelled)) {
    reporter.note("labels with line breaks are in the .csv file of their mode, and in no .labels.txt");
  }
  reporter.event("result", {{"outputs", files}});
}

}  // namespace

int main(int argc, char** argv) {
  cli::CommandLine line("blco-export", "Writes a container as text, or a model as tables and NumPy arrays or text.",
                        "  blco-export calls.blco -o calls.tns.gz\n"
                        "  blco-export clicks.blco -o clicks.csv\n"
                        "  blco-export calls.blco -o - | head\n"
                        "  blco-export calls-model.h5 -o factors --format txt");
  Arguments arguments;
  add_options(line, arguments);
  cli::Reporter reporter(line, argc, argv);
  return line.run(argc, argv, [&] {
    is_model(arguments.input) ? export_arrays(arguments, reporter) : export_tensor(arguments, reporter);
  });
}
