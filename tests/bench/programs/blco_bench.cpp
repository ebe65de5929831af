// blco-bench: measures MTTKRP on a tensor, in memory and streamed, what bounds it, and how other formats compare; or
// the products of Tucker models.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "tests/bench/measure/product_benchmark.hpp"
#include "tests/bench/programs/bench_report.hpp"
#include "tools/programs/cli.hpp"
// After the headers of kernels/:
#include "tests/vector_limit.hpp"

namespace {

using namespace blco;

using Devices = std::vector<std::string>;

struct Arguments {
  std::filesystem::path tensor;
  MemoryBudget cap;
  CpdOptions cpd;
  int repeats = 0;  // 0: as usual
  TensorProduct product = TensorProduct::mttkrp;
  std::vector<std::string> formats;                            // empty: only ours, and what bounds it
  std::optional<ConflictResolution> conflict_resolution = {};  // none: every one
  int slots = 0;                                               // 0: as the plan chooses
  KernelVariant variant = KernelVariant::usual;
  int blocks_per_multiprocessor = 0;
  double resident_share = 1;                // of the chunks, on the device
  double host_share = 1;                    // of the other chunks, in host memory
  std::optional<Loss> loss = {};            // of the loss passes to measure
  std::optional<VectorLevel> vectors = {};  // most that loops on the CPU use; none: the best
  bool disk = false;
  bool decode = false;
  bool roofline = false;
  bool json = false;
};

std::string format_list() {
  std::string text;
  for (const std::string& name : format_names()) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::vector<std::string> formats_of(const std::string& text) {
  return text == "all" ? format_names() : cli::parse_names(text);
}

void add_gpu_options(cli::CommandLine& line, Arguments& arguments) {
  line.add_real(
      "--resident-share", arguments.resident_share,
      "On a GPU: also measure with this share of the chunks in device memory, from 0 to 1, and the rest streamed");
  line.add_real(
      "--host-share", arguments.host_share,
      "On a GPU: with --resident-share, share of the streamed chunks in host memory, from 0 to 1; the others are "
      "read from disk in every pass");
  line.add_whole("--slots", arguments.slots, 2,
                 {.type = "N",
                  .description = "On a GPU: number of buffers between disk and device, 2 to 64, where memory has room",
                  .fallback = "as the plan chooses"});
  line.add_choice<std::optional<ConflictResolution>>(
      "--conflict-resolution", arguments.conflict_resolution,
      {{"all", std::nullopt},
       {"auto", ConflictResolution::automatic},
       {"register", ConflictResolution::register_based},
       {"hierarchical", ConflictResolution::hierarchical}},
      "On a GPU: how rows of the output are added up; all measures each in turn (with --format: auto)");
  line.add_choice<KernelVariant>(
      "--variant", arguments.variant,
      {{"usual", KernelVariant::usual}, {"wide", KernelVariant::wide}, {"wide-deep", KernelVariant::wide_deep}},
      "On a GPU, for orders 3 to 5 at rank 32 with f64 sums: half a warp for a nonzero (usual), "
      "a warp (wide), or a warp with four nonzeros in flight (wide-deep)");
  line.add_whole(
      "--blocks", arguments.blocks_per_multiprocessor, 1,
      {.type = "N",
       .description = "On a GPU: at most so many blocks of the kernel a multiprocessor; fewer leave it more L1 "
                      "cache",
       .fallback = "as many as fit"});
}

void add_options(cli::CommandLine& line, Arguments& arguments) {
  CpdOptions& cpd = arguments.cpd;
  line.add_path("TENSOR", arguments.tensor,
                {.type = "", .description = "A BLCO container from blco-ingest; may be left out with --roofline"});
  line.add_whole("--rank", cpd.rank, 1,
                 {.type = "R",
                  .description = "Columns of the factor matrices, 1 to 4096; required but for --disk, --decode, and "
                                 "--roofline without TENSOR"});
  line.add("--loss", [&](const std::string& text) { arguments.loss = cli::parse_loss_name(text); },
           {.type = "LOSS",
            .description = "Also measure a loss pass, which fills the outputs of all modes, beside the MTTKRPs of all "
                           "modes; the plan then has room for these outputs; one of " +
                           cli::loss_choices()});
  line.add_choice<TensorProduct>(
      "--product", arguments.product,
      {{"mttkrp", TensorProduct::mttkrp}, {"ttm", TensorProduct::ttm}, {"ttmc", TensorProduct::ttmc}},
      "What to measure. ttm: on the CPU, the product with the matrix of one mode, beside the two variants of "
      "Borralho's "
      "thesis on CSF; ttmc: that with the matrices of all other modes, as HOOI takes it, in one pass of Kronecker "
      "products and in slabs of columns, of R or as many as a mode can have");
  line.add("--format", [&](const std::string& text) { arguments.formats = formats_of(text); },
           {.type = "LIST",
            .description = "Measure instead these formats beside each other, separated by commas, or all: " +
                           format_list() + "; they are built in memory, outside any budget"});
  line.add_flag("--roofline", arguments.roofline,
                "Measure how many bytes a second the cores load from each level of memory, and how fast they multiply "
                "and add; with TENSOR, also how near the formats of --format (ours, if it is not given), or of "
                "--product, come to that");
  line.add_whole("--repeats", arguments.repeats, 1,
                 {.type = "K",
                  .description = "Passes over each mode; the median counts, and with --format the minimum",
                  .fallback = "5, and 25 for MTTKRP with --format or --roofline"});
  line.add_choice<Devices>("--devices", cpd.compute.devices, {{"cpu", {"cpu"}}, {"cuda", {"cuda"}}},
                           "Where to compute; without, the GPU if there is one and this build supports it");
  line.add_threads(cpd.compute.threads);
  line.add_size("--memory", arguments.cap.host_bytes,
                "Also measure with chunks streamed under this host memory budget; with --format or --product, the "
                "budget of ours",
                "");
  line.add_size("--device-memory", arguments.cap.device_bytes,
                "Also measure with chunks streamed under this device memory budget; with --format, that of ours", "");
  add_gpu_options(line, arguments);
  line.add_choice<Precision>("--precision", cpd.compute.precision,
                             {{"f64", Precision::f64}, {"f32", Precision::f32}, {"mixed", Precision::mixed}},
                             "Precision of the factors and of MTTKRP; mixed: factors in f32, sums in f64");
  line.add_flag("--deterministic", cpd.compute.deterministic, "Compute as blco-cpd --deterministic does, on the CPU");
  line.add_flag("--disk", arguments.disk,
                "Measure instead how fast the container can be read, decompressed, checked and staged for a GPU, by 1, "
                "2, 4 ... threads up to --threads: from disk, from disk past the system's cache, and from the cache; "
                "takes --repeats too");
  line.add_flag("--decode", arguments.decode,
                "Measure instead how fast one thread decodes each column of the container from memory; takes --repeats "
                "too");
  line.add_choice<std::optional<VectorLevel>>(
      "--vectors", arguments.vectors,
      {{"portable", VectorLevel::portable}, {"avx2", VectorLevel::avx2}, {"avx512", VectorLevel::avx512}},
      "Vector instructions that loops on the CPU use at most, where the processor has better ones");
  line.add_flag("--json", arguments.json, "Print JSON instead of a table");
}

void check_product(const Arguments& arguments) {
  if (arguments.tensor.empty()) throw Error(ErrorKind::invalid_argument, "--product requires TENSOR");
  if (arguments.disk || arguments.loss || !arguments.formats.empty() || arguments.resident_share < 1)
    throw Error(ErrorKind::invalid_argument, "--product goes without --format, --loss, --disk and --resident-share");
}

void check(const Arguments& arguments) {
  if (arguments.roofline && arguments.disk)
    throw Error(ErrorKind::invalid_argument, "--roofline and --disk exclude each other");
  if (arguments.tensor.empty() && (!arguments.roofline || !arguments.formats.empty()))
    throw Error(ErrorKind::invalid_argument, "TENSOR is required");
  if (arguments.cpd.rank == 0 && !arguments.disk && !arguments.decode && !arguments.tensor.empty())
    throw Error(ErrorKind::invalid_argument, "--rank is required unless --disk or --decode is given");
  if (arguments.loss && (arguments.disk || arguments.roofline || !arguments.formats.empty()))
    throw Error(ErrorKind::invalid_argument, "--loss goes without --format, --roofline and --disk");
  if (!arguments.formats.empty() && arguments.disk)
    throw Error(ErrorKind::invalid_argument, "--format and --disk exclude each other");
  if (arguments.product != TensorProduct::mttkrp) check_product(arguments);
  if (arguments.resident_share < 1 && (arguments.roofline || !arguments.formats.empty())) {
    throw Error(ErrorKind::invalid_argument, std::string(arguments.roofline ? "--roofline" : "--format") +
                                                 " and --resident-share exclude each other");
  }
  if (arguments.resident_share > 1) throw Error(ErrorKind::invalid_argument, "--resident-share must be from 0 to 1");
  if (arguments.host_share > 1) throw Error(ErrorKind::invalid_argument, "--host-share must be from 0 to 1");
  if (arguments.host_share < 1 && arguments.resident_share == 1)
    throw Error(ErrorKind::invalid_argument, "--host-share requires --resident-share");
  if (arguments.host_share < 1 && arguments.cap.host_bytes > 0)
    throw Error(ErrorKind::invalid_argument, "--host-share and --memory exclude each other");
}

int repeats_of(const Arguments& arguments) {
  if (arguments.repeats > 0) return arguments.repeats;
  const bool compares =
      arguments.product == TensorProduct::mttkrp && (arguments.roofline || !arguments.formats.empty());
  return compares ? FormatOptions{}.repeats : BenchmarkOptions{}.repeats;
}

std::vector<std::pair<std::string, ConflictResolution>> resolutions_of(const Arguments& arguments, bool on_device) {
  if (!on_device) return {{"-", ConflictResolution::automatic}};
  std::vector<std::pair<std::string, ConflictResolution>> resolutions{
      {"auto", ConflictResolution::automatic},
      {"register", ConflictResolution::register_based},
      {"hierarchical", ConflictResolution::hierarchical}};
  if (arguments.conflict_resolution)
    std::erase_if(resolutions, [&](const auto& one) { return one.second != *arguments.conflict_resolution; });
  return resolutions;
}

std::vector<bench::Run> measure(const Arguments& arguments) {
  const TensorFile tensor(arguments.tensor);
  const CpdPlan plan = plan_cpd(tensor, arguments.cpd);
  if (!plan.device_note.empty()) cli::log_info("blco-bench", plan.device_note + "; measuring the CPU");
  const bool on_device = plan.device_budget_bytes > 0;
  const auto resolutions = resolutions_of(arguments, on_device);
  BenchmarkOptions benchmark{.repeats = repeats_of(arguments),
                             .loss = arguments.loss,
                             .slots = arguments.slots,
                             .variant = arguments.variant,
                             .blocks_per_multiprocessor = arguments.blocks_per_multiprocessor};
  std::vector<bench::Run> runs;
  for (const auto& [name, conflict_resolution] : resolutions) {
    benchmark.conflict_resolution = conflict_resolution;
    runs.push_back({"memory", name, benchmark_mttkrp(tensor, benchmark, arguments.cpd)});
  }
  const MemoryBudget& cap = arguments.cap;
  if (cap.host_bytes > 0 || cap.device_bytes > 0 || (on_device && arguments.resident_share < 1)) {
    benchmark.device_share = arguments.resident_share;
    benchmark.host_share = arguments.host_share;
    const auto& [name, conflict_resolution] = resolutions.front();
    benchmark.conflict_resolution = conflict_resolution;
    CpdOptions options = arguments.cpd;
    options.compute.memory = cap;
    runs.push_back({"streamed", name, benchmark_mttkrp(tensor, benchmark, options)});
  }
  return runs;
}

void measure_passes(const Arguments& arguments) {
  const std::vector<bench::Run> runs = measure(arguments);
  arguments.json ? bench::print_passes_json(runs) : bench::print_passes(runs);
}

void measure_disk(const Arguments& arguments) {
  const DiskReport report =
      benchmark_disk(TensorFile(arguments.tensor), {repeats_of(arguments), arguments.cpd.compute.threads});
  arguments.json ? bench::print_disk_json(report) : bench::print_disk(report);
}

void measure_decode(const Arguments& arguments) {
  const DecodeReport report = benchmark_decode(TensorFile(arguments.tensor), repeats_of(arguments));
  arguments.json ? bench::print_decode_json(report) : bench::print_decode(report);
}

FormatReport measure_formats(const Arguments& arguments) {
  FormatOptions formats;
  formats.formats = arguments.formats;
  if (formats.formats.empty()) formats.formats = {"ours"};
  formats.repeats = repeats_of(arguments);
  formats.variant = arguments.variant;
  formats.conflict_resolution = arguments.conflict_resolution.value_or(ConflictResolution::automatic);
  CpdOptions options = arguments.cpd;
  options.compute.memory = arguments.cap;
  const TensorFile tensor(arguments.tensor);
  if (arguments.product != TensorProduct::mttkrp)
    return benchmark_product(tensor, arguments.product, formats.repeats, options);
  FormatReport report = benchmark_formats(tensor, formats, options);
  if (!report.device_note.empty()) cli::log_info("blco-bench", report.device_note + "; measuring the CPU");
  return report;
}

// Formats, or a product, or the roofline, or that beside these.
void compare(const Arguments& arguments) {
  cli::Json json;
  std::vector<RooflinePoint> points;
  std::string wrong;
  if (!arguments.tensor.empty()) {
    const FormatReport report = measure_formats(arguments);
    points = bench::roofline_points(report);
    json = bench::formats_json(report);
    for (const MeasuredFormat& format : report.formats) {
      if (!report.is_right(format)) wrong += (wrong.empty() ? "" : ", ") + format.name;
    }
    if (!arguments.json) bench::print_formats(report);
  }
  if (arguments.roofline) {
    // Of the device that the passes took.
    const bool is_mttkrp = arguments.product == TensorProduct::mttkrp;
    const Roofline roofline = measure_roofline({.devices = is_mttkrp ? arguments.cpd.compute.devices : Devices{"cpu"},
                                                .threads = arguments.cpd.compute.threads});
    json["roofline"] = bench::roofline_json(roofline, points);
    if (!arguments.json && !points.empty()) fmt::print("\n");
    if (!arguments.json) bench::print_roofline(roofline, points);
  }
  if (arguments.json) fmt::print("{}\n", json.dump());
  if (!wrong.empty())
    throw std::runtime_error("the output of " + wrong + " is wrong, which is a defect; please report it");
}

}  // namespace

int main(int argc, char** argv) {
  cli::CommandLine line(
      "blco-bench",
      "Measures how fast MTTKRP runs on each mode of a tensor, in memory and streamed, and what limits it; or another "
      "product.",
      "  blco-bench calls.blco --rank 32\n"
      "  blco-bench calls.blco --rank 32 --devices cuda --device-memory 2GiB --json\n"
      "  blco-bench calls.blco --rank 16 --loss poisson\n"
      "  blco-bench calls.blco --rank 32 --format ours,csf-all,mm-csf\n"
      "  blco-bench calls.blco --rank 32 --format all --roofline --json\n"
      "  blco-bench calls.blco --rank 16 --product ttm --roofline\n"
      "  blco-bench calls.blco --disk\n"
      "  blco-bench calls.blco --decode --vectors avx2");
  Arguments arguments;
  arguments.cpd.rank = 0;
  arguments.cpd.compute.on_compile = [was_told = false](const std::string& text) mutable {
    if (!std::exchange(was_told, true)) cli::log_info("blco-bench", text);
  };
  add_options(line, arguments);
  line.excludes("--decode", {"--disk", "--roofline", "--format", "--product", "--loss"});
  return line.run(argc, argv, [&] {
    check(arguments);
    if (arguments.vectors) limit_vectors(*arguments.vectors);
    if (arguments.decode) return measure_decode(arguments);
    if (arguments.disk) return measure_disk(arguments);
    if (arguments.roofline || !arguments.formats.empty() || arguments.product != TensorProduct::mttkrp)
      return compare(arguments);
    measure_passes(arguments);
  });
}
