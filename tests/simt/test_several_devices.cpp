// Emulated devices and the CPU at one job: plans, budgets, failures, and what is left behind.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <blco/cpd.hpp>
#include <blco/memory_tensor.hpp>
#include <blco/peers.hpp>
#include <blco/tucker.hpp>
#include <latch>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "blco/error.hpp"
#include "engine/work/job.hpp"
#include "tests/engine/coordinate_tensor.hpp"
#include "tests/engine/ingest/coordinate_columns.hpp"
#include "tests/engine/work/counting_peers.hpp"
#include "tests/simt/fakes/fake_device.hpp"
#include "tests/simt/simt_control.hpp"

namespace blco::testing {
namespace {

using Words = std::vector<std::string>;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class SeveralDevices : public ::testing::Test {
 protected:
  SeveralDevices() {
    simt::reset();
    simt::set_policy(simt::Policy::shuffled, 5);
    simt::set_device({.count = 2});
    const CoordinateTensor tensor = random_coordinates({.shape = {40, 30, 50}, .nnz = 2000, .seed = 7});
    CoordinateColumns<> columns(tensor);
    tensor_.emplace(columns.arrays(), IngestOptions{.shape = tensor.shape, .chunk_nnz = 250});
  }
  ~SeveralDevices() override { simt::reset(); }

  static CpdOptions on(const Words& devices) {
    CpdOptions options{.rank = 4, .max_sweeps = 2, .tolerance = 0};
    options.compute.devices = devices;
    options.compute.threads = 2;
    return options;
  }

  template <class Job>
  static std::string failure_of(const Job& job, ErrorKind kind) {
    try {
      job();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      return error.what();
    }
    return "no failure";
  }

  std::optional<MemoryTensor> tensor_;
};

// Eight chunks by shares of 1, 2 and 5.
TEST_F(SeveralDevices, PlanTheirSharesAndTheirMemory) {
  const CpdPlan plan = plan_cpd(*tensor_, on({"cpu=1", "cuda:1=2", "cuda:0=5"}));

  ASSERT_EQ(plan.others.size(), 2);
  EXPECT_EQ(plan.device, "cpu, host");
  EXPECT_EQ(plan.others[0].device, "cuda:1, emulated");
  EXPECT_EQ(plan.others[1].device, "cuda:0, emulated");
  EXPECT_EQ(plan.chunk_count, 1);
  EXPECT_EQ(plan.others[0].chunk_count, 2);
  EXPECT_EQ(plan.others[1].chunk_count, 5);
  EXPECT_EQ(plan.device_budget_bytes, 0);
  EXPECT_GT(plan.others[0].device_planned_bytes, 0);
  EXPECT_EQ(plan.processes, 1);
  EXPECT_GT(plan.planned_bytes, plan.others[0].planned_bytes + plan.others[1].planned_bytes);
}

TEST_F(SeveralDevices, GiveAGpuTwelveTimesTheChunksOfTheCpu) {
  const CoordinateTensor many = random_coordinates({.shape = {40, 30, 50}, .nnz = 2500, .seed = 7});
  CoordinateColumns<> columns(many);
  const MemoryTensor tensor(columns.arrays(), {.shape = many.shape, .chunk_nnz = 100});

  const CpdPlan plan = plan_cpd(tensor, on({"all"}));

  ASSERT_EQ(plan.others.size(), 2);
  EXPECT_THAT(plan.device, HasSubstr("cuda:0"));
  EXPECT_THAT(plan.others[1].device, HasSubstr("cpu"));
  EXPECT_EQ(plan.chunk_count, 12);
  EXPECT_EQ(plan.others[0].chunk_count, 12);
  EXPECT_EQ(plan.others[1].chunk_count, 1);
}

TEST_F(SeveralDevices, KeepWithinOneBudgetOfHostMemory) {
  CpdOptions options = on({"cpu=1", "cuda:0=1", "cuda:1=1"});
  const std::uint64_t minimum = plan_cpd(*tensor_, options).minimum_bytes;
  const double fit = fit_cpd(*tensor_, on({"cpu"})).fit();

  options.compute.memory.host_bytes = minimum;
  EXPECT_NEAR(fit_cpd(*tensor_, options).fit(), fit, 1e-10);
  EXPECT_LE(plan_cpd(*tensor_, options).planned_bytes, minimum);
  options.compute.memory.host_bytes = minimum - 1;
  EXPECT_THAT(failure_of([&] { fit_cpd(*tensor_, options); }, ErrorKind::out_of_memory),
              AllOf(HasSubstr("`host_bytes = "), HasSubstr("fewer devices")));
}

// The numbers of L-BFGS lie in one budget too, each with the device that owns its row.
TEST_F(SeveralDevices, ShareTheNumbersOfLbfgs) {
  const std::vector<RowConstraint> nonnegative(3, RowConstraint{.set = RowSet::nonnegative});
  for (const auto& constraints : {std::vector<RowConstraint>(), nonnegative}) {
    CpdOptions options = on({"cpu"});
    options.method = GcpMethod{.evaluations = 5, .constraints = constraints};
    const CpdModel alone = fit_cpd(*tensor_, options);
    options.compute.devices = {"cpu=1", "cuda:0=2", "cuda:1=1"};
    options.compute.memory.host_bytes = plan_cpd(*tensor_, options).minimum_bytes;
    const CpdModel shared = fit_cpd(*tensor_, options);
    ASSERT_EQ(shared.objective_history.size(), alone.objective_history.size());
    for (std::size_t k = 0; k < alone.objective_history.size(); ++k) {
      EXPECT_NEAR(shared.objective_history[k], alone.objective_history[k], 1e-9 * alone.objective_history[k]);
    }
  }
}

// The GPU takes chunks that lie packed in the CPU's memory.
TEST_F(SeveralDevices, CopyFromPinnedMemoryAlone) {
  CpdOptions options = on({"cpu"});
  options.max_sweeps = 6;
  const double fit = fit_cpd(*tensor_, options).fit();
  options.compute.devices = {"cpu=1", "cuda:1=1"};
  const CpdPlan ample = plan_cpd(*tensor_, options);
  CpdPlan plan;
  options.on_plan = [&](const CpdPlan& made) { plan = made; };
  options.compute.memory.device_bytes = ample.others[0].device_minimum_bytes;
  for (std::uint64_t more = 0; more < 100'000 && plan.packed_chunks < 4; more += 10'000) {
    options.compute.memory.host_bytes = ample.minimum_bytes + more;
    plan = plan_cpd(*tensor_, options);
  }
  ASSERT_EQ(plan.packed_chunks, 4);
  ASSERT_EQ(plan.decoded_chunks, 0);
  for (std::uint64_t seed = 1; seed < 5; ++seed) {
    simt::set_policy(simt::Policy::shuffled, seed);
    EXPECT_NEAR(fit_cpd(*tensor_, options).fit(), fit, 1e-10);
  }

  EXPECT_EQ(simt::take_pageable_copies(), 0U);
  EXPECT_THAT(simt::fake_device().contexts, ::testing::ElementsAre(1));
}

// Whether the GPU comes to take one of these chunks is a matter of time; where they lie is not.
TEST_F(SeveralDevices, PinThePackedChunksOfTheCpu) {
  CpdOptions options = on({"cpu=1000", "cuda:1=0.001"});
  options.momentum = false;  // whose vector would be pinned too
  options.compute.memory.device_bytes = plan_cpd(*tensor_, on({"cuda:1"})).device_minimum_bytes;
  options.compute.memory.host_bytes = plan_cpd(*tensor_, options).minimum_bytes;
  for (int step = 0; step < 40 && plan_cpd(*tensor_, options).packed_chunks == 0; ++step) {
    options.compute.memory.host_bytes += 5'000;
  }
  const CpdPlan plan = plan_cpd(*tensor_, options);
  ASSERT_GT(plan.packed_chunks, 0);
  ASSERT_EQ(plan.others.at(0).packed_chunks, 0);
  std::uint64_t pinned = 0;
  options.on_progress = [&](const Progress&) {
    pinned = std::max(pinned, simt::counters().live_pinned);
    return true;
  };

  fit_cpd(*tensor_, options);

  const int staging = 1;
  const int packed = 1;
  EXPECT_EQ(pinned, plan.others[0].slots + staging + packed);
}

TEST_F(SeveralDevices, SayThatMemoryCannotBePinned) {
  CpdOptions options = on({"cuda"});
  for (const std::uint64_t bytes : {1000, (1 << 20) + 1000}) {
    simt::set_device({.pinned_bytes = bytes});
    EXPECT_THAT(failure_of([&] { fit_cpd(*tensor_, options); }, ErrorKind::out_of_memory),
                AllOf(HasSubstr("cudaHostAlloc of "), HasSubstr("be pinned for the GPU; lower `host_bytes`"),
                      Not(HasSubstr("device_bytes"))));
  }
}

TEST_F(SeveralDevices, ShareProductsAndTuckerModels) {
  const Compute shared = on({"cuda:1=1", "cpu=1"}).compute;
  const Compute alone = on({"cpu"}).compute;
  const CpdModel model = fit_cpd(*tensor_, on({"cpu"}));

  const std::vector<double> actual = mttkrp(*tensor_, model.matrices(), 1, shared);
  const std::vector<double> expected = mttkrp(*tensor_, model.matrices(), 1, alone);
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 1e-9);
  EXPECT_NEAR(fit_tucker(*tensor_, {.ranks = {2, 2, 2}, .max_sweeps = 2, .compute = shared}).fit(),
              fit_tucker(*tensor_, {.ranks = {2, 2, 2}, .max_sweeps = 2, .compute = alone}).fit(), 1e-9);
}

// All cells of a block, of which each device has the half with its rows of the first mode, and all rows of the others.
TEST_F(SeveralDevices, SendRowsOverTheirLinksOnce) {
  const std::vector<std::uint64_t> shape{32, 16, 12};
  CoordinateTensor cells{shape, {}, {}};
  for (std::uint64_t i = 0; i < 32 * 16 * 12; ++i) {
    cells.points.push_back({i / 192, i / 12 % 16, i % 12});
    cells.values.push_back(static_cast<double>(1 + i % 7 + i / 100 % 3));
  }
  CoordinateColumns<> columns(cells);
  const MemoryTensor tensor(columns.arrays(), {.shape = shape, .chunk_nnz = 16 * 16 * 12});
  ASSERT_EQ(tensor.summary().chunk_count, 2);
  CpdOptions options = on({"cuda:0=1", "cuda:1=1"});
  options.momentum = false;
  const auto bytes_of = [&](int sweeps) {
    simt::reset();
    simt::set_device({.count = 2});
    options.max_sweeps = sweeps;
    fit_cpd(tensor, options);
    return std::vector{simt::link_bytes(0), simt::link_bytes(1)};
  };

  const std::vector<simt::LinkBytes> fewer = bytes_of(5);
  const std::vector<simt::LinkBytes> more = bytes_of(7);

  // Of a row that two devices touch, the partial sum leaves the one that does not own it, and the new row its owner.
  constexpr std::uint64_t of_row = 4 * sizeof(double);
  constexpr std::uint64_t rows = (16 + 12) * of_row;
  constexpr std::uint64_t systems = 3 * 2 * 4 * of_row;  // of each mode the Gram, the weights, and what solves for rows
  for (std::size_t device = 0; device < 2; ++device) {
    const std::uint64_t to_host = (more[device].to_host - fewer[device].to_host) / 2;
    const std::uint64_t to_device = (more[device].to_device - fewer[device].to_device) / 2;
    EXPECT_GE(to_host, rows);
    EXPECT_LT(to_host, rows + systems);
    // Kernels read the partial sums of the others in pinned memory.
    EXPECT_GE(to_device, rows / 2);
    EXPECT_LT(to_device, rows / 2 + systems);
  }
}

TEST_F(SeveralDevices, EndWithTheMessageOfTheOneThatFailsAndLeaveNothing) {
  CpdOptions options = on({"cpu=1", "cuda:1=1"});
  options.compute.memory.device_bytes = 1000;
  EXPECT_THAT(failure_of([&] { fit_cpd(*tensor_, options); }, ErrorKind::out_of_memory),
              AllOf(HasSubstr("cuda:1: "), HasSubstr("`device_bytes = ")));
  for (const int nth : {1, 3, 9}) {
    for (const Words& devices :
         {Words{"cpu=1", "cuda:1=1"}, Words{"cuda:0=1", "cuda:1=1"}, Words{"cuda:1=1", "cpu=1"}}) {
      simt::fail_call("launch", nth, 999);
      EXPECT_THAT(failure_of([&] { fit_cpd(*tensor_, on(devices)); }, ErrorKind::cuda), HasSubstr("asked for"));
      const simt::Counters left = simt::counters();
      EXPECT_EQ(left.live_allocations + left.live_pinned + left.live_streams + left.live_events + left.pending, 0);
    }
  }
}

TEST_F(SeveralDevices, WorkWhereTheyAreToldToAndLeaveTheThreadItsDevice) {
  CpdOptions options = on({"cuda:1=1", "cuda:0=1"});
  options.max_sweeps = 50;
  options.on_sweep = [](const SweepReport& report) { return report.sweep < 2; };

  EXPECT_EQ(fit_cpd(*tensor_, options).stop_reason, StopReason::cancelled);

  EXPECT_THAT(simt::fake_device().devices_of_kernels, ::testing::ElementsAre(0, 1));
  int current = -1;
  EXPECT_EQ(cudaGetDevice(&current), cudaSuccess);
  EXPECT_EQ(current, 0);
}

// A process among others, which only plans.
class PlannedProcess final : public Peers {
 public:
  PlannedProcess(int rank, int gpu_sharers) : rank_(rank), gpu_sharers_(gpu_sharers) {}
  int rank() const override { return rank_; }
  int size() const override { return 6; }
  int neighbours() const override { return 3; }
  int gpu_sharers() const override { return gpu_sharers_; }
  void send(int, std::span<const std::byte>) override { ADD_FAILURE() << "sends"; }
  std::vector<std::byte> receive(int) override { return {}; }

