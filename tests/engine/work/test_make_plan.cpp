// The plan: it stays within its budget, the minimum named is the minimum, and more memory does not read more (but where
// it goes to whole private outputs).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <blco/ingest.hpp>

#include "blco/error.hpp"
#include "engine/work/make_plan.hpp"
#include "kernels/device_kind.hpp"
#include "tests/engine/coordinate_tensor.hpp"
#include "tests/engine/stream/count_tier.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

class Planner : public testing::Test {
 protected:
  Planner() {
    const auto tensor = random_coordinates({.shape = {300, 400, 500}, .nnz = 200000, .seed = 4});
    ingest_files({folder_.write("in.tns", as_text(tensor))}, folder_ / "in.blco", {.chunk_nnz = 5000});
    reader_.emplace(folder_ / "in.blco");
  }

  Plan plan(std::uint64_t budget, int threads = 2, Tier best_tier = Tier::device) const {
    JobNeeds needs{.backend = {.layout = TensorLayout(reader_->info().shape), .rank = 16}};
    needs.budget_bytes = budget;
    needs.threads = threads;
    needs.best_tier = best_tier;
    return make_plan(measure_tensor(*reader_), needs);
  }

  std::uint64_t minimum() const { return plan(std::uint64_t{1} << 40).minimum_bytes; }

  // Memory beyond what the job takes with nothing kept.
  std::uint64_t planned_for_chunks(const Plan& planned) const { return planned.planned_bytes - minimum(); }

  std::uint64_t stored_bytes() const { return plan(minimum()).disk_bytes_per_pass; }

  std::uint64_t packed_bytes() const {
    std::uint64_t bytes = 0;
    for (std::uint64_t c = 0; c < reader_->info().chunk_count(); ++c) bytes += reader_->buffer_bytes(c);
    return bytes;
  }

  TemporaryFolder folder_;
  std::optional<ContainerReader> reader_;
};

TEST_F(Planner, StreamsEverythingAtTheMinimumAndRefusesOneByteLess) {
  const Plan smallest = plan(minimum());

  EXPECT_EQ(count_tier(smallest, Tier::streamed), 40);
  EXPECT_EQ(smallest.slots, 2);
  try {
    plan(minimum() - 1);
    FAIL() << "accepted a budget below the smallest";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::out_of_memory);
    EXPECT_THAT(error.what(), testing::HasSubstr("`host_bytes = "));
  }
}

TEST_F(Planner, KeepsWithinEveryBudgetAndReadsNoMoreWithMoreMemory) {
  std::uint64_t read_before = packed_bytes();

  for (std::uint64_t budget = minimum(); budget < minimum() + 4 * packed_bytes(); budget += packed_bytes() / 7) {
    const Plan planned = plan(budget);

    EXPECT_LE(planned.planned_bytes, budget);
    EXPECT_LE(planned.disk_bytes_per_pass, read_before);
    EXPECT_GE(planned.disk_bytes_per_pass + planned_for_chunks(planned), stored_bytes());
    read_before = planned.disk_bytes_per_pass;
  }
  EXPECT_EQ(read_before, 0);
}

TEST_F(Planner, DecodesEverythingWhereMemoryIsAmple) {
  EXPECT_EQ(count_tier(plan(std::uint64_t{1} << 40), Tier::decoded), 40);
}

TEST_F(Planner, SpreadsResidentChunksOverThePass) {
  const Plan half = plan(minimum() + packed_bytes());
  ASSERT_GT(count_tier(half, Tier::packed), 10);
  ASSERT_GT(count_tier(half, Tier::streamed), 0);

  const auto first_half = std::count(half.tiers.begin(), half.tiers.begin() + 20, Tier::packed);

  EXPECT_NEAR(static_cast<double>(first_half), static_cast<double>(count_tier(half, Tier::packed)) / 2, 1.01);
}

TEST_F(Planner, KeepsChunksNoNearerThanAskedFor) {
  for (const Tier best : {Tier::streamed, Tier::packed, Tier::decoded}) {
    EXPECT_EQ(count_tier(plan(std::uint64_t{1} << 40, 2, best), best), 40);
  }
}

