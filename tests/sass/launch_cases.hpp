// The launches that dump_launch records.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/device_kind.hpp"
#include "tests/random_tensor.hpp"

namespace blco::testing {

inline std::string name_of(Precision precision) {
  return precision == Precision::f64 ? "f64" : precision == Precision::f32 ? "f32" : "mixed";
}

// An H100, as find_device sees it.
inline DeviceLimits hopper() {
  DeviceLimits limits;
  limits.name = "recorded";
  limits.multiprocessors = 132;
  limits.l2_bytes = 50 << 20;
  limits.shared_bytes_per_block = 227 << 10;
  limits.shared_bytes_per_multiprocessor = 228 << 10;
  limits.memory_bytes = limits.free_bytes = std::uint64_t{80} << 30;
  return limits;
}

// Room for a few warps a block: a few frames take several blocks, or several turns of one.
inline DeviceLimits narrow(int multiprocessors) {
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
  ConflictResolution conflict_resolution = ConflictResolution::automatic;
  KernelVariant variant = KernelVariant::usual;
  DeviceLimits limits = hopper();
  // Where not 0: the length that the backend is told of the mode. Rows from there on are a fault.
  std::uint64_t told_length = 0;
  bool holds_some_rows = false;          // not all; then coordinates and shape that are told are places, and how many
  std::optional<PassRequest> loss = {};  // a loss pass, instead of the MTTKRP of `mode`
  std::vector<int> columns = {};         // of each mode: the TTMc of `mode`, instead of its MTTKRP
  bool beside_mttkrp = false;  // of a loss pass: record the MTTKRP of every mode too, named NAME_mode_0 and so on
};

inline const std::vector<std::uint64_t> cube(3, 4096);
inline const std::vector<std::uint64_t> fourth(4, 2048);
inline const std::vector<std::uint64_t> wide{8192, 8000, 5000, 8191, 4097};  // 65 bits
inline const std::vector<std::uint64_t> short_mode{24, 1140, 1717};
inline const std::vector<std::uint64_t> hundred_rows{100, 1140, 1717};

inline std::vector<LaunchCase> launch_cases() {
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
      {.name = "order_3_f64_rank_16_held_rows", .tensor = in_cube, .first = 5000, .mode = 1, .holds_some_rows = true},
      {.name = "order_5_f64_rank_32_held_rows",
       .tensor = ones(in_wide),
       .first = 600,
       .mode = 2,
       .rank = 32,
       .holds_some_rows = true},
      {.name = "order_3_f64_rank_16_hierarchical",
       .tensor = counts(dense),
       .first = 9000,
       .conflict_resolution = ConflictResolution::hierarchical},
      {.name = "order_3_f64_rank_32_hierarchical",
       .tensor = dense,
       .first = 9000,
       .rank = 32,
       .conflict_resolution = ConflictResolution::hierarchical},
      {.name = "order_3_f64_rank_32_few_rows_by_registers",
       .tensor = dense,
       .first = 9000,
       .rank = 32,
       .conflict_resolution = ConflictResolution::register_based},
      {.name = "order_3_f64_rank_32_100_rows_hierarchical",
       .tensor = in_hundred,
       .first = 9000,
       .rank = 32,
       .conflict_resolution = ConflictResolution::hierarchical},
      {.name = "order_3_f64_rank_32_100_rows_by_registers",
       .tensor = in_hundred,
       .first = 9000,
       .rank = 32,
       .conflict_resolution = ConflictResolution::register_based},
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
       .conflict_resolution = ConflictResolution::hierarchical},
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

inline std::vector<LaunchCase> ttmc_cases() {
  const RandomTensorOptions in_cube{.shape = cube, .nnz = 20000, .seed = 1, .values = Values::counts, .skew = 2};
  const RandomTensorOptions in_fourth{.shape = fourth, .nnz = 20000, .seed = 2, .skew = 3};
  const RandomTensorOptions in_wide{.shape = wide, .nnz = 4000, .seed = 3, .skew = 12};
  return {
      {.name = "ttmc_order_3_f64_8_columns", .tensor = in_cube, .first = 5000, .mode = 1, .columns = {8, 8, 8}},
      {.name = "ttmc_order_3_f64_16_columns", .tensor = in_cube, .first = 5000, .columns = {16, 16, 16}},
      {.name = "ttmc_order_4_f64_8_columns",
       .tensor = in_fourth,
       .first = 3000,
       .count = 512,
       .mode = 3,
       .columns = {8, 8, 8, 8}},
      {.name = "ttmc_order_3_f32_columns_differ",
       .tensor = in_cube,
       .first = 5000,
       .mode = 2,
       .precision = Precision::f32,
       .columns = {5, 3, 2}},
      {.name = "ttmc_order_5_f64_with_keys", .tensor = in_wide, .first = 600, .count = 300, .columns = {2, 3, 1, 2, 9}},
  };
}

inline std::vector<LaunchCase> loss_cases() {
  RandomTensorOptions in_cube{.shape = cube, .nnz = 20000, .seed = 1, .values = Values::counts, .skew = 2};
  RandomTensorOptions in_wide{.shape = wide, .nnz = 4000, .seed = 3, .values = Values::counts, .skew = 12};
  RandomTensorOptions dense{.shape = short_mode, .nnz = 40000, .seed = 4, .values = Values::counts};
  const EntryFunction ratio{.rule = EntryRule::ratio, .scale = 0.5, .floor = 0.25};
  const EntryFunction model{.rule = EntryRule::model, .scale = -2};
  const EntryFunction gaussian{.loss = {LossKind::gaussian}, .scale = 0.5};
  const EntryFunction poisson{.loss = {LossKind::poisson}, .scale = 1.5};
  const RandomTensorOptions in_fourth{.shape = fourth, .nnz = 20000, .seed = 2, .values = Values::counts, .skew = 3};
  std::vector<LaunchCase> cases{
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
       .count = 512,
       .rank = 20,
       .conflict_resolution = ConflictResolution::hierarchical,
       .loss = PassRequest(ratio, mode_bit(0))},
      {.name = "loss_f32_rank_7_two_modes",
       .tensor = in_cube,
       .count = 512,
       .rank = 7,
       .precision = Precision::f32,
       .loss = PassRequest(model, mode_bit(0) | mode_bit(2))},
  };
  const auto add_all_modes = [&](const RandomTensorOptions& tensor, int rank, Precision precision) {
    const auto order = static_cast<int>(tensor.shape.size());
    LaunchCase all;
    all.name = "loss_order_" + std::to_string(order) + "_" + name_of(precision) + "_rank_" + std::to_string(rank);
    all.tensor = tensor;
    all.first = 600;
    all.count = 512;
    all.rank = rank;
    all.precision = precision;
    all.loss = PassRequest(rank == 16 ? poisson : gaussian, all_modes(order));
    all.beside_mttkrp = true;
    cases.push_back(all);
  };
  for (const RandomTensorOptions& tensor : {in_cube, in_fourth, in_wide}) {
    for (const int rank : {16, 32}) add_all_modes(tensor, rank, Precision::f64);
  }
  // A few warps in a block of one multiprocessor, each with several frames.
  for (const RandomTensorOptions& tensor : {in_cube, in_fourth, in_wide}) {
    add_all_modes(tensor, 16, Precision::f64);
    cases.back().name += "_turns_of_one_block";
    cases.back().count = 1100;
    cases.back().limits = narrow(1);
    cases.back().beside_mttkrp = false;
  }
  add_all_modes(in_cube, 64, Precision::f64);
  add_all_modes(in_cube, 16, Precision::f32);
  add_all_modes(in_fourth, 16, Precision::mixed);
  return cases;
}

// Parts of tensors like those that the literature measures, as dense as the whole: a box, and 4096 nonzeros from the
// middle of its line order. throughput_model.py says which.
inline std::vector<LaunchCase> model_cases() {
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

}  // namespace blco::testing
