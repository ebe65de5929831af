// Fits whose passes several workers share, here threads that send each other messages, beside fits of one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/cpd.hpp>
#include <blco/evaluate.hpp>
#include <blco/ingest.hpp>
#include <blco/nonzeros.hpp>
#include <blco/starts.hpp>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "engine/tensor/tensor_chunks.hpp"
#include "tests/engine/work/counting_peers.hpp"
#include "tests/engine/work/worker_fits.hpp"

namespace blco {
namespace {

struct MethodCase {
  std::string name;
  CpdMethod method;
  int sweeps = 3;
  Start start = Start::automatic;
  std::optional<bool> momentum = {};
  int rank = 5;
  bool validates = true;  // where the method can
  double tolerance = 1e-10;
};

void PrintTo(const MethodCase& test, std::ostream* out) { *out << test.name; }

std::vector<MethodCase> every_method() {
  const std::vector<RowConstraint> nonnegative(3, RowConstraint{.set = RowSet::nonnegative});
  const std::vector<RowConstraint> box(3, RowConstraint{.set = RowSet::box, .lower = 0, .upper = 4});
  return {{"als", AlsMethod()},
          {"als_nvecs", AlsMethod(), 3, Start::nvecs},
          {"als_momentum", AlsMethod(), 9, Start::automatic, true},
          {"als_nonnegative", AlsMethod{nonnegative}},
          {"als_box", AlsMethod{box}},
          {"apr", AprMethod()},
          // More of them would make the rounding of sums large.
          {"gcp_lbfgs", GcpMethod{.loss = {LossKind::poisson}, .evaluations = 5}},
          {"gcp_adam", GcpMethod{.loss = {LossKind::poisson_log}}},
          {"complete", CompletionMethod()},
          // Which holds entries back, since rows have few for this rank.
          {"complete_held_back", CompletionMethod(), 3, Start::automatic, {}, 20, false, 1e-8}};
}

class WorkersOfEveryMethod : public testing::TestWithParam<MethodCase> {};

TEST_P(WorkersOfEveryMethod, GiveTheModelOfOne) {
  const TemporaryFolder folder;
  const TensorFile tensor = ingest_counts(folder, {120, 140, 90});
  ASSERT_EQ(tensor.summary().chunk_count, 7);
  const TensorFile unseen = ingest_counts(folder, {120, 140, 90}, "unseen");
  CpdOptions options{
      .method = GetParam().method, .rank = GetParam().rank, .max_sweeps = GetParam().sweeps, .tolerance = 0};
  options.momentum = GetParam().momentum;
  options.start = GetParam().start;
  auto* const complete = std::get_if<CompletionMethod>(&options.method);
  if (complete != nullptr && GetParam().validates) complete->validation = &unseen;
  options.compute.threads = 1;
  const CpdModel alone = fit_cpd(tensor, options);
  for (const int size : {1, 2, 3, 5, 8}) {
    SCOPED_TRACE(std::to_string(size) + " workers");
    CountingPeers others(tensor, size, {.threads = 2});
    options.compute.peers = &others;
    expect_same_model(fit_cpd(tensor, options), alone, GetParam().tolerance);
  }
}

// Threads of one process, which share what is read in each pass or lies packed in memory.
TEST_P(WorkersOfEveryMethod, GiveTheModelOfOneFromOneQueue) {
  const TemporaryFolder folder;
  const TensorFile tensor = ingest_counts(folder, {120, 140, 90});
  const TensorFile unseen = ingest_counts(folder, {120, 140, 90}, "unseen");
  CpdOptions options{
      .method = GetParam().method, .rank = GetParam().rank, .max_sweeps = GetParam().sweeps, .tolerance = 0};
  options.momentum = GetParam().momentum;
  auto* const complete = std::get_if<CompletionMethod>(&options.method);
  if (complete != nullptr && GetParam().validates) complete->validation = &unseen;
  options.compute.threads = 1;
  const CpdModel alone = fit_cpd(tensor, options);
  for (const std::uint64_t more_bytes : {0, 40'000}) {
    for (const std::vector<double>& shares : {std::vector<double>{1, 1}, {4, 2, 0.01}}) {
      std::vector<ThreadWorker> workers;
      for (const double share : shares) workers.push_back({{.threads = 2}, "a worker", share});
      ServingThreads threads(workers);
      options.compute.peers = &threads.lead();
      options.compute.memory.host_bytes = 0;
      options.compute.memory.host_bytes = plan_cpd(tensor, options).minimum_bytes + more_bytes;
      const CpdPlan plan = plan_cpd(tensor, options);
      ASSERT_GT(plan.streamed_chunks + plan.packed_chunks, 0);
      // Two threads need a little more.
      for (std::size_t rank = 1; rank < shares.size(); ++rank) {
        threads.compute(rank).memory.host_bytes = options.compute.memory.host_bytes + 200'000;
      }
      threads.serve(tensor);
      expect_same_model(fit_cpd(tensor, options), alone, GetParam().tolerance);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, WorkersOfEveryMethod, testing::ValuesIn(every_method()),
                         [](const auto& test) { return test.param.name; });

// Modes of fewer rows than workers, and line indices of more than 64 bits.
TEST(Workers, GiveTheModelOfOneForAnyShapeAndPrecisionFromDisk) {
  for (const auto& shape : {std::vector<std::uint64_t>{2, 3, 4000}, {8192, 8000, 5000, 8191, 4097}}) {
    const TemporaryFolder folder;
    const TensorFile tensor = ingest_counts(folder, shape);
    for (const Precision precision : {Precision::f64, Precision::f32, Precision::mixed}) {
      // No more components than rows, whose systems would amplify what f32 rounds.
      CpdOptions options{.rank = 2, .max_sweeps = 2, .tolerance = 0};
      options.compute = {.precision = precision, .threads = 2};
      const CpdModel alone = fit_cpd(tensor, options);
      CountingPeers others(tensor, 3, {.threads = 1});
      options.compute.peers = &others;
      std::uint64_t least = 0;
      options.on_plan = [&](const CpdPlan& plan) { least = plan.minimum_bytes; };
      fit_cpd(tensor, options);
      options.compute.memory.host_bytes = least;
      std::uint64_t read = 0;
      options.on_sweep = [&](const SweepReport& report) { return read = report.bytes_read, true; };
      expect_same_model(fit_cpd(tensor, options), alone, precision == Precision::f64 ? 1e-10 : 1e-4);
      EXPECT_GT(read, 0);
    }
  }
}

TEST(Workers, GiveTheSameBitsEachTimeWithAnyThreads) {
  const TemporaryFolder folder;
  const TensorFile tensor = ingest_counts(folder, {120, 140, 90});
  CpdOptions options{.rank = 5, .max_sweeps = 3, .tolerance = 0, .compute = {.deterministic = true}};
  std::vector<CpdModel> models;
  for (const int threads : {1, 3}) {
    CountingPeers others(tensor, 3, {.threads = 4 - threads});
    options.compute.peers = &others;
    options.compute.threads = threads;
    models.push_back(fit_cpd(tensor, options));
  }
  EXPECT_EQ(models[0].fit_history, models[1].fit_history);
  EXPECT_EQ(models[0].weights, models[1].weights);
  EXPECT_EQ(models[0].factors, models[1].factors);
}

TEST(Workers, ShareProductsAndEvaluationsToo) {
  const TemporaryFolder folder;
  const TensorFile tensor = ingest_counts(folder, {120, 140, 90});
  const CpdModel model = fit_cpd(tensor, {.rank = 4, .max_sweeps = 1});
  const std::vector<MatrixView> factors = model.matrices();
  CountingPeers others(tensor, 3);
  const Compute shared{.peers = &others};
  expect_near(mttkrp(tensor, factors, 1, shared), mttkrp(tensor, factors, 1), 1e-12);
  EXPECT_NEAR(evaluate(tensor, factors, {}, AbsentCells::zeros, shared).value,
              evaluate(tensor, factors, {}, AbsentCells::zeros).value, 1e-6);
  EXPECT_GT(others.traffic()[0].messages, 10);
}

// A mode of so many rows is moved in several rounds; some of its rows have no entry.
TEST(Workers, GiveTheModelOfOneForLongModes) {
  const TemporaryFolder folder;
  const std::vector<std::uint64_t> shape = {6000, 300, 200};
  CoordinateTensor coordinates = random_coordinates({.shape = shape, .nnz = 20'000, .seed = 4, .counts = true});
  ingest_files({folder.write("in.tns", as_text(coordinates))}, folder / "in.blco",
               {.shape = {6100, 300, 200}, .chunk_nnz = chunk_nnz});
  const TensorFile tensor(folder / "in.blco");
  for (const CpdMethod& method : {CpdMethod(AprMethod()), CpdMethod(CompletionMethod())}) {
    CpdOptions options{.method = method, .rank = 64, .max_sweeps = 1, .tolerance = 0};
    options.compute.threads = 2;
    const CpdModel alone = fit_cpd(tensor, options);
    CountingPeers others(tensor, 3, {.threads = 1});
    options.compute.peers = &others;
    expect_same_model(fit_cpd(tensor, options), alone, 1e-8);
  }
}

// Rows of models have the tensor's order, rows of workers that of the container.
TEST(Workers, GiveTheModelOfOneForReorderedModes) {
  const TemporaryFolder folder;
  ingest_counts(folder, {120, 140, 90});
  ingest_files({folder / "in.tns"}, folder / "reordered.blco",
               {.shape = {120, 140, 90}, .reorder = Reorder::frequency, .chunk_nnz = chunk_nnz});
  const TensorFile tensor(folder / "reordered.blco");
  CpdOptions options{.rank = 4, .max_sweeps = 4, .tolerance = 0};
  const CpdModel alone = fit_cpd(tensor, options);
  CountingPeers others(tensor, 3, {.threads = 1});
  options.compute.peers = &others;
  options.checkpoint = folder / "in.ckpt";
  options.max_sweeps = 2;
  fit_cpd(tensor, options);
  options.resume = options.checkpoint;
  options.max_sweeps = 4;
  expect_same_model(fit_cpd(tensor, options), alone, 1e-10);
}

TEST(Workers, ReadOnlyTheirChunks) {
  const TemporaryFolder folder;
  const TensorFile tensor = ingest_counts(folder, {120, 140, 90});
  CpdOptions options{.rank = 4, .max_sweeps = 1};
  std::uint64_t read = 0;
  options.on_sweep = [&](const SweepReport& report) { return read = report.bytes_read, true; };
  fit_cpd(tensor, options);
  const std::uint64_t alone = read;
  CountingPeers others(tensor, 3);
  options.compute.peers = &others;
  fit_cpd(tensor, options);
  EXPECT_EQ(read, alone);
}

// What each worker sends and receives in the last of so many sweeps.
std::vector<Traffic> traffic_of_sweep(const Tensor& tensor, int size, CpdOptions options, int sweeps) {
  const auto after = [&](int count) {
    CountingPeers others(tensor, size, {.threads = 1});
    options.max_sweeps = count;
    options.compute.peers = &others;
    fit_cpd(tensor, options);
    return others.traffic();
  };
  const std::vector<Traffic> less = after(sweeps - 1);
  std::vector<Traffic> traffic = after(sweeps);
  for (std::size_t rank = 0; rank < traffic.size(); ++rank) {
    traffic[rank].bytes -= less[rank].bytes;
    traffic[rank].messages -= less[rank].messages;
  }
  return traffic;
}

TEST(Workers, KeepRowsThatTheyAloneTouch) {
  const TemporaryFolder folder;
  // Its chunks part the second mode, and no other.
  CoordinateTensor tensor{{4, 8192, 4}, {}, {}};
  for (std::uint64_t i = 0; i < 8192; ++i) {
    for (std::uint64_t k = 0; k < 4; ++k) {
      tensor.points.push_back({i % 4, i, k});
      tensor.values.push_back(static_cast<double>(1 + i % 5));
    }
  }
  ingest_files({folder.write("in.tns", as_text(tensor))}, folder / "in.blco", {.chunk_nnz = 8192});
  const TensorFile file(folder / "in.blco");
  const CpdOptions options{.rank = 16, .tolerance = 0, .momentum = false};
  for (const Traffic& worker : traffic_of_sweep(file, 4, options, 3)) {
    // Of a sweep: orders, Grams, and the rows of the short modes.
    EXPECT_LT(worker.bytes, 2048 * 16 * sizeof(double) / 2);
  }
}

// Of each worker, the bytes of rows of so many columns that it sends and receives in a pass of each mode: for each row
// that its chunks have and another worker owns, and for each row that it owns and the chunks of another one have, a sum
// to the owner and the new row back. The rows of the mode `held`, if there is one, stay as they were at first.
std::vector<std::uint64_t> bytes_of_rows(const Tensor& tensor, std::size_t size, std::uint64_t columns,
                                         std::size_t held) {
  const NonzeroColumns nonzeros = read_coordinates(tensor);
  const std::uint64_t chunks = tensor.summary().chunk_count;
  std::vector<std::uint64_t> bytes(size);
  for (std::size_t mode = 0; mode < nonzeros.coordinates.size(); ++mode) {
    if (mode == held) continue;
    std::vector<std::set<std::uint64_t>> touched(size);
    const std::uint64_t unit = tensor.shape()[mode] > 8192 ? 2 : 1;
    std::map<std::uint64_t, double> touches;  // of units
    for (std::size_t rank = 0; rank < size; ++rank) {
      const std::size_t end = std::min<std::size_t>(nonzeros.values.size(), chunks * (rank + 1) / size * chunk_nnz);
      for (std::size_t i = chunks * rank / size * chunk_nnz; i < end; ++i) {
        const std::uint64_t row = nonzeros.coordinates[mode][i];
        if (touched[rank].insert(row).second) ++touches[row / unit];
      }
    }
    double all = 0;
    for (const auto& [number, count] : touches) all += count;
    double before = 0;
    for (const auto& [number, count] : touches) {
      // Owned by the worker in whose part of all touches the middle of the unit's lies.
      const auto owner = static_cast<std::size_t>((before + count / 2) * static_cast<double>(size) / all);
      before += count;
      for (std::size_t rank = 0; rank < size; ++rank) {
        if (rank == owner) continue;
        const auto first = touched[rank].lower_bound(number * unit);
        const auto rows = std::distance(first, touched[rank].lower_bound(number * unit + unit));
        const std::uint64_t both_ways = 2 * static_cast<std::uint64_t>(rows) * columns * sizeof(double);
        bytes[rank] += both_ways;
        bytes[owner] += both_ways;
      }
    }
  }
  return bytes;
}

TEST(Workers, SendEachOtherTheRowsOfTheirChunks) {
  const TemporaryFolder folder;
  const TensorFile tensor = ingest_counts(folder, {120, 9000, 90});
  const CpdModel start = fit_cpd(tensor, {.rank = 8, .max_sweeps = 1});
  constexpr std::size_t none = 3;
  const std::vector<std::pair<std::size_t, std::size_t>> cases = {{1, none},  {2, none}, {5, none}, {8, none},
                                                                  {20, none}, {5, 2},    {8, 1}};
  for (const auto& [size, held] : cases) {
    CpdOptions options{.rank = 8, .tolerance = 0, .momentum = false, .initial = &start};
    std::vector<RowConstraint> constraints(held == none ? 0 : 3);
    if (held != none) constraints[held].set = RowSet::held;
    options.method = AlsMethod{constraints};
    const std::vector<Traffic> traffic = traffic_of_sweep(tensor, static_cast<int>(size), options, 3);
    const std::vector<std::uint64_t> expected = bytes_of_rows(tensor, size, 8, held);
    for (std::size_t rank = 0; rank < traffic.size(); ++rank) {
      SCOPED_TRACE(std::to_string(size) + " processes, rank " + std::to_string(rank) + ", held " +
                   std::to_string(held));
      // What is sent beside them: orders and their answers, of which some are systems of R x R numbers.
      const std::uint64_t others = 1024 * traffic[rank].messages;
      EXPECT_GE(traffic[rank].bytes, expected[rank]);
      EXPECT_LE(traffic[rank].bytes, expected[rank] + others);
    }
  }
}

// A transport on which messages to one rank are lost.
TEST(Workers, DismissTheOthersOfOneThatCannotBeReached) {
  class Transport final : public Peers {
   public:
    int rank() const override { return 0; }
    int size() const override { return 8; }
    int neighbours() const override { return 8; }
    void send(int to, std::span<const std::byte>) override {
      if (to == 1) throw Error(ErrorKind::io, "no way to 1");
      reached.push_back(to);
    }
    std::vector<std::byte> receive(int) override { return {}; }

    std::vector<int> reached;
  } transport;

  EXPECT_THROW(dismiss(transport), Error);

  EXPECT_THAT(transport.reached, testing::ElementsAre(2, 4));
}

TEST(Workers, FormATreeOfConsecutiveRanks) {
  EXPECT_THAT(children_of(0, 13), testing::ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(children_of(8, 13), testing::ElementsAre(9, 10, 12));
  EXPECT_THAT(children_of(0, 1), testing::IsEmpty());
  for (int size = 1; size < 40; ++size) {
    for (int rank = 0; rank < size; ++rank) {
      // Itself, then the subtrees of its children, each where the last one ends.
      int end = rank + 1;
      for (const int child : children_of(rank, size)) {
        EXPECT_EQ(child, end);
        EXPECT_EQ(parent_of(child), rank);
        end = subtree_end(child, size);
      }
      EXPECT_EQ(subtree_end(rank, size), end);
    }
  }
}

TEST(Workers, TellWhatFailsInOneOfThem) {
  const TemporaryFolder folder;
  const TensorFile tensor = ingest_counts(folder, {120, 140, 90});
  const TensorFile other = ingest_counts(folder, {120, 140, 91}, "other");
  CpdOptions options{.rank = 4, .max_sweeps = 2};
  const auto expect_failure = [&](CountingPeers& others, const std::string& what) {
    options.compute.peers = &others;
    try {
      fit_cpd(tensor, options);
      FAIL() << "must fail: " << what;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("process 1 of 3"), testing::HasSubstr(what)));
    }
  };
  {
    CountingPeers others(other, 3);
    expect_failure(others, "the tensor here is another one");
  }
  {
    CountingPeers others(tensor, 3, {.memory = {.host_bytes = 1 << 20}});
    expect_failure(others, "requires at least");
  }
}

// A byte in the chunks of the last of four workers, which is two steps from the first.
TEST(Workers, EndAtADamagedChunkAndServeOn) {
  const TemporaryFolder folder;
  ingest_counts(folder, {120, 140, 90});
  const TensorFile whole(folder / "in.blco");
  const std::filesystem::path damaged = folder / "damaged.blco";
  std::filesystem::copy_file(folder / "in.blco", damaged);
  {
    std::fstream file(damaged, std::ios::in | std::ios::out | std::ios::binary);
    const std::uint64_t place = TensorChunks::of(whole).extents(6)[0].address + 40;
    file.seekg(static_cast<std::streamoff>(place));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(place));
    file.put(static_cast<char>(byte ^ 1));
  }
  const TensorFile tensor(damaged);
  const CpdModel model = fit_cpd(whole, {.rank = 4, .max_sweeps = 1});
  CountingPeers others(tensor, 4);
  const Compute shared{.peers = &others};
  const auto expect_corrupt = [](const auto& job) {
    try {
      job();
      FAIL() << "must be found";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::corrupt);
      EXPECT_THAT(error.what(), testing::StartsWith("process 3 of 4: "));
    }
  };
  // In a pass, while others have rows to send; again; and by the job that looks at all its chunks first.
  expect_corrupt([&] { mttkrp(tensor, model.matrices(), 0, shared); });
  expect_corrupt([&] { mttkrp(tensor, model.matrices(), 1, shared); });
  expect_corrupt([&] { fit_cpd(tensor, {.rank = 4, .max_sweeps = 2, .compute = shared}); });
}

// The same entries and sizes, but rows in another order, which would be added to the wrong ones.
TEST(Workers, RefuseATensorOfOtherStoredIndices) {
  const TemporaryFolder folder;
  const TensorFile tensor = ingest_counts(folder, {120, 140, 90});
  ingest_files({folder / "in.tns"}, folder / "reordered.blco",
               {.shape = tensor.shape(), .reorder = Reorder::frequency, .chunk_nnz = chunk_nnz});
  const TensorFile reordered(folder / "reordered.blco");
  ASSERT_EQ(reordered.summary().sum_of_squares, tensor.summary().sum_of_squares);
  CountingPeers others(reordered, 2);
  CpdOptions options{.rank = 4};
  options.compute.peers = &others;
  EXPECT_THROW(fit_cpd(tensor, options), Error);
}

TEST(Workers, StopWithTheModelOfTheLastSweepAndServeOn) {
  const TemporaryFolder folder;
  const TensorFile tensor = ingest_counts(folder, {120, 140, 90});
  CountingPeers others(tensor, 3);
  std::vector<RowConstraint> box_and_free(3);
  box_and_free[1] = {.set = RowSet::box, .lower = 0, .upper = 4};
  for (const auto& constraints : {std::vector<RowConstraint>(), box_and_free}) {
    CpdOptions options{.method = AlsMethod{constraints}, .rank = 4, .max_sweeps = 50, .tolerance = 0};
    options.compute.peers = &others;
    int sweeps = 0;
    options.on_sweep = [&](const SweepReport& report) { return sweeps = report.sweep, true; };
    options.on_progress = [&](const Progress&) { return sweeps < 3; };
    const CpdModel stopped = fit_cpd(tensor, options);
    EXPECT_EQ(stopped.stop_reason, StopReason::cancelled);
    const CpdModel alone = fit_cpd(
        tensor,
        {.method = options.method, .rank = 4, .max_sweeps = static_cast<int>(stopped.sweeps()), .tolerance = 0});
    expect_same_model(stopped, alone, 1e-10);
  }
  const Compute shared{.peers = &others};
  EXPECT_EQ(fit_starts(tensor, {.rank = 4, .max_sweeps = 2, .compute = shared}, 3, {}).starts.size(), 3);
}

}  // namespace
}  // namespace blco
