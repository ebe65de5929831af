// Loss passes of every backend against a loop over coordinates in extended precision.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "blco/error.hpp"
#include "kernels/host/host_backend.hpp"
#include "kernels/reference_backend.hpp"
#include "tests/kernels/backend_cases.hpp"
#include "tests/random_tensor.hpp"
#include "tests/thread_executor.hpp"

namespace blco::testing {
namespace {

using Real = long double;

struct TermOf {
  Real term;
  Real weight;
};

// A rule, and what it is by definition.
struct LossCase {
  EntryFunction function;
  std::function<TermOf(Real x, Real m)> expected;
};

struct LossSums {
  Real sum = 0;
  Real sum_size = 0;                  // of the absolute terms
  std::vector<ExpectedRows> outputs;  // per mode
};

LossSums expected_sums(const CooTensor& tensor, std::span<const std::vector<double>> factors, int rank,
                       const LossCase& loss) {
  const auto columns = static_cast<std::size_t>(rank);
  const auto number = [&](std::size_t i, std::size_t mode, std::size_t r) {
    return static_cast<Real>(factors[mode][static_cast<std::size_t>(tensor.coordinate(i, mode)) * columns + r]);
  };
  LossSums sums;
  CooTensor weighted = tensor;
  for (std::size_t i = 0; i < tensor.nnz(); ++i) {
    Real model = 0;
    for (std::size_t r = 0; r < columns; ++r) {
      Real product = 1;
      for (std::size_t mode = 0; mode < tensor.order(); ++mode) product *= number(i, mode, r);
      model += product;
    }
    const auto [term, weight] = loss.expected(tensor.values[i], model);
    sums.sum += term;
    sums.sum_size += std::abs(term);
    weighted.values[i] = static_cast<double>(weight);
  }
  for (std::size_t mode = 0; mode < tensor.order(); ++mode) {
    sums.outputs.push_back(coordinate_mttkrp(weighted, factors, rank, mode));
  }
  return sums;
}

// All factors between 0.2 and 1, so that no model's value is near 0, where losses have poles.
std::vector<std::vector<double>> positive_factors(std::span<const std::uint64_t> shape, int rank, std::uint64_t seed) {
  auto factors = random_factors(shape, rank, seed);
  for (auto& factor : factors) {
    for (double& entry : factor) entry = 0.6 + 0.4 * entry;
  }
  return factors;
}

struct LossSetup {
  std::vector<std::uint64_t> shape = {};
  int rank = 5;
  bool all_outputs = true;
  std::uint64_t private_bytes = std::uint64_t{1} << 40;
  std::uint64_t sorted_bytes = 0;
};

class LossBackend {
 public:
  LossBackend(const BackendCase& which, const LossSetup& setup) : setup_(setup), executor_(std::max(which.threads, 1)) {
    BackendConfig config{TensorLayout(setup.shape), setup.rank, which.precision, setup.private_bytes};
    config.sorted_bytes = setup.sorted_bytes;
    config.all_outputs = setup.all_outputs;
    config.loss_passes = true;
    backend_ = which.threads == 0 ? make_reference_backend(config) : make_host_backend(config, executor_);
  }

  Backend& operator*() { return *backend_; }
  Backend* operator->() { return backend_.get(); }

  void load(std::span<const std::vector<double>> factors) {
    for (std::size_t n = 0; n < factors.size(); ++n) backend_->load_factor(static_cast<int>(n), 0, factors[n]);
  }

  void pass(std::span<const EncodedChunk> chunks, const PassRequest& request) {
    backend_->begin_pass(request);
    for (const EncodedChunk& chunk : chunks) {
      backend_->submit(0, chunk.view());
      backend_->wait_lane(0);
    }
    backend_->finish_pass();
  }

  std::vector<double> output(int mode) const {
    const auto length = static_cast<std::size_t>(setup_.shape[static_cast<std::size_t>(mode)]);
    std::vector<double> rows(length * static_cast<std::size_t>(setup_.rank));
    backend_->read_output(mode, 0, rows);
    return rows;
  }

