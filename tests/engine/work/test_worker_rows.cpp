// The rows that workers hold: their memory, and fits that go on with other workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/cpd.hpp>
#include <blco/memory_tensor.hpp>
#include <string>
#include <vector>

#include "engine/fit/cp_fit.hpp"
#include "engine/work/job.hpp"
#include "engine/work/job_order.hpp"
#include "tests/engine/work/counting_peers.hpp"
#include "tests/engine/work/worker_fits.hpp"

namespace blco {
namespace {

// One of several processes, which is asked for its plan alone.
class PlannedPeer final : public Peers {
 public:
  PlannedPeer(int rank, int size) : rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int neighbours() const override { return 1; }
  void send(int, std::span<const std::byte>) override { ADD_FAILURE() << "sends"; }
  std::vector<std::byte> receive(int) override { return {}; }

 private:
  int rank_;
  int size_;
};

TensorFile ingest_few(const TemporaryFolder& folder, std::uint64_t length, std::size_t nnz, std::uint64_t chunk) {
  const std::vector<std::uint64_t> shape(3, length);
  const CoordinateTensor coordinates = random_coordinates({.shape = shape, .nnz = nnz, .seed = 7, .counts = true});
  ingest_files({folder.write("few.tns", as_text(coordinates))}, folder / "few.blco",
               {.shape = shape, .chunk_nnz = chunk});
  return TensorFile(folder / "few.blco");
}

// Three modes of ten million rows.
TEST(WorkerRows, TakeTheirPartOfTheMemory) {
  const TemporaryFolder folder;
  const TensorFile tensor = ingest_few(folder, 10'000'000, 8192, 256);
  CpdOptions options{.rank = 16, .compute = {.threads = 1}};
  const std::uint64_t alone = plan_cpd(tensor, options).minimum_bytes;
  ASSERT_GT(alone, std::uint64_t{4} * 10'000'000 * 16 * sizeof(double));
  for (int rank = 0; rank < 8; ++rank) {
    PlannedPeer peer(rank, 8);
    options.compute.peers = &peer;
    Job job(tensor, options.compute, needs_of(tensor, options.rank, Precision::f64));
    job.plan_alone();
    EXPECT_LT(job.plan().minimum_bytes, alone / 3) << rank;
  }
  // Process 0 returns the model too.
  PlannedPeer leader(0, 8);
  options.compute.peers = &leader;
  const std::uint64_t model = std::uint64_t{3} * 10'000'000 * 16 * sizeof(double);
  EXPECT_LT(plan_cpd(tensor, options).minimum_bytes, alone / 3 + model);
  EXPECT_GT(plan_cpd(tensor, options).minimum_bytes, model);
}

// The vectors of L-BFGS, which take most of it, lie with the rows that they are of.
TEST(WorkerRows, TakeTheirPartOfTheVectorsOfLbfgs) {
  const TemporaryFolder folder;
  const TensorFile tensor = ingest_few(folder, 10'000'000, 8192, 256);
  for (const Loss& loss : {Loss{}, Loss{LossKind::poisson}}) {
    CpdOptions options{.method = GcpMethod{.loss = loss}, .rank = 16};
    options.compute = {.threads = 1, .memory = {.host_bytes = ample_bytes}};
    const std::uint64_t numbers = std::uint64_t{3} * 10'000'000 * 16;
    const std::uint64_t alone = plan_cpd(tensor, options).minimum_bytes;
    ASSERT_GT(alone, 220 * numbers);
    PlannedPeer leader(0, 8);
    options.compute.peers = &leader;
    EXPECT_LT(plan_cpd(tensor, options).minimum_bytes, alone / 4 + numbers * sizeof(double));
    const JobNeeds theirs = needs_of_peer(tensor, fit_needs(tensor, options));
    for (int rank = 1; rank < 8; ++rank) {
      PlannedPeer peer(rank, 8);
      options.compute.peers = &peer;
      Job job(tensor, options.compute, theirs);
      job.plan_alone();
      EXPECT_LT(job.plan().minimum_bytes, alone / 4) << rank;
      EXPECT_GT(job.plan().minimum_bytes, 220 * numbers / 16) << rank;
    }
  }
}

TEST(WorkerRows, FitAThirdOfTheMemoryOfOne) {
  const TemporaryFolder folder;
  const TensorFile tensor = ingest_few(folder, 600'000, 16'000, 1000);
  CpdOptions options{.rank = 8, .max_sweeps = 2, .tolerance = 0, .momentum = false, .compute = {.threads = 1}};
  const CpdModel alone = fit_cpd(tensor, options);
  const std::uint64_t third = plan_cpd(tensor, options).minimum_bytes / 3;

  CountingPeers others(tensor, 8, {.threads = 1, .memory = {.host_bytes = third}});
  options.compute.peers = &others;
  options.compute.memory.host_bytes = third + 3 * 600'000 * 8 * sizeof(double);  // and the model

  expect_same_model(fit_cpd(tensor, options), alone, 1e-10);
}

TEST(WorkerRows, SayInOneProcessWhatLacksInAnother) {
  const TemporaryFolder folder;
  const TensorFile tensor = ingest_few(folder, 100'000, 5000, 500);
  CountingPeers others(tensor, 3, {.threads = 1, .memory = {.host_bytes = 9 << 20}});
  CpdOptions options{.rank = 32, .max_sweeps = 1};
  options.compute.peers = &others;
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      fit_cpd(tensor, options);
      FAIL() << "must be refused";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::out_of_memory);
      EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("process 1 of 3: this job requires at least"),
                                               testing::HasSubstr(" for factors")));
    }
  }
  options.method = GcpMethod();
  try {
    fit_cpd(tensor, options);
    FAIL() << "must be refused";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("process 1 of 3: this job requires at least"),
                                             testing::HasSubstr(" for vectors of L-BFGS")));
  }
  options.method = AlsMethod();
  // The same in process 0, which the others learn too.
  CountingPeers ample(tensor, 3, {.threads = 1});
  options.compute = {.threads = 1, .memory = {.host_bytes = 9 << 20}};
  options.compute.peers = &ample;
  EXPECT_THROW(fit_cpd(tensor, options), Error);
  options.compute.memory = {};
  EXPECT_EQ(fit_cpd(tensor, options).sweeps(), 1);
}

