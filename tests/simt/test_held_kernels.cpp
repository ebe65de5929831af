// The CUDA backend with held rows, in the emulator: passes of every kind against a loop and the serial reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "blco/error.hpp"
#include "kernels/row_solver.hpp"
#include "tests/kernels/held_cases.hpp"
#include "tests/kernels/rows_near.hpp"
#include "tests/simt/device_loss_cases.hpp"
#include "tests/simt/simt_control.hpp"
#include "tests/simt/ttmc_cases.hpp"

namespace blco::testing {
namespace {

// Orders 3 to 5, a mode of one row, lines of more than 64 bits whose modes are nearly empty.
std::vector<CooTensor> tensors_with_gaps() {
  return {random_tensor({.shape = {300, 41, 517}, .nnz = 700, .seed = 2, .skew = 2}),
          random_tensor({.shape = {1, 200, 90, 33}, .nnz = 500, .seed = 3, .skew = 3}),
          random_tensor({.shape = {12, 90, 40, 7, 300}, .nnz = 500, .seed = 4, .skew = 2}),
          random_tensor({.shape = {8192, 8192, 8192, 8192, 8192}, .nnz = 400, .seed = 5})};
}

std::string name_of_order(simt::Order order, ConflictResolution conflict_resolution) {
  return name_of(order) + (conflict_resolution == ConflictResolution::hierarchical ? "_hierarchical" : "_register");
}

std::vector<std::uint64_t> held_counts(const HeldCase& held, std::size_t order) {
  std::vector<std::uint64_t> counts;
  for (std::size_t mode = 0; mode < order; ++mode) counts.push_back(held.rows(mode).size());
  return counts;
}

class HeldKernels : public ::testing::TestWithParam<std::tuple<simt::Order, ConflictResolution>> {
 protected:
  HeldKernels() {
    simt::reset();
    simt::set_order(std::get<0>(GetParam()));
  }

