// blco-info: describes a BLCO container or a model, and verifies it.
#include <array>
#include <blco/report.hpp>
#include <blco/verify.hpp>
#include <limits>

#include "tools/programs/info.hpp"

namespace {

using namespace blco;

struct Arguments {
  std::filesystem::path path;
  std::filesystem::path other;
  std::filesystem::path page;
  std::filesystem::path tensor;
  bool histogram = false;
  bool verify = false;
  SummaryOptions summary;
  int index_base = 1;
  MemoryBudget budget;
  int threads = 0;
};

void show(const Arguments& arguments, bool model, bool tucker, cli::Reporter& reporter) {
  if (tucker) {
    return info::report_tucker(reporter, arguments.path, load_tucker(arguments.path), arguments.summary,
                               arguments.index_base);
  }
  if (model) {
    return info::report_model(reporter, arguments.path, load_model(arguments.path), arguments.summary,
                              arguments.index_base);
  }
  const TensorFile file(arguments.path);
  std::optional<TensorStatistics> statistics;
  if (arguments.histogram) {
    statistics = measure_statistics(file, arguments.budget, arguments.threads, reporter.progress());
  }
  info::report_tensor(reporter, arguments.path, file.summary(), statistics);
}

void verify_tensor(const Arguments& arguments, cli::Reporter& reporter) {
  const VerifiedTensor verified =
      verify(TensorFile(arguments.path), arguments.budget, arguments.threads, reporter.progress());
  reporter.event("result", {{"type", "verified"},
                            {"file", arguments.path.string()},
                            {"chunks", verified.chunks},
                            {"nonzeros", verified.nonzeros},
                            {"bytes", verified.stored_bytes}});
  reporter.print("verified {}: {}, {}, {} read, ok", arguments.path.string(),
                 cli::format_count(verified.chunks, "chunk"), cli::format_count(verified.nonzeros, "nonzero"),
                 cli::format_bytes(verified.stored_bytes));
}

// How the line about a model's check ends.
const char* end_of_check(bool has_checksum) {
  return has_checksum ? "ok"
                      : "ok, but its trailer, the checksum, is missing: it was cut off there, or another "
                        "program has written it";
}

void verify_model(const Arguments& arguments, cli::Reporter& reporter) {
  const CpdModel model = load_model(arguments.path);
  try {
    verify(model);
  } catch (const Error& error) {
    throw Error(error.kind(), arguments.path.string() + ": " + error.what());
  }
  const auto sweeps = static_cast<std::uint64_t>(model.sweeps());
  const bool checksum = has_trailer(arguments.path);
  reporter.event("result", {{"type", "verified"},
                            {"file", arguments.path.string()},
                            {"rank", model.rank},
                            {"sweeps", sweeps},
                            {"checksum", checksum}});
  reporter.print("verified {}: model of rank {}, {}, {}, {}", arguments.path.string(), model.rank,
                 cli::format_count(model.shape.size(), "mode"), cli::format_count(sweeps, "sweep"),
                 end_of_check(checksum));
}

void verify_tucker(const Arguments& arguments, cli::Reporter& reporter) {
  const TuckerModel model = load_tucker(arguments.path);
  const bool checksum = has_trailer(arguments.path);
  reporter.event(
      "result",
      {{"type", "verified"}, {"file", arguments.path.string()}, {"ranks", model.ranks}, {"checksum", checksum}});
  reporter.print("verified {}: Tucker model of ranks {}, {}", arguments.path.string(), cli::format_shape(model.ranks),
                 end_of_check(checksum));
}

void write_page(const Arguments& arguments, const cli::CommandLine& line, cli::Reporter& reporter) {
  cli::check_output(arguments.page, std::array{arguments.path, arguments.tensor}, "--report");
  ReportOptions options{.title = arguments.path.filename().string(),
                        .index_base = arguments.index_base,
                        .memory_bytes = arguments.budget.host_bytes,
                        .threads = arguments.threads};
  if (line.has("--components")) options.components = arguments.summary.components;
  if (line.has("--top")) options.entries = arguments.summary.entries;
  if (is_model(arguments.path)) {
    const CpdModel model = load_model(arguments.path);
    std::optional<TensorFile> tensor;
    if (!arguments.tensor.empty()) options.tensor = &tensor.emplace(arguments.tensor);
    write_report(model, arguments.page, options, reporter.progress());
  } else if (!arguments.tensor.empty()) {
    cli::refuse("--tensor applies to pages about models of blco-cpd, but " + arguments.path.string() + " is none");
  } else if (is_tucker(arguments.path)) {
    write_report(load_tucker(arguments.path), arguments.page, options);
  } else if (line.has("--components")) {
    cli::refuse("--components applies to models, but " + arguments.path.string() + " is none");
  } else {
    write_report(TensorFile(arguments.path), arguments.page, options, reporter.progress());
  }
  reporter.event("result",
                 {{"type", "report"}, {"file", arguments.path.string()}, {"output", arguments.page.string()}});
  reporter.print("report  {}", arguments.page.string());
}

void run(const Arguments& arguments, const cli::CommandLine& line, cli::Reporter& reporter) {
  const bool model = is_model(arguments.path);
  const bool tucker = !model && is_tucker(arguments.path);
  if (arguments.histogram && (model || tucker)) cli::refuse("--histogram applies to tensors, but the file is a model");
  if (!model && !tucker && arguments.page.empty() && arguments.other.empty()) {
    for (const char* option : {"--components", "--top"}) {
      if (line.has(option)) cli::refuse(fmt::format("{} applies to models, but the file is a tensor", option));
    }
  }
  if (!arguments.page.empty()) {
    write_page(arguments, line, reporter);
  } else if (!arguments.other.empty()) {
    // The first file is read before the other.
    if (tucker) {
      const TuckerModel first = load_tucker(arguments.path);
      return info::report_angles(reporter, arguments.path, first, arguments.other, load_tucker(arguments.other));
    }
    const CpdModel first = load_model(arguments.path);
    info::report_match(reporter, arguments.path, first, arguments.other, load_model(arguments.other));
  } else if (arguments.verify) {
    if (tucker) return verify_tucker(arguments, reporter);
    model ? verify_model(arguments, reporter) : verify_tensor(arguments, reporter);
  } else {
    show(arguments, model, tucker, reporter);
  }
}

constexpr const char* about =
    "Shows what is in a BLCO container or a model, or verifies it.\n"
    "The fit of a model is 1 - |X - model| / |X|, where cells that are not listed in the tensor X count as zero.\n"
    "The share of a component is its weight over the sum of all weights, each without its sign.";

constexpr const char* help_end =
    "  blco-info calls.blco\n"
    "  blco-info calls.blco --histogram\n"
    "  blco-info calls.blco --verify\n"
    "  blco-info calls.blco --report calls.html\n"
    "  blco-info calls-model.h5 --components all --top 5\n"
    "  blco-info calls-model.h5 --compare other-seed.h5\n"
    "  blco-info calls-model.h5 --report calls-model.html --tensor calls.blco";

}  // namespace