// Fewer rows than workers, of which some have neither a row nor a chunk.
TEST(WorkerRows, MayBeNone) {
  const TemporaryFolder folder;
  const TensorFile tensor = ingest_counts(folder, {2, 3, 4000});
  ASSERT_LT(tensor.summary().chunk_count, 10);
  for (const CpdMethod& method : {CpdMethod(AlsMethod()), CpdMethod(AprMethod()), CpdMethod(CompletionMethod())}) {
    CpdOptions options{.method = method, .rank = 2, .max_sweeps = 2, .tolerance = 0, .compute = {.threads = 1}};
    const CpdModel alone = fit_cpd(tensor, options);
    CountingPeers others(tensor, 10, {.threads = 1});
    options.compute.peers = &others;
    expect_same_model(fit_cpd(tensor, options), alone, 1e-10);
  }
}

// By the bounds of its chunk, the last worker has a quarter of the rows; as an owner it has nearly all.
TEST(WorkerRows, AreThoseOfTheOwnersWhereAnEstimateSaysOtherwise) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 3999; ++i) {
    text += std::to_string(i / 4 + 1) + " " + std::to_string(i % 10 + 1) + " " + std::to_string(i * 7 % 9 + 1) + " " +
            std::to_string(i % 5 + 1) + "\n";
  }
  text += "100000 1 1 2\n";
  ingest_files({folder.write("few.tns", text)}, folder / "few.blco", {.shape = {100'000, 10, 10}, .chunk_nnz = 1000});
  const TensorFile tensor(folder / "few.blco");
  ASSERT_EQ(tensor.summary().chunk_count, 4);
  CpdOptions options{.rank = 3, .max_sweeps = 2, .tolerance = 0, .compute = {.threads = 1}};
  const CpdModel alone = fit_cpd(tensor, options);
  CountingPeers others(tensor, 4, {.threads = 1});
  options.compute.peers = &others;
  expect_same_model(fit_cpd(tensor, options), alone, 1e-10);
}

class ResumedWorkers : public testing::TestWithParam<CpdMethod> {};

TEST_P(ResumedWorkers, GoOnWithRowsOfOtherWorkers) {
  const TemporaryFolder folder;
  const TensorFile tensor = ingest_counts(folder, {120, 9000, 90});
  const TensorFile unseen = ingest_counts(folder, {120, 9000, 90}, "unseen");
  CpdOptions options{.method = GetParam(), .rank = 4, .max_sweeps = 4, .tolerance = 0, .compute = {.threads = 1}};
  if (auto* const complete = std::get_if<CompletionMethod>(&options.method)) complete->validation = &unseen;
  const CpdModel alone = fit_cpd(tensor, options);
  options.checkpoint = folder / "fit.ckpt";
  for (const int size : {5, 3, 1, 8}) {
    CountingPeers others(tensor, size, {.threads = 1});
    options.compute.peers = &others;
    options.max_sweeps = size == 5 ? 1 : size == 3 ? 2 : size == 1 ? 3 : 4;
    const CpdModel model = fit_cpd(tensor, options);
    if (size == 8) expect_same_model(model, alone, 1e-10);
    options.resume = options.checkpoint;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, ResumedWorkers,
                         testing::Values(AlsMethod(), AlsMethod{{{.set = RowSet::box, .lower = 0, .upper = 4}, {}, {}}},
                                         AprMethod(), GcpMethod{.loss = {LossKind::poisson}, .evaluations = 5},
                                         GcpAdamMethod{.loss = {LossKind::poisson_log}}, CompletionMethod()));

}  // namespace
}  // namespace blco
