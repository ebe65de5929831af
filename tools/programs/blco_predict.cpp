// blco-predict: what a model says of entries, and where it says it worst.
#include <fmt/format.h>

#include <array>
#include <blco/memory_budget.hpp>
#include <blco/predict.hpp>

#include "tools/programs/ingest_options.hpp"
#include "tools/programs/reporter.hpp"

namespace {

using namespace blco;

constexpr std::uint64_t exactly_counted_cells = 8192;  // PredictSummary::repeated_entries

struct Arguments {
  std::filesystem::path model;
  std::filesystem::path entries;
  std::filesystem::path output;
  bool summary_only = false;
  PredictOptions predict;
};

void add_options(cli::CommandLine& line, Arguments& arguments) {
  PredictOptions& predict = arguments.predict;
  line.add_path("MODEL", arguments.model, {"", "A model from blco-cpd or blco-tucker", cli::required});
  line.add("ENTRIES", arguments.entries, cli::parse_input,
           {"",
            "A container, or what blco-ingest reads: coordinate text, CSV with the labels of the model, plain or "
            "compressed with gzip or zstd, - for standard input; a NumPy archive or an HDF5 file of coordinates",
            cli::required});
  line.add_path(
      "-o,--output", arguments.output,
      {"OUT",
       "A file that ends in .csv or .tsv, optionally followed by .gz or .zst; - is CSV on standard output. It has the "
       "labels or coordinates of each entry, in the order of the input, then its value, the model's value, the "
       "residual (value - model), and the deviance: how much worse than a model that fits this entry alone, "
       "2 (f(value, model) - f(value, best model)) for the loss f"});
  line.add_flag("--summary", arguments.summary_only, "Print the summary alone, and write no entries");
  line.add_whole("--top", predict.top, 1,
                 {"N", "Write only the N entries of the largest deviances, the worst first", "all entries"});
  line.excludes("--summary", {"--output", "--top"});
  line.add(
      "--loss", [&](const std::string& word) { predict.loss = cli::parse_loss_name(word); },
      {"LOSS", "Loss of the deviance: " + cli::loss_choices() + "; of gaussian the deviance is the squared residual",
       "that of the model"});
  line.add_flag("--skip-unknown", predict.skip_unknown,
                "Leave out entries whose index or label the model does not have, and count them");
  line.add_flag("--without-values", predict.without_values,
                "Lines of coordinate text have coordinates alone; only the model's values are written");
  cli::add_table_options(
      line, predict.columns,
      {"COLUMNS",
       "For CSV: the columns of the model's modes, in their order, each as blco-ingest takes it, "
       "such as user,item,when:day",
       "for .csv and .tsv, as for the tensor of the model, else the names of the modes"},
      {"COLUMN", "For CSV: name of the column of values", "none, and only the model's values are written"});
  line.add_flag(
      "--each-entry", predict.each_entry,
      "Take each line or row by itself, in the order of the input, even if entries of equal coordinates became "
      "one in the tensor of the model; without this they become one in the same way");
  line.add_path(
      "--tmp", predict.temporary_directory,
      {"DIR", "Folder for temporary files of entries that become one and do not fit in --memory", "the folder of OUT"});
  line.add_choice<int>("--index-base", predict.index_base, {{"0", 0}, {"1", 1}},
                       "The smallest coordinate in text, read and written; in arrays it is always 0");
  line.add_whole("--skip-lines", predict.skip_lines, 0, {"N", "Number of lines to skip at the start of text"});
  line.add_size("--memory", predict.memory_bytes,
                "Memory budget of the whole job, with the model, its labels and the entries of --top");
  line.add_threads(predict.threads);
}

void check(const Arguments& arguments, const cli::Reporter& reporter) {
  if (arguments.output.empty() && !arguments.summary_only) {
    cli::refuse("-o is required: name a file for the entries with -o, or give --summary");
  }
  if (arguments.output == "-") {
    if (reporter.is_json()) cli::refuse("-o - and --json both write to standard output; give one of them");
    return;
  }
  if (!arguments.output.empty()) cli::check_output(arguments.output, std::array{arguments.model, arguments.entries});
}

PredictSummary run_prediction(const Arguments& arguments, const ProgressCallback& progress) {
  if (arguments.summary_only) {
    return predict(arguments.model, arguments.entries, PredictionSink(), arguments.predict, progress);
  }
  if (arguments.output == "-") {
    return write_predictions(arguments.model, arguments.entries, TextSink(cli::write_to_stdout), TextFormat::csv,
                             arguments.predict, progress);
  }
  return write_predictions(arguments.model, arguments.entries, arguments.output, arguments.predict, progress);
}

// Numbers that are not finite are null in JSON.
cli::Json summary_json(const PredictSummary& summary, const std::filesystem::path& output) {
  cli::Json json = {{"output", output.empty() ? cli::Json() : cli::Json(output.string())},
                    {"input_format", summary.input_format},
                    {"entries", summary.entries},
                    {"written_entries", output.empty() ? 0 : summary.written_entries},
                    {"unknown_entries", summary.unknown_entries},
                    {"skipped_rows", cli::skipped_json(summary.skipped_rows)},
                    {"folded_entries", summary.folded_entries},
                    {"repeated_entries", summary.repeated_entries},
                    {"model", {{"min", summary.min_model}, {"max", summary.max_model}}},
                    {"residual", nullptr},
                    {"deviance", nullptr}};
  if (!summary.has_values) return json;
  json["residual"] = {{"sum_of_squares", summary.sum_of_squares},
                      {"rmse", summary.rmse()},
                      {"mean_absolute_error", summary.mean_absolute_error()},
                      {"min", summary.min_residual},
                      {"max", summary.max_residual}};
  json["deviance"] = {{"loss", to_string(summary.loss)},
                      {"sum", summary.sum_of_deviances},
                      {"max", summary.max_deviance},
                      {"infinite", summary.impossible_entries},
                      {"undefined", summary.entries_without_deviance}};
  return json;
}

std::string entries_text(const PredictSummary& summary) {
  std::string text = cli::format_count(summary.entries);
  if (summary.unknown_entries > 0) {
    text += fmt::format("; {} left out that the model does not know", cli::format_count(summary.unknown_entries));
  }
  std::uint64_t rows = 0;
  for (const SkippedRowCount& skipped : summary.skipped_rows) rows += skipped.rows;
  if (rows > 0) text += fmt::format("; {} with missing fields left out", cli::format_count(rows, "row"));
  return text;
}

// The rows of the summary, on standard error where the entries are on standard output.
void print_summary(cli::Reporter& reporter, const PredictSummary& summary, const std::filesystem::path& output) {
  const auto row = [&](const char* name, const std::string& text) {
    const std::string line = fmt::format("{:<18}{}", name, text);
    output == "-" ? reporter.note(line) : reporter.print(line);
  };
  if (!output.empty() && output != "-") {
    row("predictions", fmt::format("{} ({} entries, {})", output.string(), cli::format_count(summary.written_entries),
                                   cli::format_bytes(std::filesystem::file_size(output))));
  }
  row("entries", entries_text(summary));
  if (summary.entries == 0) return;
  row("model", fmt::format("{:.6g} to {:.6g}", summary.min_model, summary.max_model));
  if (!summary.has_values) return;
  row("residual", fmt::format("{:.6g} to {:.6g}", summary.min_residual, summary.max_residual));
  row("", fmt::format("root mean square {:.6g}, mean magnitude {:.6g}, sum of squares {:.6g}", summary.rmse(),
                      summary.mean_absolute_error(), summary.sum_of_squares));
  row("deviance", fmt::format("{}: sum {:.6g}, largest {:.6g}", to_string(summary.loss), summary.sum_of_deviances,
                              summary.max_deviance));
}

void predict_entries(const Arguments& arguments, cli::Reporter& reporter) {
  check(arguments, reporter);
  const ProgressCallback progress = reporter.progress();
  const std::string over = budget_note(arguments.predict.memory_bytes);
  if (!over.empty()) reporter.note(over);
  reporter.note("reading {}", arguments.entries.string());
  const PredictSummary summary = run_prediction(arguments, progress);
  print_summary(reporter, summary, arguments.output);
  if (summary.folded_entries > summary.entries) {
    reporter.note(
        "{} entries became {} by --duplicates {}, as for the tensor of the model; --each-entry takes each by itself",
        cli::format_count(summary.folded_entries), cli::format_count(summary.entries), to_string(summary.duplicates));
  }
  if (summary.repeated_entries > 0) {
    reporter.note(
        "{}{} of {} entries repeat the coordinates of another; a model says one value for all of these, so if it is of "
        "their sums or counts, give the container that blco-ingest makes of them",
        summary.entries > exactly_counted_cells ? "about " : "", cli::format_count(summary.repeated_entries),
        cli::format_count(summary.entries));
  }
  if (summary.impossible_entries > 0) {
    reporter.note(
        "the deviance of {} entries is infinite: there the model is below 0, which the loss {} does not take, or not "
        "finite",
        cli::format_count(summary.impossible_entries), to_string(summary.loss));
  }
  if (summary.entries_without_deviance > 0) {
    reporter.note("{} entr{} of 0 without a deviance: the loss {} takes numbers above 0",
                  cli::format_count(summary.entries_without_deviance),
                  summary.entries_without_deviance == 1 ? "y" : "ies", to_string(summary.loss));
  }
  reporter.event("result", summary_json(summary, arguments.output));
}

}  // namespace

int main(int argc, char** argv) {
  cli::CommandLine line("blco-predict", "Writes what a model says of entries: its values, residuals and deviances.",
                        "  blco-predict clicks-model.h5 clicks.blco -o predictions.csv.gz\n"
                        "  blco-predict clicks-model.h5 clicks.blco --top 20 -o -\n"
                        "  blco-predict clicks-model.h5 new.csv --value count --skip-unknown -o predictions.csv\n"
                        "  blco-predict calls-model.h5 held-out.tns --loss poisson --summary");
  Arguments arguments;
  add_options(line, arguments);
  cli::Reporter reporter(line, argc, argv);
  return line.run(argc, argv, [&] {
    arguments.predict.model_name = arguments.model.string();
    predict_entries(arguments, reporter);
  });
}
