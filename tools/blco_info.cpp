// blco-info: what is in a BLCO container or a model, and whether all of it is right.
#include <fmt/format.h>

#include <limits>

#include "tools/cli.hpp"
#include "tools/info.hpp"

namespace {

using namespace blco;

struct Arguments {
  std::filesystem::path path;
  bool histogram = false;
  bool verify = false;
  bool json = false;
  SummaryOptions summary;
  info::CoordinateNames names;
  MemoryBudget budget;
  int threads = 0;
};

void show_tensor(const Arguments& arguments) {
  const TensorFile file(arguments.path);
  std::optional<TensorStatistics> statistics;
  if (arguments.histogram) statistics = measure_statistics(file, arguments.budget, arguments.threads);
  if (arguments.json) {
    fmt::print("{}\n", info::tensor_json(arguments.path, file.summary(), statistics));
  } else {
    info::print_tensor(arguments.path, file.summary(), statistics);
  }
}

void show_model(const Arguments& arguments) {
  const CpdModel model = load_model(arguments.path);
  const std::vector<ComponentSummary> components = summarize_components(model, arguments.summary);
  if (arguments.json) {
    fmt::print("{}\n", info::model_json(arguments.path, model, components, arguments.names));
  } else {
    info::print_model(arguments.path, model, components, arguments.summary, arguments.names);
  }
}

void verify_tensor(const Arguments& arguments) {
  const VerifiedTensor verified = verify(TensorFile(arguments.path), arguments.budget, arguments.threads);
  if (arguments.json) {
    fmt::print("{}\n", info::verified_json(arguments.path, verified));
  } else {
    fmt::print("verified {}: {} chunk{}, {} nonzeros, {} read, ok\n", arguments.path.string(),
               cli::format_count(verified.chunks), verified.chunks == 1 ? "" : "s",
               cli::format_count(verified.nonzeros), cli::format_bytes(verified.stored_bytes));
  }
}

void verify_model(const Arguments& arguments) {
  const CpdModel model = load_model(arguments.path);
  try {
    verify(model);
  } catch (const Error& error) {
    throw Error(error.kind(), arguments.path.string() + ": " + error.what());
  }
  if (arguments.json) {
    fmt::print("{}\n", info::verified_json(arguments.path, model));
  } else {
    fmt::print("verified {}: model of rank {}, {} modes, {} sweeps, ok\n", arguments.path.string(), model.rank,
               model.shape.size(), model.fit_history.size());
  }
}

void run(const Arguments& arguments) {
  const bool model = is_model(arguments.path);
  if (arguments.histogram && (model || arguments.verify)) {
    throw Error(ErrorKind::invalid_argument, model ? "--histogram is of tensors, and this is a model"
                                                   : "--histogram and --verify are two runs; give one of them");
  }
  if (arguments.verify) {
    model ? verify_model(arguments) : verify_tensor(arguments);
  } else {
    model ? show_model(arguments) : show_tensor(arguments);
  }
}

constexpr const char* help_end =
    "  blco-info calls.blco\n"
    "  blco-info calls.blco --histogram\n"
    "  blco-info calls.blco --verify\n"
    "  blco-info calls-model.h5 --components all --top 5\n"
    "\n"
    "Keys of --json, in bytes and counts, rows and components from 0:\n"
    "  all      type (tensor, model, verified), file\n"
    "  tensor   shape, mode_names, nonzeros, density, norm, line_bits, chunks, chunk_nonzeros, file_bytes,\n"
    "           bytes_per_nonzero; index, key, value: stored_bytes, streamed_bytes\n"
    "           with --histogram also values: min, max, mean, whole_numbers, distinct, more_distinct (than\n"
    "           those), histogram (lower, upper, count); slices, per mode: slices, empty, min, max, mean,\n"
    "           median, histogram (least, most, slices)\n"
    "  model    shape, mode_names, rank, fit, fit_history, sweeps, stopped_by, seed; components: component,\n"
    "           weight, share, modes: sparsity, largest (row, name, value)\n"
    "  verified chunks, nonzeros, bytes; or rank, sweeps";

}  // namespace

int main(int argc, char** argv) {
  cli::CommandLine line("blco-info", "Prints what is in a BLCO container or in a model, or verifies all of it.",
                        help_end);
  Arguments arguments;
  line.add_path("FILE", arguments.path,
                {.type = "", .description = "A container of blco-ingest or a model of blco-cpd", .required = true});
  line.add_flag("--histogram", arguments.histogram,
                "Read the whole tensor, and show its values and the nonzeros per slice");
  line.add_flag("--verify", arguments.verify, "Read everything and check it; ends with code 4 if it is not right");
  const auto components = [&](const std::string& word) {
    arguments.summary.components =
        word == "all" ? std::numeric_limits<std::size_t>::max()
                      : static_cast<std::size_t>(cli::parse_whole(word, 0, std::numeric_limits<std::uint32_t>::max()));
  };
  line.add("--components", components,
           {.type = "N", .description = "Components of a model to show, by weight, or all", .fallback = "10"});
  line.add_whole("--top", arguments.summary.entries, 0,
                 {.type = "N", .description = "Entries to show of each mode of a component", .fallback = "3"});
  line.add_choice("--index-base", arguments.names.index_base, {{"0", 0}, {"1", 1}},
                  "Number of the first coordinate of a mode, as in the text that was ingested");
  line.add_flag("--json", arguments.json, "Print one JSON object on a line");
  line.add_size("--host-memory", arguments.budget.host_bytes, "For --histogram and --verify");
  line.add_threads(arguments.threads);
  return line.run(argc, argv, [&] { run(arguments); });
}
