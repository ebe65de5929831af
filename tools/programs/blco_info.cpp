// blco-info: describes a BLCO container or a model, and verifies it.
#include <fmt/format.h>

#include <limits>

#include "tools/programs/cli.hpp"
#include "tools/programs/info.hpp"
#include "tools/programs/reporter.hpp"

namespace {

using namespace blco;

struct Arguments {
  std::filesystem::path path;
  std::filesystem::path other;
  bool histogram = false;
  bool verify = false;
  SummaryOptions summary;
  int index_base = 1;
  MemoryBudget budget;
  int threads = 0;
};

const char* plural(std::uint64_t count) { return count == 1 ? "" : "s"; }

void show_tensor(const Arguments& arguments, cli::Reporter& reporter) {
  const TensorFile file(arguments.path);
  std::optional<TensorStatistics> statistics;
  if (arguments.histogram) {
    statistics = measure_statistics(file, arguments.budget, arguments.threads, reporter.progress());
  }
  reporter.event("result", info::tensor_json(arguments.path, file.summary(), statistics));
  if (reporter.is_text()) info::print_tensor(arguments.path, file.summary(), statistics);
}

void show_model(const Arguments& arguments, cli::Reporter& reporter) {
  const CpdModel model = load_model(arguments.path);
  const std::vector<ComponentSummary> components = summarize_components(model, arguments.summary);
  const info::CoordinateNames names{arguments.index_base, model.labels};
  reporter.event("result", info::model_json(arguments.path, model, components, names));
  if (reporter.is_text()) info::print_model(arguments.path, model, components, arguments.summary, names);
}

void compare_models(const Arguments& arguments, cli::Reporter& reporter) {
  const CpdModel model = load_model(arguments.path);
  const CpdModel other = load_model(arguments.other);
  const ModelMatch match = match_components(model, other);
  reporter.event("result", info::match_json(arguments.path, arguments.other, match));
  if (reporter.is_text()) info::print_match(arguments.path, model, arguments.other, other, match);
}

void verify_tensor(const Arguments& arguments, cli::Reporter& reporter) {
  const VerifiedTensor verified =
      verify(TensorFile(arguments.path), arguments.budget, arguments.threads, reporter.progress());
  reporter.event("result", info::verified_json(arguments.path, verified));
  reporter.print(fmt::format("verified {}: {} chunk{}, {} nonzero{}, {} read, ok", arguments.path.string(),
                             cli::format_count(verified.chunks), plural(verified.chunks),
                             cli::format_count(verified.nonzeros), plural(verified.nonzeros),
                             cli::format_bytes(verified.stored_bytes)));
}

void verify_model(const Arguments& arguments, cli::Reporter& reporter) {
  const CpdModel model = load_model(arguments.path);
  try {
    verify(model);
  } catch (const Error& error) {
    throw Error(error.kind(), arguments.path.string() + ": " + error.what());
  }
  reporter.event("result", info::verified_json(arguments.path, model));
  reporter.print(fmt::format("verified {}: model of rank {}, {} mode{}, {} sweep{}, ok", arguments.path.string(),
                             model.rank, model.shape.size(), plural(model.shape.size()), model.sweeps(),
                             plural(model.sweeps())));
}

void run(const Arguments& arguments, cli::Reporter& reporter) {
  const bool model = is_model(arguments.path);
  if (arguments.histogram && (model || arguments.verify)) {
    throw Error(ErrorKind::invalid_argument, model ? "--histogram applies to tensors, but the file is a model"
                                                   : "give --histogram or --verify, not both");
  }
  if (!arguments.other.empty()) {
    if (!model) refuse("--compare applies to models, but " + arguments.path.string() + " is none");
    if (arguments.verify) refuse("give --compare or --verify, not both");
    compare_models(arguments, reporter);
  } else if (arguments.verify) {
    model ? verify_model(arguments, reporter) : verify_tensor(arguments, reporter);
  } else {
    model ? show_model(arguments, reporter) : show_tensor(arguments, reporter);
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
    "  blco-info calls-model.h5 --components all --top 5\n"
    "  blco-info calls-model.h5 --compare other-seed.h5";

}  // namespace

int main(int argc, char** argv) {
  cli::CommandLine line("blco-info", about, help_end);
  Arguments arguments;
  line.add_path("FILE", arguments.path,
                {.type = "", .description = "A container from blco-ingest or a model from blco-cpd", .required = true});
  line.add_flag("--histogram", arguments.histogram,
                "Read the whole tensor, and show histograms of its values and of the nonzeros per slice");
  line.add_flag("--verify", arguments.verify, "Read and check the whole file; the exit code is 4 if it is damaged");
  line.add_path("--compare", arguments.other,
                {.type = "MODEL",
                 .description = "Pair the components of FILE with those of another model, and show how alike they are",
                 .fallback = "show FILE alone"});
  const auto components = [&](const std::string& word) {
    arguments.summary.components =
        word == "all" ? std::numeric_limits<std::size_t>::max()
                      : static_cast<std::size_t>(cli::parse_whole(word, 0, std::numeric_limits<std::uint32_t>::max()));
  };
  line.add("--components", components,
           {.type = "N",
            .description = "Number of components of a model to show, those of largest weight first, or all",
            .fallback = "10"});
  line.add_whole("--top", arguments.summary.entries, 0,
                 {.type = "N",
                  .description = "Number of entries to show per mode of a component, largest first",
                  .fallback = "3"});
  line.add_choice("--index-base", arguments.index_base, {{"0", 0}, {"1", 1}},
                  "Number of the first coordinate of a mode without labels, as in the ingested text");
  line.add_size(
      "--memory", arguments.budget.host_bytes,
      "Memory budget of --histogram and --verify; with less memory, --histogram reads the tensor several times");
  line.add_threads(arguments.threads);
  cli::Reporter reporter(line, argc, argv);
  return line.run(argc, argv, [&] { run(arguments, reporter); });
}
