// blco-gen: makes seeded synthetic tensors, as text or directly as a container.
#include <blco/generate.hpp>

#include "tools/programs/ingest_options.hpp"
#include "tools/programs/reporter.hpp"

namespace {

using namespace blco;

struct Arguments {
  std::filesystem::path output;
  GenerateOptions generate;
  IngestOptions ingest;
};

void add_options(cli::CommandLine& line, Arguments& arguments) {
  GenerateOptions& generate = arguments.generate;
  line.add_path("-o,--output", arguments.output,
                {"OUT", "Output file: text if its name ends in .tns, .tns.gz or .tns.zst, otherwise a BLCO container",
                 cli::required});
  line.add("--shape", generate.shape, cli::parse_shape,
           {"SHAPE", "Length of each mode, such as 100x200x300", cli::required});
  line.add_whole("--nnz", generate.nnz, 1,
                 {"N", "Entries to draw; a container sums entries with equal coordinates, so it has fewer nonzeros",
                  cli::required});
  line.add_whole("--seed", generate.seed, 0, {"N", "Seed; the same seed and options give the same tensor"});
  line.add_whole(
      "--rank", generate.planted_rank, 0,
      {"R", "Rank of the CP model that the values follow; 0 for noise only (all values are 1 if --noise is 0)"});
  line.add_real(
      "--skew", generate.skew,
      "How unevenly nonzeros spread over the indices of a mode, up to 64: 1 is uniform, 3 is like event logs");
  line.add_real("--noise", generate.noise,
                "Maximum of the uniform noise that is added to the values of the model, whose mean is 1");
  line.add_flag("--counts", generate.counts, "Round values up to positive whole numbers");
  line.add_threads(arguments.ingest.threads);
  line.add_size("--memory", arguments.ingest.memory_bytes,
                "Memory budget for writing a container; entries that do not fit are sorted with temporary files");
  cli::add_container_options(line, arguments.ingest);
}

bool is_text(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".tns") || name.ends_with(".tns.gz") || name.ends_with(".tns.zst");
}

void generate(const cli::CommandLine& line, const Arguments& arguments, cli::Reporter& reporter) {
  cli::check_output(arguments.output, {});
  if (is_text(arguments.output)) {
    for (const char* option : {"--memory", "--tmp", "--reorder", "--orders", "--compression", "--chunk-nnz"}) {
      if (line.has(option)) cli::refuse(std::string(option) + " is of a container, but -o names text; leave it out");
    }
  }
  const ProgressCallback progress = reporter.progress();
  std::vector<std::string> notes;
  reporter.note("drawing {} entries of {}", cli::format_count(arguments.generate.nnz),
                cli::format_shape(arguments.generate.shape));
  std::string what = "entries of text";
  std::uint64_t nnz = arguments.generate.nnz;
  if (is_text(arguments.output)) {
    generate_text(arguments.generate, arguments.output, arguments.ingest.threads, progress);
  } else {
    IngestReport report = generate_container(arguments.generate, arguments.output, arguments.ingest, progress);
    nnz = report.nnz;
    notes = std::move(report.notes);
    what = "nonzeros";
  }
  for (const std::string& note : notes) reporter.note(note);
  const std::uint64_t file_bytes = std::filesystem::file_size(arguments.output);
  reporter.event(
      "result",
      {{"output", arguments.output.string()}, {"nonzeros", nnz}, {"file_bytes", file_bytes}, {"notes", notes}});
  reporter.print("{} ({} {}, {})", arguments.output.string(), cli::format_count(nnz), what,
                 cli::format_bytes(file_bytes));
}

}  // namespace

int main(int argc, char** argv) {
  cli::CommandLine line("blco-gen", "Generates a random sparse tensor, for tests and demonstrations.",
                        "  blco-gen --shape 1000x800x600 --nnz 100000 -o small.tns.gz\n"
                        "  blco-gen --shape 20000x15000x365x24 --nnz 11000000 --skew 4 --counts --chunk-nnz 131072 "
                        "--memory 24MiB -o events.blco");
  Arguments arguments;
  add_options(line, arguments);
  cli::Reporter reporter(line, argc, argv);
  return line.run(argc, argv, [&] { generate(line, arguments, reporter); });
}
