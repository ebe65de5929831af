// Steps of methods over all rows of a factor in device memory, beside those of the serial reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "tests/kernels/owner_cases.hpp"
#include "tests/kernels/reference_backend.hpp"
#include "tests/simt/device_loss_cases.hpp"
#include "tests/simt/every_schedule.hpp"

namespace blco::testing {
namespace {

// With two vectors of one mode and one of all, the first `device_vectors` in device memory.
EmulatedOptions step_options(const CooTensor& tensor, int rank, Precision precision, std::size_t device_vectors) {
  const std::uint64_t all = std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::uint64_t{0});
  return {.rank = rank,
          .precision = precision,
          .vectors = {{tensor.shape[0]}, {tensor.shape[0]}, {all, true}, {all, true}},
          .device_vectors = device_vectors};
}

// A device and the reference after the same pass of APR over the same factors, with zeros in that of mode 0.
class StepPair {
 public:
  StepPair(const CooTensor& tensor, int rank, Precision precision, std::size_t device_vectors = 0)
      : columns_(static_cast<std::size_t>(rank)),
        rows_(static_cast<std::size_t>(tensor.shape[0])),
        exact_(precision == Precision::f64 ? 1e-12 : 1e-5),
        where_("rank " + std::to_string(rank) + ", " + std::to_string(rows_) + " rows"),
        device_(tensor.shape, step_options(tensor, rank, precision, device_vectors)),
        reference_(make_reference_backend(
            emulated_config(tensor.shape, step_options(tensor, rank, precision, device_vectors)))) {
    auto factors = positive_factors(tensor.shape, rank);
    for (std::size_t at = 2; at < factors[0].size(); at += 5) factors[0][at] = at % 2 == 0 ? 0 : 1e-4;
    const PassRequest pass(EntryFunction{.rule = EntryRule::ratio, .floor = 1e-10}, mode_bit(0));
    const auto chunks = encode(tensor, 300);
    device_.load(factors);
    device_.run(chunks, pass);
    for (std::size_t n = 0; n < factors.size(); ++n) reference_->load_factor(static_cast<int>(n), 0, factors[n]);
    reference_->begin_pass(pass);
    for (const EncodedChunk& chunk : chunks) reference_->submit(0, chunk.view());
    reference_->finish_pass();
  }

  // Calls visit with the backend of each, and expects equal numbers afterwards.
  template <class Visit>
  void expect_same(const Visit& visit) {
    const std::vector<double> actual = visit(*device_.operator->());
    const std::vector<double> wanted = visit(*reference_);
    expect_near(actual, wanted);
    std::vector<double> factor(rows_ * columns_);
    reference_->store_factor(0, 0, factor);
    expect_near(device_.factor(0), factor);
    const auto gram = reference_->gram(0);
    expect_near({device_->gram(0).begin(), device_->gram(0).end()}, {gram.begin(), gram.end()});
  }

 private:
  void expect_near(const std::vector<double>& actual, const std::vector<double>& wanted) const {
    ASSERT_EQ(actual.size(), wanted.size()) << where_;
    double largest = 0;
    for (const double number : wanted) largest = std::max(largest, std::abs(number));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_NEAR(actual[i], wanted[i], exact_ * largest) << where_ << ", number " << i;
    }
  }

  std::size_t columns_;
  std::size_t rows_;
  double exact_;
  std::string where_;
  EmulatedBackend device_;
  std::unique_ptr<Backend> reference_;
};

