// Plans for a GPU that is not there: what is resident, what crosses the link, and that a pass moves just that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <blco/ingest.hpp>

#include "blco/error.hpp"
#include "engine/stream/streamer.hpp"
#include "engine/work/make_plan.hpp"
#include "io/file/file_descriptor.hpp"
#include "tests/engine/coordinate_tensor.hpp"
#include "tests/engine/stream/count_tier.hpp"
#include "tests/engine/stream/linked_bytes.hpp"
#include "tests/engine/stream/recording_backend.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;
constexpr std::uint64_t chunk_payload_bytes = 4'000'000;
constexpr std::uint64_t chunk_stored_bytes = 3'500'000;
constexpr std::uint64_t chunk_count = 15'000;

// 60 GB of payloads: 15.7 billion nonzeros at 3.8 bytes.
TensorSizes sixty_gigabytes() {
  TensorSizes tensor;
  const std::uint64_t pages = (chunk_payload_bytes + 4095) / 4096;
  tensor.chunks.assign(
      chunk_count, {std::uint64_t{1} << 20, pages * 4096, chunk_stored_bytes, chunk_stored_bytes, chunk_payload_bytes});
  tensor.table_bytes = chunk_count * 600;
  return tensor;
}

DeviceLimits eight_gibibytes() {
  DeviceLimits limits;
  limits.name = "declared";
  limits.multiprocessors = 108;
  limits.l2_bytes = std::uint64_t{40} << 20;
  limits.memory_bytes = limits.free_bytes = 8 * gibibyte;
  return limits;
}

JobNeeds needs_of(std::vector<std::uint64_t> shape, int rank) {
  JobNeeds needs{.backend = {.layout = TensorLayout(shape), .rank = rank}};
  needs.budget_bytes = 24 * gibibyte;
  needs.threads = 8;
  static const std::unique_ptr<DeviceKind> gpu = gpu_kind(eight_gibibytes());
  needs.kind = gpu.get();
  needs.device_budget_bytes = 8 * gibibyte;
  return needs;
}

