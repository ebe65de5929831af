// Whole fits on the emulated device: container, plan, streaming executor, kernels and row updates, against the CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <blco/cpd.hpp>
#include <blco/generate.hpp>
#include <blco/memory_tensor.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "blco/error.hpp"
#include "engine/work/job.hpp"
#include "tests/bench/measure/benchmark.hpp"
#include "tests/engine/within_budget.hpp"
#include "tests/simt/emulated_backend.hpp"
#include "tests/simt/simt_control.hpp"
#include "tests/temporary_folder.hpp"

namespace blco::testing {
namespace {

// Of a device, and of the host that feeds it. On hardware the device is what it is.
struct Machine {
  std::string name;
  int multiprocessors;
  int threads;
};

std::ostream& operator<<(std::ostream& out, const Machine& machine) { return out << machine.name; }

class CudaFit : public ::testing::TestWithParam<Machine> {
 protected:
  CudaFit() {
    reset(simt::Policy::shuffled);
    generate_container({.shape = {60, 3, 90}, .nnz = 4000, .seed = 3}, folder_ / "in.blco", {.chunk_nnz = 300});
    tensor_.emplace(folder_ / "in.blco");
  }

  static simt::DeviceProperties device() { return {.multiprocessors = GetParam().multiprocessors}; }

  static void reset(simt::Policy policy) {
    simt::reset();
    simt::set_policy(policy, 5);
    simt::set_device(device());
  }

  static CpdOptions on(const std::vector<std::string>& devices) {
    CpdOptions options;
    options.rank = 5;
    options.compute.threads = GetParam().threads;
    options.max_sweeps = 3;
    options.tolerance = 0;
    options.compute.devices = devices;
    return options;
  }

  // A benchmark measures the device's speeds by copies of up to a share of its memory, and in as many blocks as it has
  // multiprocessors.
  static void make_probes_short() { simt::set_device({.memory_bytes = 32 << 20}); }

  // The least device memory that does, and a third of what all chunks would take.
  std::uint64_t narrow_budget() const {
    const CpdPlan ample = plan_cpd(*tensor_, on({"cuda"}));
    return ample.device_minimum_bytes + ample.resident_bytes / 3;
  }

