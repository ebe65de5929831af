// Writes what the CUDA backend launches for small tensors, with the device's memory at that moment, and beside it the
// coordinates, values and factors that the result follows from: what check_machine_code.py runs and compares.
//
// usage: dump_launch FOLDER [model]
#include <algorithm>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kernels/cuda/cuda_backend.hpp"
#include "kernels/cuda/loss_pass.hpp"
#include "kernels/cuda/mttkrp.hpp"
#include "kernels/cuda/ttmc.hpp"
#include "tests/kernels/held_cases.hpp"
#include "tests/sass/frame_launches.hpp"
#include "tests/sass/launch_cases.hpp"
#include "tests/sass/launch_files.hpp"
#include "tests/sass/recording_runtime.hpp"

namespace blco::testing {
namespace {

using nlohmann::json;

// Of the functions of an entry that recorded_launches.py knows.
std::string function_name(const EntryFunction& function) {
  if (function.rule == EntryRule::ratio) return "ratio";
  if (function.rule == EntryRule::model) return "model";
  return function.loss.kind == LossKind::poisson ? "poisson" : "gaussian";
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
  found["function"] = function_name(arguments.function);
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
void add_places(const cuda::TtmcArguments<Sum, Factor>& arguments, json& found) {
  add_places(static_cast<const cuda::MttkrpArguments<Sum, Factor>&>(arguments), found);
  found["arguments"] = hex(arguments);
}

template <class Sum, class Factor>
void add_places(const LaunchCase& wanted, const void* arguments, json& found) {
  if (wanted.loss) return add_places(*static_cast<const cuda::LossArguments<Sum, Factor>*>(arguments), found);
  if (!wanted.columns.empty()) {
    return add_places(*static_cast<const cuda::TtmcArguments<Sum, Factor>*>(arguments), found);
  }
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
  std::vector<std::vector<double>> factors;
  for (std::size_t n = 0; n < shape.size(); ++n) {
    factors.push_back(random_matrix(shape[n], wanted.columns.empty() ? wanted.rank : wanted.columns[n], 11 + n));
  }
  if (wanted.loss && needs_nonnegative_model(wanted.loss->function->loss)) {
    for (auto& factor : factors) std::ranges::transform(factor, factor.begin(), [](double x) { return 0.7 + x / 2; });
  }

  BackendConfig config{.layout = TensorLayout(shape)};
  config.rank = wanted.columns.empty() ? wanted.rank : std::ranges::max(wanted.columns);
  config.columns = wanted.columns;
  config.precision = wanted.precision;
  config.private_bytes = 1 << 20;
  config.all_outputs = wanted.loss.has_value();
  config.gpu.conflict_resolution = wanted.conflict_resolution;
  config.gpu.variant = wanted.variant;
  config.slots = 1;
  config.slot_bytes = cuda_chunk_bytes(chunk.index.size() + chunk.key.size() + chunk.value.size() + 3 * 256);
  std::vector<std::uint64_t> coordinates = tensor.coordinates;
  if (wanted.holds_some_rows) {
    const HeldCase held(tensor, all_modes(static_cast<int>(tensor.order())));
    config.held = held.index();
    factors = held.parts(factors);
    shape = config.rows();
    for (std::size_t i = 0; i < coordinates.size(); ++i) {
      const auto& rows = held.rows(i % tensor.order());
      coordinates[i] = static_cast<std::uint64_t>(std::ranges::lower_bound(rows, coordinates[i]) - rows.begin());
    }
  }
  set_shared_bytes_of_multiprocessor(wanted.limits.shared_bytes_per_multiprocessor);
  const auto backend = make_cuda_backend(config, wanted.limits);
  for (std::size_t n = 0; n < factors.size(); ++n) backend->load_factor(static_cast<int>(n), 0, factors[n]);

  json found{{"name", wanted.name},
             {"shape", shape},
             {"rank", wanted.rank},
             {"mode", wanted.mode},
             {"nnz", chunk.nnz},
             {"chunk", chunk.number},
             {"precision", name_of(wanted.precision)},
             {"columns", wanted.columns}};
  on_launch([&](const RecordedLaunch& launch) {
    if (found.contains("kernel")) return;
    found["kernel"] = launch.kernel;
    found["blocks"] = launch.blocks;
    found["threads"] = launch.threads;
    found["shared_bytes"] = launch.shared_bytes;
    const void* arguments = launch.arguments[0];
    switch (wanted.precision) {
      case Precision::f64:
        add_places<double, double>(wanted, arguments, found);
        break;
      case Precision::f32:
        add_places<float, float>(wanted, arguments, found);
        break;
      case Precision::mixed:
        add_places<double, float>(wanted, arguments, found);
        break;
    }
    found["ranges"] = write_device_memory(folder + "/" + wanted.name + ".device");
  });
  const Product product = wanted.columns.empty() ? Product::hadamard : Product::kronecker;
  backend->begin_pass(wanted.loss.value_or(PassRequest(wanted.mode, product)));
  backend->submit(0, chunk.view());
  on_launch(nullptr);

  std::ofstream truth(folder + "/" + wanted.name + ".truth", std::ios::binary);
  const std::size_t order = shape.size();
  write_numbers(truth, std::span<const std::uint64_t>(coordinates).subspan(wanted.first * order, wanted.count * order));
  write_numbers(truth, std::span<const double>(tensor.values).subspan(wanted.first, wanted.count));
  for (const auto& factor : factors) write_numbers(truth, std::span<const double>(factor));
  return found;
}

// The MTTKRP of every mode on the tensor of a loss pass, where its case wants them.
std::vector<LaunchCase> mttkrps_beside(const LaunchCase& loss) {
  std::vector<LaunchCase> cases;
  for (int mode = 0; loss.beside_mttkrp && mode < static_cast<int>(loss.tensor.shape.size()); ++mode) {
    cases.push_back(loss);
    cases.back().name += "_mode_" + std::to_string(mode);
    cases.back().mode = mode;
    cases.back().loss.reset();
  }
  return cases;
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
  json launches{
      {"mttkrp", json::array()}, {"ttmc", json::array()}, {"loss", json::array()}, {"frames", record_frames(folder)}};
  for (const LaunchCase& wanted : model ? model_cases() : launch_cases())
    launches["mttkrp"].push_back(record(wanted, folder));
  for (const LaunchCase& wanted : model ? std::vector<LaunchCase>() : ttmc_cases())
    launches["ttmc"].push_back(record(wanted, folder));
  for (const LaunchCase& wanted : model ? std::vector<LaunchCase>() : loss_cases()) {
    launches["loss"].push_back(record(wanted, folder));
    launches["loss"].back()["beside"] = json::array();
    for (const LaunchCase& beside : mttkrps_beside(wanted)) {
      launches["loss"].back()["beside"].push_back(beside.name);
      launches["mttkrp"].push_back(record(beside, folder));
    }
  }
  std::ofstream file(folder + "/launches.json");
  file << launches.dump(1) << "\n";
  file.flush();
  if (file) return 0;
  std::cerr << "dump_launch: cannot write to " << folder << "\n";
  return 1;
}