 private:
  int rank_;
  int gpu_sharers_;
};

// Three processes on each of two machines of two GPUs: the first and the third of a machine share its first GPU.
TEST_F(SeveralDevices, AreTakenInTurnByTheProcessesOfAMachine) {
  const std::uint64_t whole = plan_cpd(*tensor_, on({"cuda"})).device_budget_bytes;
  for (int rank = 0; rank < 6; ++rank) {
    SCOPED_TRACE(rank);
    PlannedProcess process(rank, 3);
    for (const Words& devices : {Words{}, Words{"cuda"}}) {
      CpdOptions options = on(devices);
      options.compute.peers = &process;
      const CpdPlan plan = plan_cpd(*tensor_, options);
      EXPECT_EQ(plan.device, rank % 3 == 1 ? "cuda:1, emulated" : "cuda:0, emulated");
      EXPECT_EQ(plan.device_budget_bytes, rank % 3 == 1 ? whole : whole / 2);
    }
    CpdOptions named = on({"cuda:1"});
    named.compute.peers = &process;
    EXPECT_EQ(plan_cpd(*tensor_, named).device, "cuda:1, emulated");
    EXPECT_EQ(plan_cpd(*tensor_, named).device_budget_bytes, whole / 3);
    named.compute.memory.device_bytes = 50'000'000;
    EXPECT_EQ(plan_cpd(*tensor_, named).device_budget_bytes, 50'000'000);
  }
  int current = -1;
  EXPECT_EQ(cudaGetDevice(&current), cudaSuccess);
  EXPECT_EQ(current, 0);
}

// Three processes on two GPUs have memory at the same time: there is room if they part the GPUs, and none if each takes
// itself for the only one.
TEST_F(SeveralDevices, HoldWhatProcessesAllocateThatKnowOfEachOther) {
  simt::set_device({.memory_bytes = 60 << 20, .count = 2});
  const auto failures_of = [&](int sharers) {
    constexpr int processes = 3;
    std::latch planned(processes);
    std::latch allocated(processes);
    Words failures(processes);
    const auto run = [&](int rank) {
      PlannedProcess process(rank, sharers);
      Compute compute = on({"cuda"}).compute;
      compute.peers = &process;
      Job job(*tensor_, compute, needs_of(*tensor_, 4, Precision::f64));
      planned.arrive_and_wait();
      failures[static_cast<std::size_t>(rank)] = failure_of([&] { job.make_backend(); }, ErrorKind::out_of_memory);
      allocated.arrive_and_wait();
    };
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < processes; ++rank) threads.emplace_back(run, rank);
    threads.clear();
    return failures;
  };