TEST(DevicePlan, SharesEightGibibytesOutForATensorOfSixtyGigabytes) {
  const Plan plan = make_plan(sixty_gigabytes(), needs_of({5'000'000, 20'000, 300}, 32));

  // Two matrices of five million rows, the factor and the output, and the short ones; then 128 MiB for slots, the
  // workspace of cuBLAS, what buffers lose and all the rest.
  const std::uint64_t matrices = (2 * 5'000'000 + 20'000 + 300) * std::uint64_t{32 * 8};
  const std::uint64_t of_chunk = 15'626 * 256 + 3 * 256;  // 4,000,000 / 256 is 15,625
  EXPECT_EQ(plan.readers, 8);
  EXPECT_EQ(plan.slots, 10);
  EXPECT_LE(count_tier(plan, Tier::device), (8 * gibibyte - matrices) / chunk_payload_bytes);
  EXPECT_GE(count_tier(plan, Tier::device), (8 * gibibyte - matrices - 4 * (gibibyte >> 5)) / of_chunk);
  EXPECT_LE(plan.device_planned_bytes, 8 * gibibyte);
  EXPECT_GE(plan.device_planned_bytes, 8 * gibibyte - 2 * of_chunk);
  // The host keeps what 24 GiB hold, and no factors while the device has them.
  EXPECT_NEAR(static_cast<double>(count_tier(plan, Tier::packed)), 24.0 * static_cast<double>(gibibyte) / 4.0e6, 40);
  EXPECT_EQ(count_tier(plan, Tier::decoded), 0);
  EXPECT_EQ(plan.link_bytes_per_pass, (chunk_count - count_tier(plan, Tier::device)) * chunk_payload_bytes);
  EXPECT_EQ(plan.disk_bytes_per_pass, count_tier(plan, Tier::streamed) * chunk_stored_bytes);
  EXPECT_GT(count_tier(plan, Tier::streamed), 6000);
}

TEST(DevicePlan, SpreadsEveryTierOverThePass) {
  const Plan plan = make_plan(sixty_gigabytes(), needs_of({5'000'000, 20'000, 300}, 32));

  for (const Tier tier : {Tier::device, Tier::packed, Tier::streamed}) {
    const double due = static_cast<double>(count_tier(plan, tier)) / 10;
    for (std::ptrdiff_t tenth = 0; tenth < 10; ++tenth) {
      const auto first = plan.tiers.begin() + tenth * 1500;
      EXPECT_NEAR(static_cast<double>(std::count(first, first + 1500, tier)), due, 3) << tenth;
    }
  }
}

TEST(DevicePlan, KeepsCopiesOfTheOutputForModesShorterThanTheMultiprocessors) {
  const auto tensor = sixty_gigabytes();
  JobNeeds with_short_mode = needs_of({100'000, 107, 300}, 16);
  JobNeeds without = needs_of({100'000, 108, 300}, 16);

  EXPECT_EQ(make_plan(tensor, with_short_mode).private_bytes, 7 * 107 * std::uint64_t{16 * 8});
  EXPECT_EQ(make_plan(tensor, without).private_bytes, 0);
  with_short_mode.backend.gpu.conflict_resolution = ConflictResolution::register_based;
  EXPECT_EQ(make_plan(tensor, with_short_mode).private_bytes, 0);
}

TEST(DevicePlan, StreamsEverythingAtTheMinimumAndNamesItBelow) {
  JobNeeds needs = needs_of({5'000'000, 20'000, 300}, 32);
  needs.device_budget_bytes = make_plan(sixty_gigabytes(), needs).device_minimum_bytes;

  const Plan minimum = make_plan(sixty_gigabytes(), needs);
  EXPECT_EQ(minimum.slots, 2);
  EXPECT_EQ(count_tier(minimum, Tier::device), 0);
  EXPECT_EQ(minimum.link_bytes_per_pass, chunk_count * chunk_payload_bytes);
  EXPECT_EQ(minimum.device_planned_bytes, needs.device_budget_bytes);
  --needs.device_budget_bytes;
  try {
    make_plan(sixty_gigabytes(), needs);
    FAIL() << "accepted a budget below the minimum";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::out_of_memory);
    EXPECT_THAT(error.what(),
                testing::AllOf(testing::HasSubstr("`device_bytes = "), testing::HasSubstr("lower rank"),
                               testing::HasSubstr("`precision = f32`"), testing::HasSubstr("`devices = cpu`")));
  }
}

TEST(DevicePlan, MoreDeviceMemoryNeverSendsMore) {
  JobNeeds needs = needs_of({5'000'000, 20'000, 300}, 32);
  const std::uint64_t minimum = make_plan(sixty_gigabytes(), needs).device_minimum_bytes;
  std::uint64_t sent_before = chunk_count * chunk_payload_bytes;

  for (std::uint64_t budget = minimum; budget < 80 * gibibyte; budget += 3 * gibibyte + 1) {
    needs.device_budget_bytes = budget;
    const Plan plan = make_plan(sixty_gigabytes(), needs);

    EXPECT_LE(plan.device_planned_bytes, budget);
    EXPECT_LE(plan.link_bytes_per_pass, sent_before);
    sent_before = plan.link_bytes_per_pass;
  }
  EXPECT_EQ(sent_before, 0);
}

TEST(DevicePlan, HasAReaderForEveryThreadAndALaneForEveryReader) {
  JobNeeds needs = needs_of({5'000'000, 20'000, 300}, 32);
  for (const auto& [threads, readers] : {std::pair{1, 2}, {2, 2}, {16, 16}, {48, 48}, {200, 62}}) {
    needs.threads = threads;

    const Plan plan = make_plan(sixty_gigabytes(), needs);

    EXPECT_EQ(plan.readers, readers);
    EXPECT_EQ(plan.slots, readers + 2);
    EXPECT_EQ(backend_config(needs, plan).slots, plan.slots);
    EXPECT_LE(plan.planned_bytes, needs.budget_bytes);
    EXPECT_LE(plan.device_planned_bytes, needs.device_budget_bytes);
  }
}

TEST(DevicePlan, SmallBudgetsHaveFewerReaders) {
  JobNeeds needs = needs_of({5'000'000, 20'000, 300}, 32);
  needs.threads = 48;
  const Plan ample = make_plan(sixty_gigabytes(), needs);
  EXPECT_EQ(ample.direct_bytes, direct_room_bytes);
  for (const bool of_host : {true, false}) {
    JobNeeds small = needs;
    std::uint64_t& budget = of_host ? small.budget_bytes : small.device_budget_bytes;
    budget = of_host ? ample.minimum_bytes : ample.device_minimum_bytes;
    int readers_before = 1;
    for (; readers_before < ample.readers && budget < 24 * gibibyte; budget += 10'000'019) {
      const Plan plan = make_plan(sixty_gigabytes(), small);

      EXPECT_GE(plan.readers, readers_before);
      EXPECT_GE(plan.slots, plan.readers == 1 ? 2 : plan.readers + 1);
      EXPECT_LE(plan.planned_bytes, small.budget_bytes);
      EXPECT_LE(plan.device_planned_bytes, small.device_budget_bytes);
      readers_before = plan.readers;
    }
    EXPECT_EQ(readers_before, ample.readers);
  }
}

// Copies of short modes' outputs and previous factors come before slots, which share what is left.
TEST(DevicePlan, LanesThatAreAskedForKeepWithinTheBudget) {
  JobNeeds needs = needs_of({5'000'000, 100, 100}, 32);
  needs.want_previous = true;
  needs.slots = 64;
  const std::uint64_t minimum = make_plan(sixty_gigabytes(), needs).device_minimum_bytes;

  for (const std::uint64_t more : {10, 50, 150, 250, 400, 6000}) {
    needs.device_budget_bytes = minimum + (more << 20);
    const Plan plan = make_plan(sixty_gigabytes(), needs);

    EXPECT_LE(plan.device_planned_bytes, needs.device_budget_bytes);
    EXPECT_LE(plan.resident_bytes, more << 20);
  }
  EXPECT_EQ(make_plan(sixty_gigabytes(), needs).slots, 64);
}

// The least budgets of neither side depend on the device's room for a method's vectors.
TEST(DevicePlan, VectorsLieOnTheDeviceWhereThereIsRoom) {
  JobNeeds needs = needs_of({5'000'000, 20'000, 300}, 32);
  const Plan without = make_plan(sixty_gigabytes(), needs);
  constexpr std::uint64_t rows = 5'000'000;
  constexpr std::uint64_t vector_bytes = rows * 32 * sizeof(double);
  needs.backend.vectors.assign(3, {.rows = rows});
  needs.device_budget_bytes = 1 << 10;
  EXPECT_THROW(make_plan(sixty_gigabytes(), needs), Error);

  std::size_t vectors_before = 0;
  std::vector<std::size_t> counts;
  for (std::uint64_t more = 0; more < 12 * vector_bytes; more += vector_bytes / 2) {
    needs.device_budget_bytes = without.device_minimum_bytes + more;
    const Plan plan = make_plan(sixty_gigabytes(), needs);

    EXPECT_EQ(plan.device_minimum_bytes, without.device_minimum_bytes);
    EXPECT_EQ(plan.minimum_bytes, without.minimum_bytes + 3 * vector_bytes);
    EXPECT_GE(plan.device_vectors, vectors_before);
    EXPECT_LE(plan.device_planned_bytes, needs.device_budget_bytes);
    EXPECT_LE(plan.planned_bytes, needs.budget_bytes);
    vectors_before = plan.device_vectors;
    counts.push_back(plan.device_vectors);
  }
  EXPECT_EQ(counts.front(), 0);
  EXPECT_EQ(counts.back(), 3);

  // On the device they leave their room in host memory to chunks.
  needs.device_budget_bytes = without.device_minimum_bytes + 12 * vector_bytes;
  needs.budget_bytes = without.minimum_bytes + 3 * vector_bytes;
  EXPECT_GT(count_tier(make_plan(sixty_gigabytes(), needs), Tier::packed), 0);
}

// So that a pass can be measured with slots and all else as in device memory, but chunks streamed.
TEST(DevicePlan, SharesLimitWhatStaysAndNothingElse) {
  JobNeeds needs = needs_of({50'000, 20'000, 300}, 32);
  needs.device_budget_bytes = 80 * gibibyte;
  needs.budget_bytes = 80 * gibibyte;
  const Plan ample = make_plan(sixty_gigabytes(), needs);
  ASSERT_EQ(count_tier(ample, Tier::device), chunk_count);

  for (const double device : {0.0, 0.25, 1.0}) {
    for (const double host : {0.0, 0.5, 1.0}) {
      needs.shares = {device, host};
      const Plan plan = make_plan(sixty_gigabytes(), needs);

      const double off_device = (1 - device) * chunk_count;
      EXPECT_NEAR(static_cast<double>(count_tier(plan, Tier::device)), device * chunk_count, 1);
      EXPECT_NEAR(static_cast<double>(count_tier(plan, Tier::packed)), host * off_device, 1);
      EXPECT_EQ(plan.slots, ample.slots);
      EXPECT_EQ(plan.device_planned_bytes - plan.resident_bytes, ample.device_planned_bytes - ample.resident_bytes);
    }
  }
}

TEST(DevicePlan, HasNoMoreReadersThanChunks) {
  TensorSizes tensor;
  tensor.chunks.assign(3, {1000, 4096, 0, 4096, 4096});

  EXPECT_EQ(make_plan(tensor, needs_of({100'000, 200'000, 300}, 4)).readers, 3);
}

// What the plan promises, against what passes over a real container move.
class MovedBytes : public testing::Test {
 protected:
  MovedBytes() {
    const auto tensor = random_coordinates({.shape = {300, 400, 500}, .nnz = 25'000, .seed = 4});
    ingest_files({folder_.write("in.tns", as_text(tensor))}, folder_ / "in.blco", {.chunk_nnz = 1000});
    reader_.emplace(folder_ / "in.blco");
  }

  // Room for a share of the chunks on the device, and for a share of them in host memory.
  Plan plan(double device_share, double host_share) const {
    const TensorSizes tensor = measure_tensor(*reader_);
    JobNeeds needs = needs_of(reader_->info().shape, 8);
    needs.threads = 2;
    const Plan ample = make_plan(tensor, needs);
    double packed = 0;
    for (const ChunkSizes& chunk : tensor.chunks) packed += static_cast<double>(chunk.buffer_bytes);
    // Too little for another slot, which loses a page.
    needs.device_budget_bytes = ample.device_minimum_bytes +
                                static_cast<std::uint64_t>(device_share * static_cast<double>(ample.resident_bytes));
    needs.budget_bytes = ample.minimum_bytes + static_cast<std::uint64_t>(host_share * packed);
    return make_plan(tensor, needs);
  }

  TemporaryFolder folder_;
  std::optional<ContainerReader> reader_;
};

TEST_F(MovedBytes, AreThoseOfThePlanInEveryPassButTheFirst) {
  std::uint64_t payload_bytes = 0;
  for (std::uint64_t c = 0; c < reader_->info().chunk_count(); ++c) payload_bytes += linked_bytes(reader_->extents(c));
  for (const auto& [device, host] : {std::pair{0.3, 0.4}, {0.0, 0.0}, {1.0, 0.0}, {0.5, 2.0}, {0.0, 0.6}}) {
    const Plan planned = plan(device, host);
    RecordingBackend backend;
    Streamer streamer(*reader_, planned, backend);

    streamer.pass(0, Direction::forward);
    EXPECT_EQ(backend.link_bytes, payload_bytes);
    for (const Direction direction : {Direction::backward, Direction::forward}) {
      const std::uint64_t sent_before = backend.link_bytes;
      const std::uint64_t read_before = streamer.bytes_read();
      streamer.pass(1, direction);
      EXPECT_EQ(backend.link_bytes - sent_before, planned.link_bytes_per_pass) << device << ' ' << host;
      EXPECT_EQ(streamer.bytes_read() - read_before, planned.disk_bytes_per_pass) << device << ' ' << host;
    }
  }
}

TEST_F(MovedBytes, ThePlansDifferAsTheirBudgetsDo) {
  const Plan mixed = plan(0.3, 0.3);

  EXPECT_GT(count_tier(mixed, Tier::device), 4);
  EXPECT_GT(count_tier(mixed, Tier::packed), 4);
  EXPECT_GT(count_tier(mixed, Tier::streamed), 2);
  EXPECT_EQ(count_tier(plan(1.0, 0.0), Tier::device), 25);
}

}  // namespace
}  // namespace blco