  TemporaryFolder folder_;
  std::optional<TensorFile> tensor_;
};

TEST_P(CudaFit, GivesTheModelOfTheCpu) {
  const CpdModel expected = fit_cpd(*tensor_, on({"cpu"}));

  const CpdModel actual = fit_cpd(*tensor_, on({"cuda"}));

  EXPECT_THAT(actual.fit_history, ::testing::Pointwise(::testing::DoubleNear(1e-11), expected.fit_history));
  EXPECT_THAT(actual.weights, ::testing::Pointwise(::testing::DoubleNear(1e-7), expected.weights));
  for (std::size_t n = 0; n < 3; ++n) {
    EXPECT_THAT(actual.factors[n], ::testing::Pointwise(::testing::DoubleNear(1e-9), expected.factors[n]));
  }
}

TEST_P(CudaFit, GivesTheSameModelWhereTheDeviceHoldsLittleOfTheTensor) {
  const CpdModel expected = fit_cpd(*tensor_, on({"cpu"}));
  CpdPlan plan;
  CpdOptions options = on({"cuda"});
  options.on_plan = [&](const CpdPlan& made) { plan = made; };

  const CpdModel actual = fit_cpd(*tensor_, within({.host_bytes = 0, .device_bytes = narrow_budget()}, options));

  EXPECT_GT(plan.device_chunks, 0);
  EXPECT_GT(plan.packed_chunks, 0);
  EXPECT_LE(simt::counters().max_bytes, plan.device_planned_bytes);
  EXPECT_THAT(actual.fit_history, ::testing::Pointwise(::testing::DoubleNear(1e-11), expected.fit_history));
}

TEST_P(CudaFit, TakesATensorFromMemory) {
  std::array<std::vector<std::uint32_t>, 3> at;
  std::vector<double> values;
  for (std::uint32_t i = 0; i < 3000; ++i) {
    at[0].push_back(i * 7919 % 61);
    at[1].push_back(i * 104'729 % 5);
    at[2].push_back(i * 1'299'709 % 83);
    values.push_back(1 + i % 7);
  }
  const MemoryTensor memory({{at[0], at[1], at[2]}, values}, {.chunk_nnz = 300});
  const CpdPlan ample = plan_cpd(memory, on({"cuda"}));
  const CpdModel expected = fit_cpd(memory, on({"cpu"}));

  const CpdModel resident = fit_cpd(memory, on({"cuda"}));
  const CpdModel streamed = fit_cpd(memory, within({.device_bytes = ample.device_minimum_bytes}, on({"cuda"})));

  EXPECT_THAT(resident.fit_history, ::testing::Pointwise(::testing::DoubleNear(1e-11), expected.fit_history));
  EXPECT_THAT(streamed.fit_history, ::testing::Pointwise(::testing::DoubleNear(1e-11), expected.fit_history));
}

TEST_P(CudaFit, SinglePrecisionComesNear) {
  CpdOptions options = on({"cuda"});
  options.compute.precision = Precision::f32;

  const CpdModel actual = fit_cpd(*tensor_, options);

  EXPECT_NEAR(actual.fit(), fit_cpd(*tensor_, on({"cpu"})).fit(), 1e-5);
}

TEST_P(CudaFit, AutomaticTakesTheDeviceThatIsThereAndElseSaysWhyNot) {
  SKIP_ON_HARDWARE();
  CpdPlan plan = plan_cpd(*tensor_, on({}));
  EXPECT_EQ(plan.device, "emulated");
  EXPECT_EQ(plan.device_note, "");

  simt::set_device({.name = "Tesla T4", .major = 7, .minor = 5});
  plan = plan_cpd(*tensor_, on({}));
  EXPECT_EQ(plan.device, "host");
  EXPECT_EQ(plan.device_note, "no GPU: the GPU Tesla T4 has compute capability 7.5; blco needs 8.0 or newer");

  simt::set_device({.has_cublas = false});
  plan = plan_cpd(*tensor_, on({}));
  EXPECT_EQ(plan.device, "host");
  EXPECT_THAT(plan.device_note, ::testing::HasSubstr("cuBLAS"));
}

TEST_P(CudaFit, SaysWhatToDoWhereADeviceThatIsAskedForCannotBeUsed) {
  SKIP_ON_HARDWARE();
  const auto refusal = [&](const simt::DeviceProperties& properties) -> std::string {
    simt::set_device(properties);
    try {
      plan_cpd(*tensor_, on({"cuda"}));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::cuda);
      return error.what();
    }
    return "accepted";
  };

  EXPECT_EQ(refusal({.name = "Tesla T4", .major = 7, .minor = 5}),
            "no GPU: the GPU Tesla T4 has compute capability 7.5; blco needs 8.0 or newer; use `devices = cpu`, "
            "or leave `devices` out");
  EXPECT_EQ(refusal({.driver_version = 0}),
            "no GPU: no NVIDIA driver here; use `devices = cpu`, or leave `devices` out");
}

// What a pass moves is what the plan says: the payload bytes of all chunks that are not on the device.
TEST_P(CudaFit, MovesWhatThePlanCounts) {
  SKIP_ON_HARDWARE();
  const std::uint64_t budget = narrow_budget();
  CpdPlan plan;
  CpdOptions options = on({"cuda"});
  options.on_plan = [&](const CpdPlan& made) { plan = made; };
  std::vector<std::uint64_t> moved{simt::counters().bytes_to_device};
  options.on_sweep = [&](const SweepReport&) {
    moved.push_back(simt::counters().bytes_to_device);
    return true;
  };

  fit_cpd(*tensor_, within({.host_bytes = 0, .device_bytes = budget}, options));

  // Beside the chunks, each update sends an R x R matrix and the norms.
  const std::uint64_t solvers = 3 * (5 * 5 + 5) * sizeof(double);
  ASSERT_GT(plan.link_bytes_per_pass, 0);
  EXPECT_EQ(moved[2] - moved[1], 3 * plan.link_bytes_per_pass + solvers);
  EXPECT_EQ(moved[3] - moved[2], 3 * plan.link_bytes_per_pass + solvers);
}

TEST_P(CudaFit, StreamsTheChunksForWhichNoMemoryCanBePinned) {
  SKIP_ON_HARDWARE();
  const MemoryBudget budget{.host_bytes = 0, .device_bytes = narrow_budget()};
  std::uint64_t pinned = 0;
  CpdPlan plan;
  CpdOptions options = on({"cuda"});
  options.on_plan = [&](const CpdPlan& made) { plan = made; };
  options.on_sweep = [&](const SweepReport&) {
    pinned = simt::counters().live_pinned_bytes;
    return true;
  };
  const CpdModel whole = fit_cpd(*tensor_, within(budget, options));
  const CpdPlan planned = plan;
  const std::uint64_t needed = pinned;
  ASSERT_EQ(planned.streamed_chunks, 0);
  ASSERT_EQ(planned.memory_note, "");
  ASSERT_GT(planned.packed_chunks, 4);

  for (const std::uint64_t missing : {1, 5000}) {
    simt::DeviceProperties short_of_memory = device();
    short_of_memory.pinned_bytes = needed - missing;
    simt::set_device(short_of_memory);
    const CpdModel actual = fit_cpd(*tensor_, within(budget, options));

    EXPECT_GT(plan.packed_chunks, 0);
    EXPECT_GT(plan.streamed_chunks, 0);
    EXPECT_EQ(plan.packed_chunks + plan.streamed_chunks, planned.packed_chunks);
    EXPECT_GT(plan.disk_bytes_per_pass, 0);
    EXPECT_EQ(plan.link_bytes_per_pass, planned.link_bytes_per_pass);
    EXPECT_LT(plan.planned_bytes, planned.planned_bytes);
    EXPECT_THAT(plan.memory_note, ::testing::HasSubstr("cudaHostAlloc of "));
    EXPECT_THAT(actual.fit_history, ::testing::Pointwise(::testing::DoubleNear(1e-11), whole.fit_history));
  }
}

TEST_P(CudaFit, TracesReadsCopiesAndKernels) {
  CpdOptions options = on({"cuda"});
  options.compute.trace = folder_ / "trace.json";

  fit_cpd(*tensor_, within({.host_bytes = 0, .device_bytes = narrow_budget()}, options));

  std::map<std::string, int> names;
  const nlohmann::json trace = nlohmann::json::parse(std::ifstream(options.compute.trace));
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "X") ++names[event["name"]];
  }
  const int passes = 9;
  const auto chunks = static_cast<int>(tensor_->summary().chunk_count);
  EXPECT_EQ(names["read"], chunks);
  // Chunks that stay on the device are launched together.
  EXPECT_GT(names["mttkrp (register-based)"], passes);
  EXPECT_LT(names["mttkrp (register-based)"], passes * chunks);
  EXPECT_GT(names["copy"], 0);
}