  EXPECT_THAT(failures_of(3), Each("no failure"));
  EXPECT_THAT(failures_of(1), Contains(HasSubstr("cudaMalloc of ")));
}

TEST_F(SeveralDevices, ComputeForTheProcessesOfAMachine) {
  const double fit = fit_cpd(*tensor_, on({"cpu"})).fit();
  CountingPeers processes(*tensor_, 3);
  CpdOptions options = on({});
  options.compute.peers = &processes;

  EXPECT_NEAR(fit_cpd(*tensor_, options).fit(), fit, 1e-10);

  EXPECT_THAT(simt::fake_device().devices_of_kernels, ::testing::ElementsAre(0, 1));
}

TEST_F(SeveralDevices, ArePartedOnlyAmongProcessesThatSeeThem) {
  simt::set_device({.count = 1});
  const std::uint64_t whole = plan_cpd(*tensor_, on({"cuda"})).device_budget_bytes;
  for (const int sharers : {1, 3}) {
    PlannedProcess process(2, sharers);
    CpdOptions options = on({});
    options.compute.peers = &process;
    EXPECT_EQ(plan_cpd(*tensor_, options).device_budget_bytes, whole / static_cast<std::uint64_t>(sharers));
  }
}

TEST_F(SeveralDevices, OfAllThoseThatCannotServeAreLeftOut) {
  simt::set_device(1, {.name = "Tesla T4", .major = 7, .minor = 5});
  CpdPlan plan;
  CpdOptions options = on({"all"});
  options.on_plan = [&](const CpdPlan& made) { plan = made; };

  EXPECT_NEAR(fit_cpd(*tensor_, options).fit(), fit_cpd(*tensor_, on({"cpu"})).fit(), 1e-10);

  EXPECT_EQ(plan.device, "cuda:0, cuda: emulated");
  ASSERT_EQ(plan.others.size(), 1);
  EXPECT_EQ(plan.others[0].device, "cpu, host");
  EXPECT_EQ(plan.device_note,
            "cuda:1 is left out: the GPU Tesla T4 has compute capability 7.5; blco needs 8.0 or newer");
  simt::set_device(0, {.is_taken = true});
  EXPECT_THAT(
      plan_cpd(*tensor_, on({"all"})).device_note,
      AllOf(HasSubstr("no GPU: cuda:0 is left out: "), HasSubstr("busy or unavailable"), HasSubstr("cuda:1 is")));
}