TEST(PlannerOfPrivateOutputs, KeepsWithinBudgetsThatAreNoWholePages) {
  TensorSizes tensor;
  tensor.chunks.assign(79, {.nnz = 100'000, .buffer_bytes = 400 << 10, .stored_bytes = 400 << 10});
  JobNeeds needs{.backend = {.layout = TensorLayout(std::vector<std::uint64_t>{300'000, 40'000, 1000}), .rank = 16}};
  for (const bool all_outputs : {false, true}) {
    for (const int threads : {1, 2, 8}) {
      needs.backend.all_outputs = all_outputs;
      needs.threads = threads;
      needs.budget_bytes = std::uint64_t{1} << 40;
      const std::uint64_t minimum = make_plan(tensor, needs).minimum_bytes;
      for (const std::uint64_t more : {0, 1, 3, 4, 1023, 4095, 4096, 16'384, 1'000'001}) {
        needs.budget_bytes = minimum + more;

        EXPECT_LE(make_plan(tensor, needs).planned_bytes, needs.budget_bytes) << more << " more on " << threads;
      }
    }
  }
}

TEST(PlannerOfPrivateOutputs, CountsTheOutputsOfAllModes) {
  TensorSizes tensor;
  tensor.chunks.assign(100, {.nnz = 1'000'000, .buffer_bytes = 1 << 20, .stored_bytes = 1 << 20});
  JobNeeds needs{.backend = {.layout = TensorLayout(std::vector<std::uint64_t>{300, 400, 100'000}), .rank = 16}};
  needs.budget_bytes = std::uint64_t{1} << 40;
  const auto plan = [&](int threads, bool all_outputs) {
    needs.threads = threads;
    needs.backend.all_outputs = all_outputs;
    return make_plan(tensor, needs);
  };

  // The longest mode has an output in any case; a row has 128 bytes, and each matrix whole pages.
  const std::uint64_t others = plan(1, true).minimum_bytes - plan(1, false).minimum_bytes;
  EXPECT_GE(others, 700U * 128);
  EXPECT_LE(others, 700U * 128 + 2 * 4096);
  EXPECT_EQ(plan(3, true).private_bytes, 2 * 100'700U * 128);
  EXPECT_EQ(plan(3, false).private_bytes, 2 * 100'000U * 128);
  // Weights of a chunk where threads own rows.
  needs.deterministic = true;
  EXPECT_GE(plan(2, true).minimum_bytes - plan(2, false).minimum_bytes, others + (std::uint64_t{2} << 20));
  EXPECT_GT(plan(1, false).arranged_bytes, 0U);
  EXPECT_EQ(plan(1, true).arranged_bytes, 0U);
}

TEST(PlannerOfPrivateOutputs, TakesWholeCopiesWhereTheTensorIsStreamedAnyway) {
  TensorSizes tensor;
  tensor.chunks.assign(100, {.nnz = 100'000, .buffer_bytes = 1 << 20, .stored_bytes = 1 << 20});
  JobNeeds needs{.backend = {.layout = TensorLayout(std::vector<std::uint64_t>{300, 400, 100'000}), .rank = 16}};
  needs.threads = 2;
  needs.budget_bytes = std::uint64_t{1} << 40;
  const std::uint64_t minimum = make_plan(tensor, needs).minimum_bytes;
  const std::uint64_t useful = host_kind().useful_private_bytes(needs.backend, 2);
  needs.budget_bytes = minimum + useful;

  const Plan streaming = make_plan(tensor, needs);
  for (ChunkSizes& chunk : tensor.chunks) chunk.buffer_bytes = 4096;
  const Plan keeping = make_plan(tensor, needs);
  for (ChunkSizes& chunk : tensor.chunks) chunk = {.nnz = 1000, .buffer_bytes = 1 << 20, .stored_bytes = 1 << 20};
  const Plan sparse = make_plan(tensor, needs);
  needs.deterministic = true;
  const Plan deterministic = make_plan(tensor, needs);

  EXPECT_EQ(streaming.private_bytes, useful);
  EXPECT_LE(streaming.planned_bytes, needs.budget_bytes);
  // Enough is left for all chunks; or merging would cost more than the nonzeros.
  EXPECT_LT(keeping.private_bytes, useful);
  EXPECT_LT(sparse.private_bytes, useful);
  EXPECT_EQ(deterministic.private_bytes, 0);
}

}  // namespace
}  // namespace blco