// tools/gpu_measure.sh skips as many launches as there are chunks, to have a profile of a launch of many.
TEST_P(CudaFit, LaunchesResidentsOneByOneInTheFirstPassAndTogetherLater) {
  CpdOptions options = on({"cuda"});
  options.compute.trace = folder_ / "trace.json";

  fit_cpd(*tensor_, options);

  int launches = 0;
  const nlohmann::json trace = nlohmann::json::parse(std::ifstream(options.compute.trace));
  for (const auto& event : trace["traceEvents"]) launches += event["name"] == "mttkrp (register-based)" ? 1 : 0;
  const auto chunks = static_cast<int>(tensor_->summary().chunk_count);
  ASSERT_LE(chunks, 16);
  EXPECT_EQ(launches, chunks + 8) << "of nine passes";
}

TEST_P(CudaFit, BenchmarkReportsWhatCrossesTheLink) {
  make_probes_short();
  const BenchmarkReport report =
      benchmark_mttkrp(*tensor_, {.repeats = 2}, within({.device_bytes = narrow_budget()}, on({"cuda"})));

  ASSERT_EQ(report.passes.size(), 3U);
  EXPECT_GT(report.link_bytes_per_second, 0);
  EXPECT_GT(report.cache_bytes_per_second, 0);
  EXPECT_GT(report.additions_per_second, 0);
  EXPECT_EQ(report.multiprocessors, find_device().limits->multiprocessors);
  EXPECT_EQ(report.cache_size, find_device().limits->l2_bytes);
  for (const PassMeasurement& pass : report.passes) {
    EXPECT_DOUBLE_EQ(pass.additions_share, pass.additions / pass.seconds / report.additions_per_second);
    EXPECT_EQ(pass.largest_share(),
              std::max({pass.link_share, pass.memory_share, pass.cache_share, pass.additions_share}));
    EXPECT_EQ(pass.link_bytes, static_cast<double>(report.plan.link_bytes_per_pass));
    EXPECT_DOUBLE_EQ(pass.link_share, pass.link_bytes / pass.seconds / report.link_bytes_per_second);
    EXPECT_NEAR(pass.nonzeros_per_second * pass.seconds, static_cast<double>(tensor_->summary().nnz), 1e-6);
  }
}