TEST_F(SeveralDevices, ForWhichTheDriverCompilesCodeAreToldOfBeforeTheyWork) {
  simt::set_device(1, {.name = "New GPU", .major = 10, .minor = 3});
  std::mutex mutex;
  Words told;
  std::uint64_t kernels_before = 0;
  const auto fit_on = [&](const Words& devices) {
    CpdOptions options = on(devices);
    options.compute.on_compile = [&](const std::string& text) {
      const std::lock_guard lock(mutex);
      told.push_back(text);
      kernels_before = simt::counters().kernels;
    };
    plan_cpd(*tensor_, options);
    EXPECT_TRUE(told.empty()) << "a plan compiles nothing";
    fit_cpd(*tensor_, options);
    return std::exchange(told, {});
  };

  EXPECT_THAT(fit_on({"cuda:0"}), IsEmpty());
  EXPECT_THAT(fit_on({"cpu", "cuda:1"}), ElementsAre(HasSubstr("compute capability 10.3, that of the GPU New GPU")));
  simt::reset();
  simt::set_device({.major = 12, .count = 2});
  EXPECT_THAT(fit_on({"cuda:1"}), ElementsAre(HasSubstr("takes minutes")));
  EXPECT_EQ(kernels_before, 0);
  EXPECT_THAT(fit_on({"all"}), SizeIs(2));
}