int main(int argc, char** argv) {
  cli::CommandLine line("blco-info", about, help_end);
  Arguments arguments;
  line.add_path("FILE", arguments.path,
                {"", "A container from blco-ingest, or a model from blco-cpd or blco-tucker", cli::required});
  line.add_flag("--histogram", arguments.histogram,
                "Read the whole tensor, and show histograms of its values and of the nonzeros per slice");
  line.add_flag("--verify", arguments.verify, "Read and check the whole file; the exit code is 4 if it is damaged");
  line.add_path(
      "--compare", arguments.other,
      {"MODEL",
       "Pair the components of FILE with those of another model, and show how alike they are; of Tucker models "
       "the angles between the spaces of their columns",
       "show FILE alone"});
  line.add_path("--report", arguments.page,
                {"PAGE",
                 "Write a page of HTML about a model, with plots of all components and ten entries per mode unless "
                 "--components and --top say otherwise; or about a tensor, with what each mode's slices hold",
                 "no page"});
  line.add_path(
      "--tensor", arguments.tensor,
      {"TENSOR",
       "The tensor of a model of blco-cpd, for the lift of each entry in --report: how much more common it is in "
       "the component than in the tensor; and for outliers, rows of much leverage or with a large residual",
       "no lift, no outliers"});
  line.excludes("--verify", {"--histogram", "--compare"});
  line.excludes("--report", {"--verify", "--histogram", "--compare"});
  line.needs("--tensor", "--report");
  constexpr std::uint64_t max = std::numeric_limits<std::uint32_t>::max();
  line.add(
      "--components", arguments.summary.components,
      [](const std::string& word) { return word == "all" ? max : cli::parse_whole(word, 0, max); },
      {"N",
       "Number of components of a model to show, those of largest weight first, or all; of a Tucker model numbers of "
       "the core",
       "10"});
  line.add_whole("--top", arguments.summary.entries, 0,
                 {"N", "Number of entries to show per mode of a component, largest first"});
  line.add_choice("--index-base", arguments.index_base, {{"0", 0}, {"1", 1}},
                  "Number of the first coordinate of a mode without labels, as in the ingested text");
  line.add_size("--memory", arguments.budget.host_bytes,
                "Memory budget of --histogram, --verify, --tensor, and --report of a tensor; with less memory, "
                "--histogram reads the tensor "
                "several times");
  line.add_threads(arguments.threads);
  cli::Reporter reporter(line, argc, argv);
  return line.run(argc, argv, [&] { run(arguments, line, reporter); });
}