TEST_P(CudaFit, TakesTheLanesThatAreAskedForWhereThereIsRoom) {
  const CpdOptions options = on({"cuda"});
  JobNeeds needs = needs_of(*tensor_, options.rank, options.compute.precision);
  for (const int slots : {2, 3, 7}) {
    needs.slots = slots;
    EXPECT_EQ(Job(*tensor_, options.compute, needs).plan().slots, slots);
  }
  Compute least = options.compute;
  least.memory.device_bytes = Job(*tensor_, options.compute, needs).plan().device_minimum_bytes;
  EXPECT_EQ(Job(*tensor_, least, needs).plan().slots, 2);
}

// By these shares blco-bench leaves all chunks to the host, or to the disk.
TEST_P(CudaFit, BenchmarkStreamsWhatItsSharesLeave) {
  make_probes_short();
  generate_container({.shape = {120, 90, 280}, .nnz = 3800, .seed = 3}, folder_ / "38.blco", {.chunk_nnz = 100});
  const TensorFile tensor(folder_ / "38.blco");
  const auto plan_of = [&](const BenchmarkOptions& benchmark, const CpdOptions& options) {
    return benchmark_mttkrp(tensor, benchmark, options).plan;
  };
  for (const int slots : {0, 4}) {
    const CpdOptions options = on({"cuda"});
    const CpdPlan resident = plan_of({.repeats = 1, .slots = slots}, options);
    ASSERT_EQ(resident.chunk_count, 38);
    EXPECT_EQ(resident.device_chunks, 38);

    const CpdPlan pinned = plan_of({.repeats = 1, .slots = slots, .device_share = 0}, options);
    const CpdPlan from_disk = plan_of({.repeats = 1, .slots = slots, .device_share = 0, .host_share = 0}, options);

    EXPECT_EQ(pinned.device_chunks, 0);
    EXPECT_EQ(pinned.packed_chunks, 38);
    EXPECT_EQ(from_disk.device_chunks, 0);
    EXPECT_EQ(from_disk.streamed_chunks, 38);
    EXPECT_EQ(pinned.slots, resident.slots);
    EXPECT_EQ(from_disk.slots, resident.slots);
  }
  EXPECT_THROW(plan_of({.device_share = -0.5}, on({"cuda"})), Error);
  EXPECT_THROW(plan_of({.host_share = 1.5}, on({"cuda"})), Error);
  EXPECT_THROW(plan_of({.slots = 1}, on({"cuda"})), Error);
}

// Factors of which the device holds a quarter at most.
class CudaSlabs : public CudaFit {
 protected:
  static constexpr int rank = 24;
  static constexpr std::uint64_t all_rows = 4000 + 2500 + 3000;

  CudaSlabs() {
    generate_container({.shape = {4000, 2500, 3000}, .nnz = 9000, .seed = 7, .skew = 3, .counts = true},
                       folder_ / "long.blco", {.chunk_nnz = 2000});
    long_.emplace(folder_ / "long.blco");
  }

