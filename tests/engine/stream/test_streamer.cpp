// The streaming executor against a backend that only records: order, tiers, whole payloads, and draining on failure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <blco/ingest.hpp>
#include <fstream>
#include <stdexcept>

#include "blco/error.hpp"
#include "engine/common/thread_pool.hpp"
#include "engine/stream/streamer.hpp"
#include "tests/engine/coordinate_tensor.hpp"
#include "tests/engine/stream/count_tier.hpp"
#include "tests/engine/stream/linked_bytes.hpp"
#include "tests/engine/stream/recording_backend.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

// Reads by threads of their own, or beside the work of others.
enum class Reading { threads, beside };

class StreamerTest : public testing::TestWithParam<Reading> {
 protected:
  static constexpr std::uint64_t chunks = 25;

  StreamerTest() {
    const auto tensor = random_coordinates({.shape = {300, 400, 500}, .nnz = chunks * 1000, .seed = 4});
    ingest_files({folder_.write("in.tns", as_text(tensor))}, file_, {.chunk_nnz = 1000});
    reader_.emplace(file_);
  }

  StreamPlan plan_of(std::vector<Tier> tiers, int slots, int readers) const {
    StreamPlan plan;
    plan.tiers = std::move(tiers);
    plan.slots = slots;
    plan.readers = readers;
    for (std::uint64_t c = 0; c < plan.tiers.size(); ++c) {
      plan.slot_bytes = std::max(plan.slot_bytes, reader_->buffer_bytes(c));
      plan.scratch_bytes = std::max(plan.scratch_bytes, reader_->scratch_bytes(c));
    }
    return plan;
  }

  std::vector<std::uint64_t> in_order(Direction direction) const {
    std::vector<std::uint64_t> order(reader_->info().chunk_count());
    for (std::uint64_t i = 0; i < order.size(); ++i)
      order[i] = direction == Direction::forward ? i : order.size() - 1 - i;
    return order;
  }

  std::uint64_t stored_bytes() const {
    std::uint64_t bytes = 0;
    for (std::uint64_t c = 0; c < reader_->info().chunk_count(); ++c) {
      for (const StoredExtent& extent : reader_->extents(c)) bytes += extent.stored_bytes;
    }
    return bytes;
  }

  // Overwrites the middle of a chunk's index payload.
  void damage(std::uint64_t chunk) const {
    const StoredExtent extent = reader_->extents(chunk)[0];
    std::fstream file(file_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(extent.address + extent.stored_bytes / 2));
    file << "damaged";
  }

  SideJobs* jobs() { return GetParam() == Reading::beside ? &jobs_ : nullptr; }

  ThreadPool pool_{3};
  SideJobs jobs_{pool_};
  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_ / "in.blco";
  std::optional<ContainerReader> reader_;
};

TEST_P(StreamerTest, SubmitsEveryChunkOnceInTheOrderOfThePass) {
  for (const auto& [slots, readers] : {std::pair{2, 1}, {2, 2}, {4, 2}, {3, 3}, {1, 1}, {12, 10}}) {
    const StreamPlan plan = plan_of(std::vector<Tier>(reader_->info().chunk_count(), Tier::streamed), slots, readers);
    RecordingBackend backend;
    backend.executor = jobs();
    backend.executor = jobs();
    Streamer streamer(*reader_, plan, backend, jobs());

    for (const Direction direction : {Direction::forward, Direction::backward, Direction::forward}) {
      streamer.pass(0, direction);
      EXPECT_EQ(backend.submitted, in_order(direction));
    }

    std::uint64_t index_bytes = 0;
    for (std::uint64_t c = 0; c < reader_->info().chunk_count(); ++c)
      index_bytes += reader_->extents(c)[0].payload_bytes;
    EXPECT_EQ(streamer.bytes_read(), 3 * stored_bytes());
    EXPECT_EQ(backend.slots.size(), static_cast<std::size_t>(slots));
    EXPECT_EQ(backend.finished_bytes, 3 * index_bytes) << "a slot was filled again without being waited for";
  }
}

TEST_P(StreamerTest, ReadsResidentChunksOnlyInTheFirstPass) {
  std::vector<Tier> tiers(reader_->info().chunk_count(), Tier::streamed);
  for (std::size_t c = 0; c < tiers.size(); c += 3) tiers[c] = c % 2 == 0 ? Tier::packed : Tier::decoded;
  const StreamPlan plan = plan_of(tiers, 3, 2);
  RecordingBackend backend;
  backend.executor = jobs();
  Streamer streamer(*reader_, plan, backend, jobs());

  streamer.pass(0, Direction::forward);
  const std::uint64_t first = streamer.bytes_read();
  streamer.pass(1, Direction::backward);

  std::uint64_t resident = 0;
  for (const ChunkView& chunk : backend.kept) {
    for (const StoredExtent& extent : reader_->extents(chunk.number)) resident += extent.stored_bytes;
  }
  EXPECT_EQ(backend.submitted, in_order(Direction::backward));
  EXPECT_EQ(first, stored_bytes());
  EXPECT_EQ(streamer.bytes_read() - first, stored_bytes() - resident);
}

