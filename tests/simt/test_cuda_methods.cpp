// Whole fits by every method on the emulated device, in core and out of core, against the CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/cpd.hpp>
#include <blco/generate.hpp>
#include <blco/tucker.hpp>
#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "kernels/device_kind.hpp"
#include "tests/engine/within_budget.hpp"
#include "tests/simt/simt_control.hpp"
#include "tests/temporary_folder.hpp"

namespace blco::testing {
namespace {

struct MethodCase {
  std::string name;
  CpdMethod method;
  double tolerance = 1e-9;  // of the objective, relatively
};

std::ostream& operator<<(std::ostream& out, const MethodCase& method) { return out << method.name; }

std::vector<MethodCase> every_method() {
  const RowConstraint nonnegative{.set = RowSet::nonnegative};
  const RowConstraint box{.set = RowSet::box, .lower = -0.2, .upper = 0.6};
  const RowConstraint sparse{.set = RowSet::all, .l1 = 0.5};
  return {{"nonnegative", AlsMethod{{nonnegative, nonnegative, nonnegative}}},
          {"box_and_simplex", AlsMethod{{box, {.set = RowSet::simplex}, {}}}},
          {"l1", AlsMethod{{sparse, sparse, sparse}}},
          {"apr", AprMethod{.inner_iterations = 3}},
          {"gcp_gaussian", GcpMethod{.optimizer = LbfgsOptimizer{.evaluations = 6}}},
          {"gcp_poisson", GcpMethod{.loss = {LossKind::poisson, 0}, .optimizer = LbfgsOptimizer{.evaluations = 6}}},
          {"gcp_huber", GcpMethod{.loss = {LossKind::huber, 0.5}, .optimizer = LbfgsOptimizer{.evaluations = 6}}},
          {"gcp_huber_by_adam",
           GcpMethod{.loss = {LossKind::huber, 0.5}, .optimizer = AdamOptimizer{.sampled_zeros = 200}}},
          {"complete", CompletionMethod{}}};
}

class CudaMethods : public ::testing::TestWithParam<MethodCase> {
 protected:
  CudaMethods() {
    simt::reset();
    simt::set_policy(simt::Policy::shuffled, 5);
    generate_container({.shape = {30, 3, 40}, .nnz = 1200, .seed = 3, .counts = true}, folder_ / "in.blco",
                       {.chunk_nnz = 150});
    tensor_.emplace(folder_ / "in.blco");
  }

  static CpdOptions on(Device device) {
    CpdOptions options;
    options.method = GetParam().method;
    options.rank = 4;
    options.max_sweeps = 2;
    options.tolerance = 0;
    options.compute.device = device;
    options.compute.threads = 1;
    return options;
  }

  static double objective_of(const CpdModel& model) {
    return model.fit_history.empty() ? model.objective() : model.fit();
  }