  static CpdOptions narrow(const std::vector<std::string>& devices) {
    CpdOptions options = on(devices);
    options.rank = rank;
    // Beside them a page for each of three factors, an output, its copies, the chunks that stay, two slots, sums of
    // terms, scratch and tables.
    constexpr std::uint64_t pages = 11 * (std::uint64_t{2} << 20);
    if (devices.front() == "cuda") options.compute.memory.device_bytes = all_rows * rank * sizeof(double) / 4 + pages;
    return options;
  }

  // The models of the CPU and of the GPU, which goes through slabs and keeps to its plan.
  std::pair<CpdModel, CpdModel> fit_on_both(const CpdOptions& cpu, CpdOptions gpu) const {
    CpdPlan plan;
    gpu.on_plan = [&](const CpdPlan& made) { plan = made; };
    const CpdModel expected = fit_cpd(*long_, cpu);
    simt::reset();
    simt::set_device(device());
    const CpdModel actual = fit_cpd(*long_, gpu);
    EXPECT_GT(plan.column_slabs, 1);
    EXPECT_LE(simt::counters().max_bytes, plan.device_planned_bytes);
    EXPECT_LE(plan.device_planned_bytes, plan.device_budget_bytes);
    return {expected, actual};
  }

  std::optional<TensorFile> long_;
};

TEST_P(CudaSlabs, GiveTheModelOfTheCpu) {
  const RowConstraint box{.set = RowSet::box, .lower = 0, .upper = 2};
  for (const RowConstraint& constraint : {RowConstraint{}, RowConstraint{.set = RowSet::nonnegative}, box}) {
    for (const Precision precision : {Precision::f64, Precision::mixed}) {
      CpdOptions cpu = narrow({"cpu"});
      cpu.compute.precision = precision;
      std::get<AlsMethod>(cpu.method).constraints = {constraint, constraint, constraint};
      CpdOptions gpu = narrow({"cuda"});
      gpu.compute.precision = precision;
      gpu.method = cpu.method;

      const auto [expected, actual] = fit_on_both(cpu, gpu);

      EXPECT_EQ(actual.fit_history.size(), 3U);
      const double near = precision == Precision::f64 ? 1e-11 : 1e-6;
      EXPECT_THAT(actual.fit_history, ::testing::Pointwise(::testing::DoubleNear(near), expected.fit_history));
    }
  }
}

// Momentum, which begins after a slow sweep, and the weights of modes that are normalised beside others that are not.
TEST_P(CudaSlabs, LeaveWhatAMethodKeepsBesideTheFactorsOnTheHost) {
  CpdOptions before = narrow({"cpu"});
  before.max_sweeps = 12;
  const CpdModel slow = fit_cpd(*long_, before);
  const RowConstraint box{.set = RowSet::box, .lower = 0, .upper = 2};
  for (const AlsMethod& method : {AlsMethod{}, AlsMethod{{box, {}, {}}}}) {
    const bool is_free = method.constraints.empty();
    SCOPED_TRACE(is_free ? "momentum" : "weights");
    CpdOptions cpu = narrow({"cpu"});
    CpdOptions gpu = narrow({"cuda"});
    for (CpdOptions* options : {&cpu, &gpu}) {
      options->method = method;
      options->max_sweeps = is_free ? 5 : 3;
      if (is_free) options->initial = &slow;
    }

    const auto [expected, actual] = fit_on_both(cpu, gpu);

    EXPECT_THAT(actual.fit_history, ::testing::Pointwise(::testing::DoubleNear(1e-10), expected.fit_history));
    cpu.momentum = false;
    EXPECT_EQ(fit_cpd(*long_, cpu).fit_history == expected.fit_history, !is_free);
  }
}