void expect_steps(CooTensor tensor, int rank, Precision precision) {
  for (std::size_t i = 0; i < tensor.nnz(); ++i) tensor.values[i] = 10 * static_cast<double>(i % 4);
  StepPair pair(tensor, rank, precision);
  const auto n = static_cast<std::size_t>(rank);
  std::vector<double> weights;
  std::vector<double> held_sums;
  for (std::size_t r = 0; r < n; ++r) {
    weights.push_back(r == 1 ? 0 : 0.5 + static_cast<double>(r));
    held_sums.push_back(r > 0 && r + 1 == n ? 0 : 0.5);
  }
  const auto sums = [](Backend& backend) { return backend.column_sums(0); };
  AprStep step{.weights = weights, .kappa = 0.25, .kappa_tolerance = 1e-3, .tolerance = 0.125};
  bool has_stuck = false;
  const auto measure = [&](Backend& backend) {
    const AprViolation violation = backend.apr_measure(0, step, false);
    has_stuck = violation.has_stuck_zeros;
    return std::vector<double>{violation.largest, has_stuck ? 1.0 : 0.0};
  };

  pair.expect_same(sums);
  for (const bool has_held : {true, false}) {
    if (has_held) step.held_sums = held_sums;
    pair.expect_same(measure);
    EXPECT_TRUE(has_stuck || has_held || tensor.shape[0] == 1);
    pair.expect_same([&](Backend& backend) {
      return std::vector<double>{backend.apr_measure(0, step, true).has_stuck_zeros ? 1.0 : 0.0};
    });
    step.held_sums = {};
  }
  pair.expect_same([&](Backend& backend) {
    backend.apr_free_zeros(0, step);
    return std::vector<double>{};
  });
  pair.expect_same(measure);
  EXPECT_FALSE(has_stuck);
  step.held_sums = held_sums;
  pair.expect_same([&](Backend& backend) {
    backend.apr_multiply(0, step);
    return std::vector<double>{};
  });
  pair.expect_same([&](Backend& backend) {
    backend.scale_columns(0, weights, held_sums);
    backend.scale_columns(0, std::vector<double>(n, -1.0), std::vector<double>(n, 1.0));
    return std::vector<double>{};
  });
  pair.expect_same([&](Backend& backend) {
    backend.scale_columns(0, weights);
    return std::vector<double>{};
  });
  pair.expect_same([&](Backend& backend) {
    backend.raise_to_zero(0);
    return std::vector<double>{};
  });
  pair.expect_same(sums);
}

// By outputs that serve as the products of conjugate gradients and as gradients; a large ridge keeps curvatures from 0.
void expect_vector_steps(CooTensor tensor, int rank, Precision precision, std::size_t device_vectors) {
  for (std::size_t i = 0; i < tensor.nnz(); ++i) tensor.values[i] = 10 * static_cast<double>(i % 4);
  StepPair pair(tensor, rank, precision, device_vectors);
  const auto numbers = static_cast<std::size_t>(tensor.shape[0]) * static_cast<std::size_t>(rank);
  const auto vector_of = [numbers](Backend& backend, int vector) {
    std::vector<double> rows(numbers);
    backend.store_vector(vector, 0, 0, rows);
    return rows;
  };
  std::vector<double> rates(static_cast<std::size_t>(rank), 0.25);
  rates.front() = 0.5;
  std::vector<double> positive(numbers);
  for (std::size_t at = 0; at < numbers; ++at) positive[at] = 0.125 * static_cast<double>(at % 7);

  for (const bool nonnegative : {false, true}) {
    const CgStep cg{.ridge = 8,
                    .centre = nonnegative ? std::span<const double>(rates) : std::span<const double>(),
                    .nonnegative = nonnegative,
                    .least_cosine = 1e-2,
                    .solved = 1e-5};
    pair.expect_same([&](Backend& backend) {
      backend.cg_begin(0, cg);
      return vector_of(backend, 0);
    });
    // The reference rounds nothing to f32, and a residual is a difference of large numbers.
    for (int step = 0; step < (precision == Precision::f32 ? 0 : 2); ++step) {
      pair.expect_same([&](Backend& backend) {
        backend.cg_step(0, cg);
        return vector_of(backend, step);
      });
    }
    pair.expect_same([](Backend& backend) { return std::vector<double>{backend.cg_end(0)}; });
  }
  pair.expect_same([&](Backend& backend) {
    backend.copy_to_vector(0, 2);
    backend.copy_vector(2, 3);
    backend.load_vector(0, 0, 0, positive);
    backend.load_vector(1, 0, 0, positive);
    const AdamStep step{.rates = rates, .first_decay = 0.75, .second_decay = 0.5, .epsilon = 1, .nonnegative = true};
    backend.adam_step(0, step);
    return vector_of(backend, 0);
  });
  pair.expect_same([&](Backend& backend) { return vector_of(backend, 1); });
  for (const bool nonnegative : {false, true}) {
    pair.expect_same([&](Backend& backend) { return backend.extrapolate(0, 1, {rates, rates, nonnegative}); });
    pair.expect_same([&](Backend& backend) { return vector_of(backend, 1); });
  }
  pair.expect_same([&](Backend& backend) {
    backend.copy_from_vector(0, 3);
    return vector_of(backend, 2);
  });
}