TEST_P(StreamerTest, SendsDeviceChunksOnceAndPackedOnesInEveryPass) {
  constexpr std::array forms{Tier::device, Tier::packed, Tier::streamed};
  std::vector<Tier> tiers;
  for (std::size_t c = 0; c < chunks; ++c) tiers.push_back(forms[c % forms.size()]);
  const StreamPlan plan = plan_of(tiers, 3, 2);
  RecordingBackend backend;
  backend.executor = jobs();
  Streamer streamer(*reader_, plan, backend, jobs());
  std::uint64_t all = 0;
  std::uint64_t not_on_device = 0;
  for (std::uint64_t c = 0; c < chunks; ++c) {
    const std::uint64_t bytes = linked_bytes(reader_->extents(c));
    all += bytes;
    if (tiers[c] != Tier::device) not_on_device += bytes;
  }

  streamer.pass(0, Direction::forward);
  EXPECT_EQ(backend.submitted, in_order(Direction::forward));
  EXPECT_EQ(backend.link_bytes, all);
  streamer.pass(1, Direction::backward);

  EXPECT_EQ(backend.submitted, in_order(Direction::backward));
  EXPECT_EQ(backend.link_bytes, all + not_on_device);
}

TEST_P(StreamerTest, StreamsThePackedChunksThatFindNoMemory) {
  std::vector<Tier> tiers(chunks, Tier::packed);
  for (std::size_t c = 0; c < chunks; c += 5) tiers[c] = Tier::streamed;  // 5 of 25
  StreamPlan given = plan_of(tiers, 3, 2);
  std::uint64_t packed_bytes = 0;
  for (std::uint64_t c = 0; c < chunks; ++c) {
    if (c % 5 != 0) packed_bytes += reader_->buffer_bytes(c);
    for (const StoredExtent& extent : reader_->extents(c)) {
      if (c % 5 == 0) given.disk_bytes_per_pass += extent.stored_bytes;
    }
  }
  RecordingBackend backend;
  backend.executor = jobs();
  backend.host_bytes_left = 3 * given.slot_bytes + packed_bytes / 2;
  Streamer streamer(*reader_, given, backend, jobs());
  const StreamPlan& plan = streamer.plan();

  streamer.pass(0, Direction::forward);
  const std::uint64_t first = streamer.bytes_read();
  const std::uint64_t sent = backend.link_bytes;
  streamer.pass(1, Direction::backward);

  EXPECT_EQ(plan.shortage, "no more to pin");
  EXPECT_EQ(count_tier(plan, Tier::packed) + plan.demoted_chunks, 20);
  EXPECT_EQ(count_tier(plan, Tier::streamed), 5 + plan.demoted_chunks);
  EXPECT_THAT(plan.demoted_chunks, testing::AllOf(testing::Ge(10u), testing::Le(12u)));
  EXPECT_THAT(backend.kept, testing::SizeIs(20 - plan.demoted_chunks));
  EXPECT_EQ(first, stored_bytes());
  EXPECT_EQ(streamer.bytes_read() - first, plan.disk_bytes_per_pass);
  EXPECT_EQ(backend.submitted, in_order(Direction::backward));
  EXPECT_EQ(backend.link_bytes, 2 * sent);
}

TEST_P(StreamerTest, FreesNothingThatIsStillCopiedFromAfterAFailure) {
  std::vector<Tier> tiers(reader_->info().chunk_count(), Tier::packed);
  for (std::size_t c = 0; c < tiers.size(); c += 2) tiers[c] = c % 4 == 0 ? Tier::device : Tier::streamed;
  const StreamPlan plan = plan_of(tiers, 3, 2);
  RecordingBackend backend;
  backend.executor = jobs();
  backend.fail_at = 22;
  {
    Streamer streamer(*reader_, plan, backend, jobs());
    EXPECT_THROW(streamer.pass(0, Direction::forward), std::runtime_error);
    EXPECT_THAT(backend.submitted, testing::SizeIs(22));
  }  // here the buffers look whether they are still read

  EXPECT_THAT(backend.kept, testing::SizeIs(testing::Gt(10)));
}

TEST_P(StreamerTest, ThrowsAReadersErrorAfterTheChunksBeforeIt) {
  damage(17);
  const StreamPlan plan = plan_of(std::vector<Tier>(reader_->info().chunk_count(), Tier::streamed), 4, 2);
  RecordingBackend backend;
  backend.executor = jobs();
  Streamer streamer(*reader_, plan, backend, jobs());

  try {
    streamer.pass(0, Direction::forward);
    FAIL() << "a damaged chunk went through";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::corrupt);
    EXPECT_THAT(error.what(), testing::HasSubstr("17"));
  }
  EXPECT_EQ(backend.submitted.size(), 17);
}

TEST_P(StreamerTest, DrainsWhenTheBackendFailsAndCanBeUsedAgain) {
  const StreamPlan plan = plan_of(std::vector<Tier>(reader_->info().chunk_count(), Tier::streamed), 4, 2);
  RecordingBackend backend;
  backend.executor = jobs();
  Streamer streamer(*reader_, plan, backend, jobs());
  backend.fail_at = 5;

  EXPECT_THROW(streamer.pass(0, Direction::forward), std::runtime_error);
  backend.fail_at.reset();
  streamer.pass(0, Direction::backward);

  EXPECT_EQ(backend.submitted, in_order(Direction::backward));
}

INSTANTIATE_TEST_SUITE_P(Reads, StreamerTest, testing::Values(Reading::threads, Reading::beside),
                         [](const auto& test) { return test.param == Reading::threads ? "threads" : "beside"; });

}  // namespace
}  // namespace blco