// A pass goes through the chunks once per slab. Before it the slabs of the other modes' factors go to the device; of
// the first one, which the pass before has left there, only that of the mode that has changed since.
TEST_P(CudaSlabs, MoveWhatThePlanCounts) {
  SKIP_ON_HARDWARE();
  CpdPlan plan;
  CpdOptions options = narrow({"cuda"});
  options.on_plan = [&](const CpdPlan& made) { plan = made; };
  std::vector<std::uint64_t> sent;
  std::vector<std::uint64_t> received;
  options.on_sweep = [&](const SweepReport&) {
    sent.push_back(simt::counters().bytes_to_device);
    received.push_back(simt::counters().bytes_to_host);
    return true;
  };

  fit_cpd(*long_, options);

  const auto slabs = static_cast<std::uint64_t>(plan.column_slabs);
  ASSERT_EQ(rank % slabs, 0);
  const std::uint64_t slab_bytes = all_rows * (rank / slabs) * sizeof(double);
  EXPECT_EQ(plan.row_bytes_per_pass, slabs * slab_bytes);
  EXPECT_EQ(sent[2] - sent[1], 3 * plan.link_bytes_per_pass + 2 * slabs * slab_bytes - slab_bytes);
  const std::uint64_t faults = 3 * slabs * sizeof(std::uint64_t);  // what each pass returns
  EXPECT_EQ(received[2] - received[1], slabs * slab_bytes + faults);
}

TEST_P(CudaSlabs, AreAsFewAsTheDeviceAllows) {
  const auto plan_of = [&](std::uint64_t bytes) {
    CpdOptions options = narrow({"cuda"});
    options.compute.memory.device_bytes = bytes;
    return plan_cpd(*long_, options);
  };
  CpdOptions ample = narrow({"cuda"});
  ample.compute.memory.device_bytes = 0;
  const CpdPlan whole = plan_cpd(*long_, ample);
  EXPECT_EQ(whole.column_slabs, 1);
  EXPECT_EQ(whole.row_bytes_per_pass, 0);

  const CpdPlan wide = plan_of(whole.device_minimum_bytes - 1);
  const CpdPlan halves = plan_of(wide.device_minimum_bytes - 1);

  EXPECT_EQ(plan_of(whole.device_minimum_bytes).column_slabs, 1);
  EXPECT_EQ(wide.column_slabs, 2);
  EXPECT_EQ(halves.column_slabs, 2);
  const std::uint64_t columns = (all_rows + 4000) * sizeof(double);
  EXPECT_GE(wide.device_minimum_bytes, halves.device_minimum_bytes + 4 * columns)
      << "16 columns, which have a kernel of their own, instead of 12";
  EXPECT_EQ(plan_of(halves.device_minimum_bytes).column_slabs, 2);
  EXPECT_GT(plan_of(halves.device_minimum_bytes - 1).column_slabs, 2);
  EXPECT_EQ(halves.stops_within_sweep, false);
}

// Their passes need the model's values, which are sums over all columns.
TEST_P(CudaSlabs, AreNotOfLossPasses) {
  CpdOptions options = narrow({"cuda"});
  options.method = AprMethod{};

  EXPECT_THROW(plan_cpd(*long_, options), Error);
}

TEST_P(CudaFit, SaysWhatDeviceMemoryWouldDo) {
  try {
    fit_cpd(*tensor_, within({.host_bytes = 0, .device_bytes = 1000}, on({"cuda"})));
    FAIL() << "accepted a budget of 1000 bytes";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::out_of_memory);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("`device_bytes = "));
  }
}

TEST_P(CudaFit, LeavesNothingBehindAfterACallThatFails) {
  SKIP_ON_HARDWARE();
  for (const char* call : {"cudaMemcpyAsync", "launch", "cudaEventRecord", "cudaMalloc", "cudaHostAlloc"}) {
    for (const int nth : {1, 4, 30}) {
      reset(simt::Policy::lazy);
      simt::fail_call(call, nth, 2);
      try {
        fit_cpd(*tensor_, on({"cuda"}));
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), ::testing::HasSubstr("asked for")) << call;
      }
      const simt::Counters left = simt::counters();
      EXPECT_EQ(left.live_allocations + left.live_pinned + left.live_streams + left.live_events + left.pending, 0)
          << call << ", call " << nth;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, CudaFit, ::testing::Values(Machine{"small", 4, 0}, Machine{"large", 132, 16}),
                         [](const auto& machine) { return machine.param.name; });
INSTANTIATE_TEST_SUITE_P(Machines, CudaSlabs, ::testing::Values(Machine{"small", 4, 0}),
                         [](const auto& machine) { return machine.param.name; });

}  // namespace
}  // namespace blco::testing