// The emulator has no device that sorts: an ingest ends where it asks for one.
TEST_F(SeveralDevices, AreToldOfByAnIngestToo) {
  const std::vector<std::vector<std::uint32_t>> at{{0, 1}, {1, 0}};
  const auto told_on = [&](const simt::DeviceProperties& properties) {
    simt::set_device(properties);
    Words told;
    IngestOptions options{.sorts_on_gpu = true};
    options.on_compile = [&](const std::string& text) { told.push_back(text); };
    try {
      const MemoryTensor tensor({{at[0], at[1]}, {}}, options);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("`sorts_on_gpu`"));
    }
    return told;
  };

  EXPECT_THAT(told_on({.major = 8, .minor = 6}), IsEmpty());
  EXPECT_THAT(told_on({.name = "New GPU", .major = 9}),
              ElementsAre(AllOf(HasSubstr("compute capability 9.0, that of the GPU New GPU"), HasSubstr("minutes"))));
}

// The first GPU may be full, or another process may have it for itself.
TEST_F(SeveralDevices, HaveNoContextWhereNoWorkIs) {
  simt::set_device(0, {.count = 2, .is_taken = true});
  PlannedProcess second(1, 2);
  CpdOptions in_turn = on({});
  in_turn.compute.peers = &second;
  PlannedProcess first(0, 2);
  CpdOptions taken = on({});
  taken.compute.peers = &first;

  EXPECT_EQ(plan_cpd(*tensor_, in_turn).device, "cuda:1, emulated");
  EXPECT_EQ(plan_cpd(*tensor_, taken).device, "host");
  EXPECT_THAT(plan_cpd(*tensor_, taken).device_note, HasSubstr("busy or unavailable"));
  EXPECT_THAT(failure_of([&] { plan_cpd(*tensor_, on({"cuda:0"})); }, ErrorKind::cuda), HasSubstr("busy or unavail"));
  EXPECT_NO_THROW(fit_cpd(*tensor_, on({"cuda:1"})));
  EXPECT_NO_THROW(fit_cpd(*tensor_, on({"cpu", "cuda:1"})));

  EXPECT_THAT(simt::fake_device().contexts, ::testing::ElementsAre(1));
  int current = -1;
  EXPECT_EQ(cudaGetDevice(&current), cudaSuccess);
  EXPECT_EQ(current, 0);
}

TEST_F(SeveralDevices, AreRefusedWhereTheyAreNotThereOrNotFitForIt) {
  const auto refusal = [&](const CpdOptions& options, ErrorKind kind) {
    return failure_of([&] { fit_cpd(*tensor_, options); }, kind);
  };
  EXPECT_THAT(
      refusal(on({"cpu", "cuda:2"}), ErrorKind::cuda),
      HasSubstr("there is no cuda:2: the last GPU that the driver shows is cuda:1; leave cuda:2 out of `devices`"));
  CpdOptions deterministic = on({"cpu", "cuda:0"});
  deterministic.compute.deterministic = true;
  EXPECT_THAT(refusal(deterministic, ErrorKind::invalid_argument), HasSubstr("runs on the CPU only"));
  simt::set_device({.major = 7, .count = 2});
  EXPECT_THAT(refusal(on({"cpu", "cuda:1"}), ErrorKind::cuda),
              AllOf(HasSubstr("cuda:1: no GPU: "), HasSubstr("8.0 or newer")));
}

}  // namespace
}  // namespace blco::testing