class StepSchedule : public EverySchedule {};

TEST_P(StepSchedule, TakesRowStepsAsTheReferenceDoes) {
  for (const Precision precision : {Precision::f64, Precision::f32, Precision::mixed}) {
    expect_steps(tensor_, backend_rank, precision);
  }
}

TEST_P(StepSchedule, KeepsVectorsWhereverTheyLie) {
  for (const Precision precision : {Precision::f64, Precision::f32, Precision::mixed}) {
    for (const std::size_t device_vectors : {0, 1, 3, 4}) {
      expect_vector_steps(tensor_, backend_rank, precision, device_vectors);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(CudaBackend, StepSchedule, ::testing::ValuesIn(schedules), name_of_schedule);

// Fewer rows than a part of a sum has, and several parts that rows do not fill evenly.
TEST(DeviceSteps, AreThoseOfTheReferenceWhateverTheSizes) {
  simt::reset();
  for (const int rank : {1, 7, 33}) {
    for (const std::uint64_t rows : {1, 33, 700}) {
      const CooTensor tensor = random_tensor({.shape = {rows, 40, 5}, .nnz = 4 * rows, .seed = rows});
      expect_steps(tensor, rank, Precision::f64);
      expect_vector_steps(tensor, rank, Precision::f64, 4);
    }
  }
}

// On hardware, how cuBLAS solves a row may depend on how many there are.
TEST(DeviceSteps, ChangeOwnedRowsAlone) {
  for (const Precision precision : {Precision::f64, Precision::f32, Precision::mixed}) {
    const double scaled = precision == Precision::f64 ? 1e-12 : 1e-6;
    for (const auto& split : owned_splits) {
      if (precision != Precision::f64 && split.size() == 2) continue;
      simt::reset();
      const auto shared = [&](bool keep_previous) {
        const auto make = [&, keep_previous] {
          BackendConfig config = owned_config(5, precision);
          config.keep_previous = keep_previous;
          config.device_vectors = 1;
          return make_cuda_backend(config, emulated_limits({}));
        };
        return SharedMode(make, split, 5);
      };
      SharedMode mode = shared(false);
      expect_updates_of_owners(mode, 5, scaled, on_hardware ? scaled : 0);
      expect_steps_of_owners(mode, 5, 0);
      SharedMode keeping = shared(true);
      expect_undone_updates_of_owners(keeping, 5);
    }
  }
}

TEST(DeviceSteps, MoveScatteredRows) {
  for (const Precision precision : {Precision::f64, Precision::f32, Precision::mixed}) {
    for (const int rank : {1, 5}) {
      simt::reset();
      expect_scattered_rows(*make_cuda_backend(owned_config(rank, precision), emulated_limits({})), rank);
    }
  }
}

TEST(DeviceSteps, ReadAnOutputThatThePassHasFilled) {
  simt::reset();
  EmulatedBackend device(std::vector<std::uint64_t>{40, 3}, {.rank = 2});
  device.load(random_factors(std::vector<std::uint64_t>{40, 3}, 2, 1));
  device.run({}, {EntryFunction{.rule = EntryRule::model}, mode_bit(1)});
  const std::vector<double> weights{1, 1};

  EXPECT_THROW(device->apr_multiply(0, {.weights = weights}), Error);
  EXPECT_THROW(device->apr_multiply(1, {.weights = {}}), Error);
  EXPECT_THROW(device->scale_columns(1, {}), Error);
  device->apr_multiply(1, {.weights = weights});
  EXPECT_EQ(device.factor(1), std::vector<double>(6));
}

}  // namespace
}  // namespace blco::testing
