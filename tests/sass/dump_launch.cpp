// Writes what the CUDA backend launches for small tensors, with the device's memory at that moment, and beside it the
// coordinates, values and factors that the result follows from: what check_machine_code.py runs and compares.
//
// usage: dump_launch FOLDER [model]
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kernels/cuda/loss_pass.hpp"
#include "kernels/cuda/mttkrp.hpp"
#include "kernels/cuda_backend.hpp"
#include "tests/random_tensor.hpp"
#include "tests/sass/frame_launches.hpp"
#include "tests/sass/launch_files.hpp"
#include "tests/sass/recording_runtime.hpp"

namespace blco::testing {
namespace {

using nlohmann::json;

// An H100, as find_device sees it.
DeviceLimits hopper() {
  DeviceLimits limits;
  limits.name = "recorded";
  limits.multiprocessors = 132;
  limits.l2_bytes = 50 << 20;
  limits.shared_bytes_per_block = 227 << 10;
  limits.shared_bytes_per_multiprocessor = 228 << 10;
  limits.memory_bytes = limits.free_bytes = std::uint64_t{80} << 30;
  return limits;
}

// Room for one or two warps a block: a few frames take several blocks, or several turns of one.
DeviceLimits narrow(int multiprocessors) {
  DeviceLimits limits = hopper();
  limits.multiprocessors = multiprocessors;
  limits.shared_bytes_per_block = limits.shared_bytes_per_multiprocessor = 24 << 10;
  return limits;
}

struct LaunchCase {
  std::string name;
  RandomTensorOptions tensor;
  double scale = 1;       // of all values: chooses their codec
  std::size_t first = 0;  // entries [first, first + count) are the chunk
  std::size_t count = 1024;
  int mode = 0;
  int rank = 16;
  Precision precision = Precision::f64;
  Resolution resolution = Resolution::automatic;
  KernelVariant variant = KernelVariant::usual;
  DeviceLimits limits = hopper();
  // Where not 0: the length that the backend is told of the mode. Rows from there on are a fault.
  std::uint64_t told_length = 0;
  std::optional<PassRequest> loss = {};  // a loss pass, instead of the MTTKRP of `mode`
};

const std::vector<std::uint64_t> cube(3, 4096);
const std::vector<std::uint64_t> fourth(4, 2048);
const std::vector<std::uint64_t> wide{8192, 8000, 5000, 8191, 4097};  // 65 bits
const std::vector<std::uint64_t> short_mode{24, 1140, 1717};
const std::vector<std::uint64_t> hundred_rows{100, 1140, 1717};

std::vector<LaunchCase> launch_cases() {
  const RandomTensorOptions in_cube{.shape = cube, .nnz = 20000, .seed = 1, .skew = 2};
  const RandomTensorOptions in_fourth{.shape = fourth, .nnz = 20000, .seed = 2, .skew = 3};
  const RandomTensorOptions in_wide{.shape = wide, .nnz = 4000, .seed = 3, .skew = 12};
  const RandomTensorOptions dense{.shape = short_mode, .nnz = 40000, .seed = 4};
  const RandomTensorOptions in_hundred{.shape = hundred_rows, .nnz = 40000, .seed = 4};
  const auto counts = [](RandomTensorOptions options) {
    options.values = Values::counts;
    return options;
  };
  const auto ones = [](RandomTensorOptions options) {
    options.values = Values::ones;
    return options;
  };
  return {
      {.name = "order_3_f64_rank_16", .tensor = in_cube, .first = 5000, .mode = 1},
      {.name = "order_3_f64_rank_32_integers", .tensor = counts(in_cube), .first = 5000, .rank = 32},
      {.name = "order_4_f64_rank_16_ones", .tensor = ones(in_fourth), .first = 3000, .mode = 3},
      {.name = "order_4_f64_rank_32_decimals",
       .tensor = counts(in_fourth),
       .scale = -0.01,
       .first = 3000,
       .mode = 2,
       .rank = 32},
      {.name = "order_5_f64_rank_16_with_keys", .tensor = in_wide, .first = 600, .mode = 4},
      {.name = "order_5_f64_rank_32_with_keys", .tensor = ones(in_wide), .first = 600, .mode = 2, .rank = 32},
      {.name = "order_3_f64_rank_16_hierarchical",
       .tensor = counts(dense),
       .first = 9000,
       .resolution = Resolution::hierarchical},
      {.name = "order_3_f64_rank_32_hierarchical",
       .tensor = dense,
       .first = 9000,
       .rank = 32,
       .resolution = Resolution::hierarchical},
      {.name = "order_3_f64_rank_32_few_rows_by_registers",
       .tensor = dense,
       .first = 9000,
       .rank = 32,
       .resolution = Resolution::register_based},
      {.name = "order_3_f64_rank_32_100_rows_hierarchical",
       .tensor = in_hundred,
       .first = 9000,
       .rank = 32,
       .resolution = Resolution::hierarchical},
      {.name = "order_3_f64_rank_32_100_rows_by_registers",
       .tensor = in_hundred,
       .first = 9000,
       .rank = 32,
       .resolution = Resolution::register_based},
      {.name = "order_3_f64_rank_32_wide",
       .tensor = counts(in_cube),
       .first = 5000,
       .rank = 32,
       .variant = KernelVariant::wide},
      {.name = "order_3_f64_rank_32_wide_deep",
       .tensor = counts(in_cube),
       .first = 5000,
       .rank = 32,
       .variant = KernelVariant::wide_deep},
      {.name = "order_3_mixed_rank_32_integers",
       .tensor = counts(in_cube),
       .first = 5000,
       .rank = 32,
       .precision = Precision::mixed},
      {.name = "order_4_mixed_rank_16_ones",
       .tensor = ones(in_fourth),
       .first = 3000,
       .mode = 3,
       .precision = Precision::mixed},
      {.name = "order_3_f32_rank_16_integers",
       .tensor = counts(in_cube),
       .first = 5000,
       .mode = 2,
       .precision = Precision::f32},
      {.name = "order_3_f32_rank_32",
       .tensor = counts(in_cube),
       .scale = 0x1p-20,
       .first = 5000,
       .rank = 32,
       .precision = Precision::f32},
      {.name = "order_4_f32_rank_32_ones",
       .tensor = ones(in_fourth),
       .first = 3000,
       .mode = 1,
       .rank = 32,
       .precision = Precision::f32},
      {.name = "order_5_f32_rank_16_with_keys",
       .tensor = counts(in_wide),
       .scale = 0.1,
       .first = 600,
       .mode = 1,
       .precision = Precision::f32},
      {.name = "order_3_f32_rank_16_hierarchical",
       .tensor = ones(dense),
       .first = 9000,
       .precision = Precision::f32,
       .resolution = Resolution::hierarchical},
      {.name = "order_3_f64_rank_20", .tensor = in_cube, .first = 5000, .mode = 2, .rank = 20},
      {.name = "order_1", .tensor = {.shape = {3000}, .nnz = 900, .seed = 5}, .count = 300},
      {.name = "order_2_f32_rank_24",
       .tensor = ones({.shape = {700, 3}, .nnz = 900, .seed = 6, .skew = 3}),
       .count = 300,
       .rank = 24,
       .precision = Precision::f32},
      {.name = "order_16_with_keys_of_64_bits",
       .tensor = {.shape = std::vector<std::uint64_t>(16, 200), .nnz = 900, .seed = 7, .skew = 4},
       .count = 300,
       .mode = 9},
      {.name = "order_3_f64_rank_64", .tensor = dense, .count = 300, .mode = 1, .rank = 64},
      {.name = "order_3_f64_rank_100", .tensor = dense, .count = 300, .mode = 2, .rank = 100},
      {.name = "turns_of_one_block", .tensor = in_cube, .count = 700, .limits = narrow(1)},
      {.name = "copies_of_the_output", .tensor = dense, .count = 600, .limits = narrow(132)},
      {.name = "forty_nonzeros", .tensor = in_cube, .count = 40, .mode = 1, .limits = narrow(1)},
      {.name = "one_nonzero", .tensor = in_cube, .count = 1, .mode = 1},
      {.name = "coordinate_outside_its_mode", .tensor = in_cube, .count = 40, .mode = 1, .told_length = 2049},
  };
}

// Rules without a loss: the interpreter has no branch through a table, by which kernels choose the loss. In f32 without
// a division, of which it lacks an instruction too.
std::vector<LaunchCase> loss_cases() {
  RandomTensorOptions in_cube{.shape = cube, .nnz = 20000, .seed = 1, .values = Values::counts, .skew = 2};
  RandomTensorOptions in_wide{.shape = wide, .nnz = 4000, .seed = 3, .values = Values::counts, .skew = 12};
  RandomTensorOptions dense{.shape = short_mode, .nnz = 40000, .seed = 4, .values = Values::counts};
  const EntryFunction ratio{.rule = EntryRule::ratio, .scale = 0.5, .floor = 0.25};
  const EntryFunction model{.rule = EntryRule::model, .scale = -2};
  return {
      {.name = "loss_f64_rank_16_all_modes",
       .tensor = in_cube,
       .first = 5000,
       .count = 900,
       .loss = PassRequest(ratio, all_modes(3))},
      {.name = "loss_f64_rank_16_no_output",
       .tensor = in_cube,
       .first = 5000,
       .count = 300,
       .loss = PassRequest(model, 0)},
      {.name = "loss_f64_rank_16_two_modes_with_keys",
       .tensor = in_wide,
       .scale = 0.01,
       .first = 600,
       .count = 300,
       .loss = PassRequest(ratio, mode_bit(1) | mode_bit(4))},
      {.name = "loss_f64_rank_20_hierarchical",
       .tensor = dense,
       .first = 9000,
       .count = 300,
       .rank = 20,
       .resolution = Resolution::hierarchical,
       .loss = PassRequest(ratio, mode_bit(0))},
      {.name = "loss_f32_rank_7_two_modes",
       .tensor = in_cube,
       .count = 300,
       .rank = 7,
       .precision = Precision::f32,
       .loss = PassRequest(model, mode_bit(0) | mode_bit(2))},
  };
}

std::string name_of(Precision precision) {
  return precision == Precision::f64 ? "f64" : precision == Precision::f32 ? "f32" : "mixed";
}

// Parts of tensors like those that the literature measures, as dense as the whole: a box, and 4096 nonzeros from the
// middle of its line order. throughput_model.py says which.
std::vector<LaunchCase> model_cases() {
  const auto box = [](std::vector<std::uint64_t> shape, double skew) {
    return RandomTensorOptions{
        .shape = std::move(shape), .nnz = 1000000, .seed = 9, .values = Values::counts, .skew = skew};
  };
  LaunchCase common;
  common.first = 400000;
  common.count = 4096;
  common.rank = 32;
  std::vector<LaunchCase> cases(3, common);
  cases[0].name = "nell2_like";
  cases[0].tensor = box({2843, 2160, 6776}, 1.5);
  cases[1].name = "enron_like";
  cases[1].tensor = box({2238, 2103, 90136, 434}, 1.5);
  cases[2].name = "amazon_like";
  cases[2].tensor = box({403000, 149000, 151000}, 1);
  for (std::size_t i = 0; i < 3; ++i) {
    cases.push_back(cases[i]);
    cases.back().name += "_mixed";
    cases.back().precision = Precision::mixed;
  }
  return cases;
}

std::uintptr_t address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

// The output of a mode, then its copies.
template <class Sum>
json places_of(const cuda::OutputCopies<Sum>& copies) {
  json places{address(copies.output)};
  for (int copy = 1; copy < copies.copy_count; ++copy) {
    places.push_back(address(copies.more_copies + static_cast<std::uint64_t>(copy - 1) * copies.copy_stride));
  }
  return places;
}

template <class Sum, class Factor>
void add_places(const cuda::LossArguments<Sum, Factor>& arguments, json& found) {
  found["arguments"] = hex(arguments);
  found["rule"] = arguments.function.rule == EntryRule::ratio ? "ratio" : "model";
  found["scale"] = arguments.function.scale;
  found["floor"] = arguments.function.floor;
  found["outputs"] = json::object();
  for (int mode = 0; mode < arguments.order; ++mode) {
    if (has_mode(arguments.outputs, mode)) found["outputs"][std::to_string(mode)] = places_of(arguments.output[mode]);
  }
  found["terms"] = address(arguments.terms);
  found["fault"] = address(arguments.fault);
}

template <class Sum, class Factor>
void add_places(const cuda::MttkrpArguments<Sum, Factor>& arguments, json& found) {
  found["arguments"] = hex(arguments);
  found["outputs"] = places_of<Sum>(arguments);
  found["fault"] = address(arguments.fault);
  found["stash_rows"] = arguments.stash_rows;
  found["codec"] = arguments.chunks[0].value.bytes == nullptr ? 0 : static_cast<int>(arguments.chunks[0].value.codec);
}

template <class Sum, class Factor>
void add_places(bool is_loss, const void* arguments, json& found) {
  if (is_loss) return add_places(*static_cast<const cuda::LossArguments<Sum, Factor>*>(arguments), found);
  add_places(*static_cast<const cuda::MttkrpArguments<Sum, Factor>*>(arguments), found);
}

// The first launch that the backend makes of the chunk, as JSON; the device's memory and the truth go into files.
json record(const LaunchCase& wanted, const std::string& folder) {
  CooTensor tensor = random_tensor(wanted.tensor);
  for (double& value : tensor.values) value *= wanted.scale;
  const EncodedChunk chunk = encode_chunk(tensor, wanted.first, wanted.count, 5);
  const auto mode = static_cast<std::size_t>(wanted.mode);
  std::vector<std::uint64_t> shape = tensor.shape;
  if (wanted.told_length > 0) shape[mode] = wanted.told_length;
  const auto factors = random_factors(shape, wanted.rank, 11);

  CudaConfig config{.backend = {.layout = TensorLayout(shape)}, .limits = wanted.limits};
  config.backend.rank = wanted.rank;
  config.backend.precision = wanted.precision;
  config.backend.private_bytes = 1 << 20;
  config.backend.all_outputs = wanted.loss.has_value();
  config.resolution = wanted.resolution;
  config.variant = wanted.variant;
  config.lanes = 1;
  config.lane_bytes = cuda_chunk_bytes(chunk.index.size() + chunk.key.size() + chunk.value.size() + 3 * 256);
  set_shared_bytes_of_multiprocessor(wanted.limits.shared_bytes_per_multiprocessor);
  const auto backend = make_cuda_backend(config);
  for (std::size_t n = 0; n < factors.size(); ++n) backend->load_factor(static_cast<int>(n), 0, factors[n]);

  json found{{"name", wanted.name},
             {"shape", shape},
             {"rank", wanted.rank},
             {"mode", wanted.mode},
             {"nnz", chunk.nnz},
             {"chunk", chunk.number},
             {"precision", name_of(wanted.precision)}};
  on_launch([&](const RecordedLaunch& launch) {
    if (found.contains("kernel")) return;
    found["kernel"] = launch.kernel;
    found["blocks"] = launch.blocks;
    found["threads"] = launch.threads;
    found["shared_bytes"] = launch.shared_bytes;
    const void* arguments = launch.arguments[0];
    switch (wanted.precision) {
      case Precision::f64:
        add_places<double, double>(wanted.loss.has_value(), arguments, found);
        break;
      case Precision::f32:
        add_places<float, float>(wanted.loss.has_value(), arguments, found);
        break;
      case Precision::mixed:
        add_places<double, float>(wanted.loss.has_value(), arguments, found);
        break;
    }
    found["ranges"] = write_device_memory(folder + "/" + wanted.name + ".device");
  });
  backend->begin_pass(wanted.loss.value_or(PassRequest(wanted.mode)));
  backend->submit(0, chunk.view());
  on_launch(nullptr);

  std::ofstream truth(folder + "/" + wanted.name + ".truth", std::ios::binary);
  const std::size_t order = shape.size();
  write_numbers(truth,
                std::span<const std::uint64_t>(tensor.coordinates).subspan(wanted.first * order, wanted.count * order));
  write_numbers(truth, std::span<const double>(tensor.values).subspan(wanted.first, wanted.count));
  for (const auto& factor : factors) write_numbers(truth, std::span<const double>(factor));
  return found;
}

}  // namespace
}  // namespace blco::testing

int main(int argc, char** argv) {
  using namespace blco::testing;
  const bool model = argc == 3 && std::string(argv[2]) == "model";
  if (argc != 2 && !model) {
    std::cerr << "usage: dump_launch FOLDER [model]\n";
    return 2;
  }
  const std::string folder = argv[1];
  json launches{{"mttkrp", json::array()}, {"loss", json::array()}, {"frames", record_frames(folder)}};
  for (const LaunchCase& wanted : model ? model_cases() : launch_cases())
    launches["mttkrp"].push_back(record(wanted, folder));
  for (const LaunchCase& wanted : model ? std::vector<LaunchCase>() : loss_cases())
    launches["loss"].push_back(record(wanted, folder));
  std::ofstream file(folder + "/launches.json");
  file << launches.dump(1) << "\n";
  file.flush();
  if (file) return 0;
  std::cerr << "dump_launch: cannot write to " << folder << "\n";
  return 1;
}
