// Whole fits by every method on the emulated device, in core and out of core, against the CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <blco/cpd.hpp>
#include <blco/generate.hpp>
#include <blco/tucker_ranks.hpp>
#include <cmath>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "kernels/device_kind.hpp"
#include "tests/engine/within_budget.hpp"
#include "tests/simt/emulated_backend.hpp"
#include "tests/simt/simt_control.hpp"
#include "tests/temporary_folder.hpp"

namespace blco::testing {
namespace {

struct MethodCase {
  std::string name;
  CpdMethod method;
  double tolerance = 1e-9;  // of the objective, relatively
  Start start = Start::automatic;
};

std::ostream& operator<<(std::ostream& out, const MethodCase& method) { return out << method.name; }

std::vector<MethodCase> every_method() {
  const RowConstraint nonnegative{.set = RowSet::nonnegative};
  const RowConstraint box{.set = RowSet::box, .lower = -0.2, .upper = 0.6};
  const RowConstraint sparse{.set = RowSet::all, .l1 = 0.5};
  return {{"nvecs", AlsMethod{}, 1e-9, Start::nvecs},
          {"nonnegative", AlsMethod{{nonnegative, nonnegative, nonnegative}}},
          {"box_and_simplex", AlsMethod{{box, {.set = RowSet::simplex}, {}}}},
          {"l1", AlsMethod{{sparse, sparse, sparse}}},
          {"apr", AprMethod{.inner = 3}},
          {"gcp_gaussian", GcpMethod{.evaluations = 6}},
          {"gcp_poisson", GcpMethod{.loss = {LossKind::poisson, 0}, .evaluations = 6}},
          {"gcp_huber", GcpMethod{.loss = {LossKind::huber, 0.5}, .evaluations = 6}},
          {"gcp_huber_by_adam", GcpAdamMethod{.loss = {LossKind::huber, 0.5}, .samples = 200}},
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

  static CpdOptions on(const std::vector<std::string>& devices) {
    CpdOptions options;
    options.method = GetParam().method;
    options.start = GetParam().start;
    options.rank = 4;
    options.max_sweeps = 2;
    options.tolerance = 0;
    options.compute.devices = devices;
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
  const double expected = objective_of(fit_cpd(*tensor_, on({"cpu"})));
  const CpdPlan ample = plan_cpd(*tensor_, on({"cuda"}));

  const double resident = objective_of(fit_cpd(*tensor_, on({"cuda"})));
  const double streamed =
      objective_of(fit_cpd(*tensor_, within({.device_bytes = ample.device_minimum_bytes}, on({"cuda"}))));

  EXPECT_NEAR(resident, expected, GetParam().tolerance * std::abs(expected));
  EXPECT_NEAR(streamed, expected, GetParam().tolerance * std::abs(expected));
}

// Of device memory a buffer takes whole pages, whatever it asks for.
TEST_P(CudaMethods, KeepToTheLeastBudget) {
  SKIP_ON_HARDWARE();
  for (const Precision precision : {Precision::f64, Precision::f32, Precision::mixed}) {
    CpdOptions options = on({"cuda"});
    options.max_sweeps = 1;
    options.compute.precision = precision;
    const std::uint64_t least = plan_cpd(*tensor_, options).device_minimum_bytes;
    options.compute.memory.device_bytes = least;
    simt::reset();

    fit_cpd(*tensor_, options);

    EXPECT_GT(simt::counters().max_bytes, 0U);
    EXPECT_LE(simt::counters().max_bytes, least);
  }
}

// The CPU leads a device, and a device the CPU, or another device; with room for all chunks, and for none.
TEST_P(CudaMethods, ShareThePassesWithOtherDevices) {
  simt::set_device({.count = 2});
  const double expected = objective_of(fit_cpd(*tensor_, on({"cpu"})));
  std::vector<std::vector<std::string>> lists = {{"cpu=1", "cuda:0=2"}, {"cuda:0=2", "cpu=1"}};
  if (gpu_count() > 1) lists.push_back({"cuda:1", "cuda:0"});
  for (const std::vector<std::string>& devices : lists) {
    CpdOptions options = on({});
    options.compute.devices = devices;
    EXPECT_NEAR(objective_of(fit_cpd(*tensor_, options)), expected, GetParam().tolerance * std::abs(expected));
    const CpdPlan ample = plan_cpd(*tensor_, options);
    options.compute.memory.device_bytes = std::max(ample.device_minimum_bytes, ample.others[0].device_minimum_bytes);
    EXPECT_NEAR(objective_of(fit_cpd(*tensor_, options)), expected, GetParam().tolerance * std::abs(expected));
    options.compute.memory.host_bytes = plan_cpd(*tensor_, options).minimum_bytes;
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
  SKIP_ON_HARDWARE();  // nothing is counted there
  if (GetParam().name == "gcp_huber") GTEST_SKIP() << "takes no tensor of so many cells";
  if (GetParam().name == "l1") GTEST_SKIP() << "makes all factors of so sparse a tensor zero";
  const CpdOptions options = on({"cuda"});

  const std::uint64_t of_few = bytes_of_sweep({20, 3, 15}, options);
  const std::uint64_t of_many = bytes_of_sweep({2000, 3, 1500}, options);

  const std::uint64_t row_bytes = (2000 + 3 + 1500) * 4 * sizeof(double);
  if (GetParam().name == "gcp_gaussian" || GetParam().name == "gcp_poisson") {
    EXPECT_GE(of_many, of_few + row_bytes);
  } else {
    EXPECT_LT(of_many, of_few + row_bytes / 2);
  }
}

// A sweep that starts ahead of the model. A start after ten sweeps is slow enough for the fourth to be one.
TEST(CudaMomentum, MovesNoRowsInASweep) {
  SKIP_ON_HARDWARE();
  std::vector<std::uint64_t> moved;
  for (const std::uint64_t scale : {1, 100}) {
    TemporaryFolder folder;
    generate_container({.shape = {20 * scale, 3, 15 * scale}, .nnz = 500, .seed = 3, .counts = true},
                       folder / "in.blco");
    const TensorFile tensor(folder / "in.blco");
    CpdOptions options{.rank = 4, .tolerance = 0};
    options.max_sweeps = 10;
    options.compute.devices = {"cpu"};
    const CpdModel slow = fit_cpd(tensor, options);
    options.initial = &slow;
    options.max_sweeps = 7;
    options.compute.devices = {"cuda"};
    std::vector<std::uint64_t> after;
    options.on_sweep = [&](const SweepReport&) {
      after.push_back(simt::counters().bytes_to_device + simt::counters().bytes_to_host);
      return true;
    };

    simt::reset();
    const CpdModel ahead = fit_cpd(tensor, options);

    moved.push_back(after[6] - after[3]);
    options.momentum = false;
    EXPECT_NE(fit_cpd(tensor, options).fit_history, ahead.fit_history);
  }
  const std::uint64_t row_bytes = (2000 + 3 + 1500) * 4 * sizeof(double);
  EXPECT_LT(moved[1], moved[0] + row_bytes / 2);
}

INSTANTIATE_TEST_SUITE_P(EveryMethod, CudaMethods, ::testing::ValuesIn(every_method()),
                         [](const auto& of) { return of.param.name; });

class CudaTucker : public ::testing::TestWithParam<simt::Order> {
 protected:
  CudaTucker() { reset(simt::Policy::shuffled); }

  static void reset(simt::Policy policy) {
    simt::reset();
    simt::set_order(GetParam(), 3);
    simt::set_policy(policy, 5);
  }

  TensorFile generate(const std::vector<std::uint64_t>& shape, Reorder reorder = Reorder::none) const {
    generate_container({.shape = shape, .nnz = 1200, .seed = 3, .skew = 2, .counts = true}, folder_ / "in.blco",
                       {.reorder = reorder, .chunk_nnz = 150});
    return TensorFile(folder_ / "in.blco");
  }

  static TuckerOptions of_ranks(std::vector<int> ranks, TuckerMethod method = TuckerMethod::hooi) {
    return {.method = method, .ranks = std::move(ranks), .max_sweeps = 2, .tolerance = 0};
  }

  // Returns the plan of the fit on the device, which keeps within its memory.
  // `max_error` 0: with the ranks of the options.
  static TuckerPlan expect_fit_of_the_cpu(const Tensor& tensor, TuckerOptions options, double max_error = 0) {
    const auto fit = [&] {
      return max_error > 0 ? fit_tucker_to_error(tensor, options, max_error) : fit_tucker(tensor, options);
    };
    options.compute.devices = {"cpu"};
    const std::uint64_t device_bytes = std::exchange(options.compute.memory.device_bytes, 0);
    const TuckerModel expected = fit();
    options.compute.devices = {"cuda"};
    options.compute.memory.device_bytes = device_bytes;
    TuckerPlan plan;
    options.on_plan = [&](const TuckerPlan& made) { plan = made; };
    const std::uint64_t bytes_before = simt::counters().live_bytes;

    const TuckerModel model = fit();

    EXPECT_NEAR(model.fit(), expected.fit(), 1e-12);
    EXPECT_EQ(model.ranks, expected.ranks);
    EXPECT_EQ(simt::counters().live_bytes, bytes_before);
    return plan;
  }

  TemporaryFolder folder_;
};

// A pass a mode, of chunks that stay on the device; and where that has little room, a slab of columns in each.
TEST_P(CudaTucker, GivesTheFitOfTheCpu) {
  const std::vector<std::pair<std::vector<std::uint64_t>, std::vector<int>>> cases{{{30, 12, 40}, {4, 3, 5}},
                                                                                   {{300, 3, 40}, {8, 2, 8}},
                                                                                   {{20, 9, 12, 7}, {2, 3, 1, 2}},
                                                                                   {{9, 7, 8, 5, 6}, {2, 2, 3, 1, 2}}};
  for (const auto& [shape, ranks] : cases) {
    const TensorFile tensor = generate(shape);
    for (const simt::Policy policy : {simt::Policy::eager, simt::Policy::lazy, simt::Policy::shuffled}) {
      reset(policy);
      TuckerOptions options = of_ranks(ranks);
      const TuckerPlan whole = expect_fit_of_the_cpu(tensor, options);
      EXPECT_EQ(whole.passes_per_sweep, shape.size());
      EXPECT_LE(simt::counters().max_bytes, whole.plan.device_planned_bytes);

      if (policy != simt::Policy::shuffled) continue;
      reset(policy);
      options.compute.memory.device_bytes = whole.plan.device_minimum_bytes;
      EXPECT_GT(expect_fit_of_the_cpu(tensor, options).passes_per_sweep, shape.size());
      EXPECT_LE(simt::counters().max_bytes, whole.plan.device_minimum_bytes);
    }
    expect_fit_of_the_cpu(tensor, of_ranks(ranks, TuckerMethod::hoqri));
  }
}

TEST_P(CudaTucker, TakesAPassAModeWhereTheDeviceHasRoomForTheUnfolding) {
  SKIP_ON_HARDWARE();
  const TensorFile tensor = generate({300, 30, 40});
  TuckerOptions options = of_ranks({8, 8, 8});
  options.compute.devices = {"cuda"};
  const auto takes_a_pass_a_mode = [&](std::uint64_t bytes) {
    options.compute.memory.device_bytes = bytes;
    return plan_tucker(tensor, options).passes_per_sweep == 3;
  };
  const TuckerPlan ample = plan_tucker(tensor, options);
  std::uint64_t below = ample.plan.device_minimum_bytes;
  std::uint64_t least = ample.plan.device_budget_bytes;
  ASSERT_FALSE(takes_a_pass_a_mode(below));
  while (least - below > 1) {
    const std::uint64_t middle = below + (least - below) / 2;
    (takes_a_pass_a_mode(middle) ? least : below) = middle;
  }

  // Beside the unfolding of 300 x 64 numbers, the matrices.
  EXPECT_GT(least, (300 * 64 + 370 * 8) * sizeof(double));
  for (const std::uint64_t bytes : {least, below}) {
    reset(simt::Policy::lazy);
    options.compute.memory.device_bytes = bytes;
    const TuckerPlan plan = expect_fit_of_the_cpu(tensor, options);
    EXPECT_EQ(plan.passes_per_sweep == 3, bytes == least);
    EXPECT_LE(simt::counters().max_bytes, bytes);
    EXPECT_LE(plan.plan.device_planned_bytes, bytes);
  }
}

TEST_P(CudaTucker, TakesReorderedTensorsSamplesAndErrors) {
  const TensorFile tensor = generate({30, 12, 40}, Reorder::frequency);
  TuckerOptions options = of_ranks({4, 3, 5});

  EXPECT_EQ(expect_fit_of_the_cpu(tensor, options).passes_per_sweep, 3U);
  options.start = TuckerStart::nvecs;
  expect_fit_of_the_cpu(tensor, options);
  options = of_ranks({2, 2, 2});
  options.max_sweeps = 50;
  expect_fit_of_the_cpu(tensor, options, 0.85);
}

INSTANTIATE_TEST_SUITE_P(EveryOrder, CudaTucker,
                         ::testing::Values(simt::Order::forward, simt::Order::reverse, simt::Order::shuffled),
                         [](const auto& which) { return name_of(which.param); });

}  // namespace
}  // namespace blco::testing
