// blco-export: converts a container back to text, or a model to tables and NumPy arrays or text.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <blco/export.hpp>
#include <blco/tucker.hpp>
#include <optional>
#include <variant>

#include "tools/programs/cli.hpp"
#include "tools/programs/reporter.hpp"

namespace {

using namespace blco;

using Format = std::variant<ArrayFormat, TextFormat>;

struct Arguments {
  std::filesystem::path input;
  std::filesystem::path output;
  int index_base = 1;
  std::optional<Format> format;  // none: npy of a model, tns of a tensor
  int threads = 0;
  std::string order_of;
};

void add_options(cli::CommandLine& line, Arguments& arguments) {
  line.add_path("FILE", arguments.input,
                {"", "A container from blco-ingest, or a model from blco-cpd or blco-tucker", cli::required});
  line.add_path(
      "-o,--output", arguments.output,
      {"OUT",
       "For a tensor: a file that ends in .tns (coordinates) or in .csv or .tsv (a header, and labels in place of "
       "coordinates), optionally followed by .gz or .zst; - is standard output. For a model: a folder for one file per "
       "array, and one table (.csv) per mode",
       cli::required});
  line.add_choice("--index-base", arguments.index_base, {{"0", 0}, {"1", 1}},
                  "The smallest coordinate in text and tables");
  line.add_choice<std::optional<Format>>(
      "--format", arguments.format,
      {{"npy", ArrayFormat::npy},
       {"txt", ArrayFormat::text},
       {"tns", TextFormat::tns},
       {"csv", TextFormat::csv},
       {"tsv", TextFormat::tsv}},
      "For a model: arrays of NumPy (npy, the default) or text (txt), beside the tables. For a tensor on standard "
      "output: tns (the default), csv or tsv; for a tensor in a file, its name decides");
  line.add(
      "--order-of", [&](const std::string& word) { arguments.order_of = word; },
      {"MODE",
       "For a tensor: the nonzeros of each chunk in the order of this mode, a name or a number from 0, of which the "
       "container must have a copy (blco-ingest --orders)",
       "the natural order"});
  line.add_threads(arguments.threads);
}

void export_tensor(const Arguments& arguments, cli::Reporter& reporter) {
  if (arguments.format && std::holds_alternative<ArrayFormat>(*arguments.format))
    cli::refuse("--format npy and --format txt apply to models; export a tensor as tns, csv or tsv");
  if (arguments.format && arguments.output != "-") {
    cli::refuse(
        "for a tensor, --format applies to standard output only; the name of a file decides its format, such as "
        "out.csv.gz");
  }
  const TextOptions options{arguments.index_base, arguments.threads,
                            std::get<TextFormat>(arguments.format.value_or(TextFormat::tns)), arguments.order_of};
  const TensorFile tensor(arguments.input);
  if (arguments.output == "-") {
    if (reporter.is_json()) cli::refuse("-o - and --json both write to standard output; give one of them");
    export_text(tensor, TextSink(cli::write_to_stdout), options, reporter.progress());
    return;
  }
  cli::check_output(arguments.output, std::array{arguments.input});
  const TextReport report = export_text(tensor, arguments.output, options, reporter.progress());
  const std::uint64_t file_bytes = std::filesystem::file_size(arguments.output);
  reporter.event("result",
                 {{"output", arguments.output.string()}, {"nonzeros", report.nnz}, {"file_bytes", file_bytes}});
  reporter.print("{} ({} nonzeros, {})", arguments.output.string(), cli::format_count(report.nnz),
                 cli::format_bytes(file_bytes));
}

// `load` gives a model of either kind.
template <class Load>
void export_arrays(const Arguments& arguments, const Load& load, cli::Reporter& reporter) {
  if (!arguments.order_of.empty()) cli::refuse("--order-of applies to tensors; a model has one order");
  if (arguments.format && std::holds_alternative<TextFormat>(*arguments.format))
    cli::refuse("--format tns, csv and tsv apply to tensors; export a model as npy or txt");
  static constexpr std::array endings{".npy", ".npz", ".txt", ".csv", ".tsv", ".tns", ".gz", ".zst", ".h5"};
  const std::string ending = arguments.output.extension().string();
  if (arguments.output == "-" || std::ranges::find(endings, ending) != endings.end()) {
    cli::refuse(fmt::format("cannot export a model to {}: a model becomes one file per array; name a folder with -o",
                            arguments.output.string()));
  }
  const auto model = load(arguments.input);
  const auto format = std::get<ArrayFormat>(arguments.format.value_or(ArrayFormat::npy));
  cli::Json files = cli::Json::array();
  std::size_t label_files = 0;
  for (const auto& name : export_model(model, arguments.output, format, reporter.progress(), arguments.index_base)) {
    label_files += name.string().ends_with(".labels.txt") ? 1 : 0;
    reporter.print("{} ({})", name.string(), cli::format_bytes(std::filesystem::file_size(name)));
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
    if (is_tucker(arguments.input)) return export_arrays(arguments, load_tucker, reporter);
    if (is_model(arguments.input)) return export_arrays(arguments, load_model, reporter);
    export_tensor(arguments, reporter);
  });
}
