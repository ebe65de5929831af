// Whole fits by every method on the emulated device, in core and out of core, against the CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/cpd.hpp>
#include <blco/generate.hpp>
#include <blco/tucker.hpp>
#include <cmath>
#include <ostream>
#include <string>

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

INSTANTIATE_TEST_SUITE_P(EveryMethod, CudaMethods, ::testing::ValuesIn(every_method()),
                         [](const auto& of) { return of.param.name; });

// MTTKRPs with a slab of columns of the unfolding each, resident and streamed.
TEST(CudaTucker, GivesTheFitOfTheCpu) {
  simt::reset();
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

}  // namespace
}  // namespace blco::testing