  EmulatedOptions options(int rank, Precision precision = Precision::f64) const {
    return {.rank = rank, .precision = precision, .conflict_resolution = std::get<1>(GetParam())};
  }
};

TEST_P(HeldKernels, MakeTheMttkrpOfEveryMode) {
  for (const CooTensor& tensor : tensors_with_gaps()) {
    const auto chunks = encode(tensor, 300);
    for (const ModeSet modes : held_modes(tensor.order())) {
      const HeldCase held(tensor, modes);
      for (const auto& [rank, precision] :
           {std::pair(3, Precision::f64), std::pair(16, Precision::f32), std::pair(32, Precision::mixed)}) {
        EmulatedOptions of = options(rank, precision);
        of.held = held.index();
        auto factors = random_factors(tensor.shape, rank, 11);
        for (auto& factor : factors) std::ranges::transform(factor, factor.begin(), [](double x) { return float(x); });
        EmulatedBackend backend(tensor.shape, of);
        backend.load(held.parts(factors));
        for (std::size_t mode = 0; mode < tensor.order(); ++mode) {
          const auto expected = held.part(mode, coordinate_mttkrp(tensor, factors, rank, mode));

          EXPECT_THAT(backend.pass(chunks, static_cast<int>(mode)),
                      RowsNear(expected, precision == Precision::f32 ? 1e-5 : 1e-12))
              << "mode " << mode << " of order " << tensor.order() << ", held modes " << modes << ", rank " << rank;
        }
      }
    }
  }
}

TEST_P(HeldKernels, MakeLossPassesOfAllOneAndNoModes) {
  for (const CooTensor& tensor : tensors_with_gaps()) {
    const auto chunks = encode(tensor, 300);
    for (const ModeSet modes : held_modes(tensor.order())) {
      const HeldCase held(tensor, modes);
      for (const Precision precision : {Precision::f64, Precision::f32}) {
        EmulatedOptions of = options(8, precision);
        of.all_outputs = true;
        of.held = held.index();
        const auto factors = held.parts(positive_factors(tensor.shape, of.rank));
        LossReference reference(chunks, tensor.shape, of, factors);
        EmulatedBackend device(tensor.shape, of);
        device.load(factors);
        for (const ModeSet outputs : {all_modes(static_cast<int>(tensor.order())), mode_bit(1), ModeSet{0}}) {
          const PassRequest request(poisson_function(), outputs);

          reference.run(request);
          device.run(chunks, request);

          reference.expect_same(device, request, held_counts(held, tensor.order()), of.rank, loss_tolerance(precision),
                                "order " + std::to_string(tensor.order()) + ", held modes " + std::to_string(modes));
        }
      }
    }
  }
}

TEST_P(HeldKernels, MakeTheTtmcOfEveryMode) {
  for (const CooTensor& tensor : tensors_with_gaps()) {
    const auto chunks = encode(tensor, 300);
    const HeldCase held(tensor, held_modes(tensor.order()).back());
    EmulatedOptions of = options(1);
    for (std::size_t mode = 0; mode < tensor.order(); ++mode) of.columns.push_back(1 + static_cast<int>(mode % 3));
    const EmulatedOptions whole = of;
    of.held = held.index();
    const auto factors = ttmc_factors(tensor.shape, whole);
    EmulatedBackend backend(tensor.shape, of);
    backend.load(held.parts(factors));
    for (int mode = 0; mode < static_cast<int>(tensor.order()); ++mode) {
      backend.run(chunks, {mode, Product::kronecker});

      EXPECT_THAT(backend.output(mode),
                  RowsNear(held.part(static_cast<std::size_t>(mode), expected_ttmc(tensor, whole, factors, mode)),
                           ttmc_tolerance(of.precision)))
          << "mode " << mode << " of order " << tensor.order();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryOrder, HeldKernels,
                         ::testing::Values(std::tuple(simt::Order::forward, ConflictResolution::register_based),
                                           std::tuple(simt::Order::reverse, ConflictResolution::hierarchical),
                                           std::tuple(simt::Order::shuffled, ConflictResolution::register_based)),
                         [](const auto& which) {
                           return name_of_order(std::get<0>(which.param), std::get<1>(which.param));
                         });

class HeldBackend : public ::testing::Test {
 protected:
  HeldBackend() { simt::reset(); }

  EmulatedOptions options(const HeldCase& held) const {
    EmulatedOptions of{.rank = 8, .slots = 2};
    of.held = held.index();
    return of;
  }

  CooTensor tensor_ = random_tensor({.shape = {400, 41, 517}, .nnz = 1000, .seed = 2});
  HeldCase held_{tensor_, all_modes(3)};
  std::vector<std::vector<double>> factors_ = random_factors(tensor_.shape, 8, 11);
};

TEST_F(HeldBackend, TakesChunksOfEveryTierAndTheirRowUpdates) {
  const auto chunks = encode(tensor_, 100);
  EmulatedBackend device(tensor_.shape, options(held_));
  device.load(held_.parts(factors_));
  const auto reference = make_reference_backend(emulated_config(tensor_.shape, {.rank = 8}));
  for (int mode = 0; mode < 3; ++mode) reference->load_factor(mode, 0, factors_[static_cast<std::size_t>(mode)]);
  std::vector<std::unique_ptr<HostBuffer>> kept;
  std::vector<ResidentId> residents;
  for (std::size_t c = 0; c < 6; ++c) {
    if (c % 2 == 0) {
      kept.push_back(device->allocate_host(payload_bytes(chunks[c])));
      residents.push_back(device->keep(0, stage(chunks[c], kept.back()->bytes()), Tier::packed));
    } else {
      const auto [slot, view] = device.stage_next(chunks[c]);
      residents.push_back(device->keep(slot, view, Tier::device));
    }
  }
  std::vector<double> identity(64);
  for (std::size_t i = 0; i < identity.size(); i += 9) identity[i] = 1;
  for (const int mode : {0, 1, 2, 1}) {
    const auto n = static_cast<std::size_t>(mode);
    device->begin_pass(mode);
    for (const ResidentId resident : residents) device->submit_resident(resident);
    for (std::size_t c = residents.size(); c < chunks.size(); ++c) {
      const auto [slot, view] = device.stage_next(chunks[c]);
      device->submit(slot, view);
    }
    device->finish_pass();
    reference->begin_pass(mode);
    for (const EncodedChunk& chunk : chunks) reference->submit(0, chunk.view());
    reference->finish_pass();

    const RowUpdate actual = device->update_rows(mode, RowSolver(identity, 8));
    const RowUpdate wanted = reference->update_rows(mode, RowSolver(identity, 8));

    std::vector<double> factor(factors_[n].size());
    reference->store_factor(mode, 0, factor);
    EXPECT_THAT(device.factor(mode), ::testing::Pointwise(::testing::DoubleNear(1e-11), held_.part(n, factor)));
    EXPECT_THAT(actual.norms, ::testing::Pointwise(::testing::DoubleNear(1e-9), wanted.norms));
    EXPECT_THAT(device->gram(mode), ::testing::Pointwise(::testing::DoubleNear(1e-11), reference->gram(mode)));
  }
}

// A column whose norm is zero has equal entries in all rows of the mode, wherever these are.
TEST_F(HeldBackend, FillsColumnsByTheLengthOfTheMode) {
  EmulatedBackend device(tensor_.shape, options(held_));
  device.load(held_.parts(factors_));
  std::vector<double> identity(64);
  for (std::size_t i = 0; i < identity.size(); i += 9) identity[i] = 1;

  device.run(encode(tensor_, 400), 0);
  device->solve_rows(0, RowSolver(identity, 8));
  device->scale_rows(0, std::vector<double>{0, 1, 1, 1, 1, 1, 1, 1});

  EXPECT_DOUBLE_EQ(device.factor(0).front(), 1.0 / 20);
}

// Of every mode in turn one row of an entry, or a bound of the chunk.
TEST_F(HeldBackend, RefusesChunksWithOtherRows) {
  const EncodedChunk chunk = encode_chunk(tensor_, 0, tensor_.nnz(), 7);
  for (std::size_t mode = 0; mode < 3; ++mode) {
    const std::uint64_t inner = tensor_.coordinate(tensor_.nnz() / 2, mode);
    ASSERT_TRUE(chunk.lower[mode] < inner && inner < chunk.upper[mode]);
    for (const std::uint64_t lost : {inner, chunk.lower[mode], chunk.upper[mode]}) {
      std::vector<std::uint64_t> rows = held_.rows(mode);
      std::erase(rows, lost);
      EmulatedOptions of = options(held_);
      of.held[mode] = index_of(rows, tensor_.shape[mode]);
      EmulatedBackend device(tensor_.shape, of);
      try {
        device.run({{chunk}}, 0);
        ADD_FAILURE() << "row " << lost << " of mode " << mode << " was accepted";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::corrupt);
        EXPECT_THAT(error.what(), ::testing::AllOf(::testing::HasSubstr("chunk 7"),
                                                   ::testing::HasSubstr("mode " + std::to_string(mode)),
                                                   ::testing::HasSubstr("new since rows were shared out")));
      }
    }
  }
}

TEST_F(HeldBackend, TakesNoMoreDeviceMemoryThanThePlanCounts) {
  SKIP_ON_HARDWARE();
  for (const bool all_outputs : {false, true}) {
    EmulatedOptions of = options(held_);
    of.all_outputs = all_outputs;
    const BackendConfig config = emulated_config(tensor_.shape, of);
    const BackendConfig small = emulated_config(held_counts(held_, 3), {.rank = 8, .all_outputs = all_outputs});
    const auto device = make_cuda_backend(config, small_device());

    const std::uint64_t planned = cuda_backend_memory(config, small_device()).bytes();

    EXPECT_LE(simt::counters().live_bytes, planned + config.resident_bytes);
    const std::uint64_t pages = 3 * ((std::uint64_t{2} << 20) + 4096);
    EXPECT_LE(planned, cuda_backend_memory(small, small_device()).bytes() + pages);
  }
}

// A worker without chunks.
TEST_F(HeldBackend, MayHoldNoRows) {
  EmulatedOptions of{.rank = 8};
  for (const std::uint64_t length : tensor_.shape) of.held.push_back(index_of({}, length));
  EmulatedBackend none(tensor_.shape, of);
  std::vector<double> identity(64);
  for (std::size_t i = 0; i < identity.size(); i += 9) identity[i] = 1;

  EXPECT_EQ(none.pass({}, 1), std::vector<double>());
  EXPECT_THAT(none->update_rows(1, RowSolver(identity, 8)).norms, ::testing::Each(0));
  EXPECT_THAT(none->gram(1), ::testing::Each(0));
  EXPECT_EQ(none->take_factor(2), std::vector<double>());
}

}  // namespace
}  // namespace blco::testing