  TemporaryFolder folder_;
  std::optional<TensorFile> tensor_;
};

TEST_P(CudaMethods, GiveTheObjectiveOfTheCpu) {
  const double expected = objective_of(fit_cpd(*tensor_, on(Device::cpu)));
  const CpdPlan ample = plan_cpd(*tensor_, on(Device::cuda));

  const double resident = objective_of(fit_cpd(*tensor_, on(Device::cuda)));
  const double streamed =
      objective_of(fit_cpd(*tensor_, within({.device_bytes = ample.device_minimum_bytes}, on(Device::cuda))));

  EXPECT_NEAR(resident, expected, GetParam().tolerance * std::abs(expected));
  EXPECT_NEAR(streamed, expected, GetParam().tolerance * std::abs(expected));
}

// The CPU leads a device, and a device the CPU, or another device.
TEST_P(CudaMethods, ShareThePassesWithOtherDevices) {
  simt::set_device({.count = 2});
  const double expected = objective_of(fit_cpd(*tensor_, on(Device::cpu)));
  std::vector<std::vector<std::string>> lists = {{"cpu=1", "cuda:0=2"}, {"cuda:0=2", "cpu=1"}};
  if (gpu_count() > 1) lists.push_back({"cuda:1", "cuda:0"});
  for (const std::vector<std::string>& devices : lists) {
    CpdOptions options = on(Device::automatic);
    options.compute.devices = devices;
    EXPECT_NEAR(objective_of(fit_cpd(*tensor_, options)), expected, GetParam().tolerance * std::abs(expected));
  }
}

// Bytes over the link in the second sweep, of a tensor whose chunks all stay on the device.
std::uint64_t bytes_of_sweep(const std::vector<std::uint64_t>& shape, CpdOptions options) {
  TemporaryFolder folder;
  generate_container({.shape = shape, .nnz = 500, .seed = 3, .counts = true}, folder / "in.blco");
  const TensorFile tensor(folder / "in.blco");
  std::vector<std::uint64_t> moved;
  for (const int sweeps : {1, 2}) {
    const simt::Counters before = simt::counters();
    options.max_sweeps = sweeps;
    fit_cpd(tensor, options);
    const simt::Counters after = simt::counters();
    moved.push_back(after.bytes_to_device - before.bytes_to_device + after.bytes_to_host - before.bytes_to_host);
  }
  return moved[1] - moved[0];
}

// A hundred times as many rows make a sweep move less than half of them once. The vectors of L-BFGS-B are the host's.
TEST_P(CudaMethods, MoveNoRowsInASweep) {
  if (GetParam().name == "gcp_huber") GTEST_SKIP() << "takes no tensor of so many cells";
  if (GetParam().name == "l1") GTEST_SKIP() << "makes all factors of so sparse a tensor zero";
  const CpdOptions options = on(Device::cuda);

  const std::uint64_t of_few = bytes_of_sweep({20, 3, 15}, options);
  const std::uint64_t of_many = bytes_of_sweep({2000, 3, 1500}, options);

  const std::uint64_t row_bytes = (2000 + 3 + 1500) * 4 * sizeof(double);
  if (GetParam().name == "gcp_gaussian" || GetParam().name == "gcp_poisson") {
    EXPECT_GE(of_many, of_few + row_bytes);
  } else {
    EXPECT_LT(of_many, of_few + row_bytes / 2);
  }
}

INSTANTIATE_TEST_SUITE_P(EveryMethod, CudaMethods, ::testing::ValuesIn(every_method()),
                         [](const auto& of) { return of.param.name; });

class CudaTucker : public ::testing::TestWithParam<simt::Order> {};

// MTTKRPs with a slab of columns of the unfolding each, resident and streamed.
TEST_P(CudaTucker, GivesTheFitOfTheCpu) {
  simt::reset();
  simt::set_order(GetParam(), 3);
  simt::set_policy(simt::Policy::shuffled, 5);
  const TemporaryFolder folder;
  generate_container({.shape = {30, 12, 40}, .nnz = 1200, .seed = 3, .counts = true}, folder / "in.blco",
                     {.chunk_nnz = 150});
  const TensorFile tensor(folder / "in.blco");
  for (const TuckerMethod method : {TuckerMethod::hooi, TuckerMethod::hoqri}) {
    TuckerOptions options{.method = method, .ranks = {4, 3, 5}, .max_sweeps = 2, .tolerance = 0};
    options.compute.device = Device::cpu;
    const double expected = fit_tucker(tensor, options).fit();
    options.compute.device = Device::cuda;

    EXPECT_NEAR(fit_tucker(tensor, options).fit(), expected, 1e-12);
    options.compute.memory.device_bytes = plan_tucker(tensor, options).plan.device_minimum_bytes;
    EXPECT_NEAR(fit_tucker(tensor, options).fit(), expected, 1e-12);
  }
}

INSTANTIATE_TEST_SUITE_P(EveryOrder, CudaTucker,
                         ::testing::Values(simt::Order::forward, simt::Order::reverse, simt::Order::shuffled));

}  // namespace
}  // namespace blco::testing