  // Outputs of these modes, and the sum of terms.
  std::vector<std::vector<double>> results(ModeSet modes) const {
    std::vector<std::vector<double>> all{{backend_->sum_of_terms()}};
    for (int mode = 0; mode < static_cast<int>(setup_.shape.size()); ++mode) {
      if (has_mode(modes, mode)) all.push_back(output(mode));
    }
    return all;
  }

 private:
  LossSetup setup_;
  ThreadExecutor executor_;
  std::unique_ptr<Backend> backend_;
};

const LossCase poisson_given{{EntryRule::given, {LossKind::poisson}}, [](Real x, Real m) {
                               return TermOf{m - x * std::log(m + 1e-10L), 1 - x / (m + 1e-10L)};
                             }};

class LossPassOf : public ::testing::TestWithParam<BackendCase> {
 protected:
  // A weight has the relative error of the model's value, so that it is a few times that of an MTTKRP.
  double tolerance() const { return GetParam().precision == Precision::f32 ? 1e-4 : 1e-11; }

  void expect_near(const LossBackend& backend, Backend& results, const LossSums& expected, ModeSet modes) const {
    EXPECT_NEAR(results.sum_of_terms(), static_cast<double>(expected.sum),
                tolerance() * static_cast<double>(expected.sum_size));
    for (std::size_t mode = 0; mode < expected.outputs.size(); ++mode) {
      if (!has_mode(modes, static_cast<int>(mode))) continue;
      EXPECT_THAT(backend.output(static_cast<int>(mode)), RowsNear(expected.outputs[mode], tolerance()))
          << "mode " << mode;
    }
  }

  // None, each and all of the outputs, on the whole tensor.
  void expect_sums(const CooTensor& tensor, std::uint64_t chunk_nnz, LossSetup setup,
                   const LossCase& loss = poisson_given) const {
    setup.shape = tensor.shape;
    const auto factors = positive_factors(tensor.shape, setup.rank, 11);
    const auto expected = expected_sums(tensor, GetParam().held(factors), setup.rank, loss);
    const auto chunks = encode(tensor, chunk_nnz);
    LossBackend backend(GetParam(), setup);
    backend.load(factors);
    const int order = static_cast<int>(tensor.order());
    std::vector<ModeSet> requests{0};
    for (int mode = 0; mode < order; ++mode) requests.push_back(mode_bit(mode));
    if (setup.all_outputs) requests.push_back(all_modes(order));
    for (const ModeSet modes : requests) {
      SCOPED_TRACE(::testing::Message() << "outputs " << modes << ", rank " << setup.rank << ", order " << order
                                        << ", chunks of " << chunk_nnz);
      backend.pass(chunks, {loss.function, modes});
      expect_near(backend, *backend, expected, modes);
    }
  }
};

TEST_P(LossPassOf, FillsNoneOneOrAllOutputs) {
  const auto tensor = random_tensor({.shape = {97, 33, 65}, .nnz = 2100, .seed = 7, .values = Values::counts});

  for (const std::uint64_t chunk_nnz : {63, 64, 257, 1000, 5000}) expect_sums(tensor, chunk_nnz, {});
}

TEST_P(LossPassOf, FillsThemWithoutPrivateCopies) {
  const auto tensor = random_tensor({.shape = {40, 300, 65}, .nnz = 5000, .seed = 8, .values = Values::counts});

  expect_sums(tensor, 2000, {.private_bytes = 0});
  expect_sums(tensor, 2000, {.rank = 9, .private_bytes = std::uint64_t{60} << 10});
  expect_sums(tensor, 2000, {.all_outputs = false, .private_bytes = 0});
}

INSTANTIATE_TEST_SUITE_P(LossPass, LossPassOf, ::testing::ValuesIn(every_backend()),
                         [](const auto& which) { return which.param.name(); });

}  // namespace
}  // namespace blco::testing
