// The streaming executor against a backend that only records: order, tiers, whole payloads, and draining on failure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/ingest.hpp>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>

#include "blco/error.hpp"
#include "engine/streamer.hpp"
#include "tests/engine/coordinate_tensor.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

class PlainBuffer final : public HostBuffer {
 public:
  explicit PlainBuffer(std::uint64_t bytes) : memory_(bytes + 64) {}
  std::span<std::byte> bytes() override {
    void* start = memory_.data();
    std::size_t room = memory_.size();
    std::align(64, memory_.size() - 64, start, room);
    return {static_cast<std::byte*>(start), memory_.size() - 64};
  }

 private:
  std::vector<std::byte> memory_;
};

// Records what is submitted. Like a device, it reads a lane's bytes late: when the lane is waited for, or the pass
// ends.
class RecordingBackend final : public Backend {
 public:
  std::vector<std::uint64_t> submitted;
  std::vector<std::uint64_t> resident_submitted;
  std::vector<ChunkView> kept;
  std::set<int> lanes;
  std::optional<std::uint64_t> fail_at;
  std::uint64_t finished_bytes = 0;  // of index payloads that were still whole when the lane was waited for

  std::string name() const override { return "recording"; }
  std::unique_ptr<HostBuffer> allocate_host(std::uint64_t bytes) override {
    return std::make_unique<PlainBuffer>(bytes);
  }
  void load_factor(int, std::uint64_t, std::span<const double>) override {}
  void store_factor(int, std::span<double>) const override {}
  std::vector<double> take_factor(int) override { return {}; }
  void begin_pass(int) override { submitted.clear(); }
  void submit(int lane, const ChunkView& chunk) override {
    if (fail_at == chunk.number) throw std::runtime_error("the device failed");
    lanes.insert(lane);
    submitted.push_back(chunk.number);
    const std::lock_guard lock(mutex_);
    in_flight_[lane] = chunk;
  }
  void wait_lane(int lane) override { finish_lane(lane); }
  ResidentId keep(int, const ChunkView& chunk, ResidentForm) override {
    check(chunk);
    kept.push_back(chunk);
    return kept.size() - 1;
  }
  void submit_resident(ResidentId chunk) override {
    submitted.push_back(kept.at(chunk).number);
    resident_submitted.push_back(kept.at(chunk).number);
  }
  void finish_pass() override {
    for (const int lane : lanes) finish_lane(lane);
  }
  void read_output(std::span<double>) const override {}
  RowUpdate update_rows(int, const RowSolver&) override { return {}; }
  std::span<const double> gram(int) override { return {}; }

 private:
  // A lane that was filled again before it was waited for holds another chunk by now.
  static void check(const ChunkView& chunk) {
    check_payload(chunk[Column::index], chunk.nnz);
    check_payload(chunk[Column::value], chunk.nnz);
  }

  void finish_lane(int lane) {
    const std::lock_guard lock(mutex_);
    const auto chunk = in_flight_.find(lane);
    if (chunk == in_flight_.end()) return;
    check(chunk->second);
    finished_bytes += chunk->second[Column::index].size();
    in_flight_.erase(chunk);
  }

  std::mutex mutex_;
  std::map<int, ChunkView> in_flight_;
};

class StreamerTest : public testing::Test {
 protected:
  static constexpr std::uint64_t chunks = 25;

  StreamerTest() {
    const auto tensor = random_coordinates({.shape = {300, 400, 500}, .nnz = chunks * 1000, .seed = 4});
    ingest_text({folder_.write("in.tns", as_text(tensor))}, file_, {.chunk_nnz = 1000});
    reader_.emplace(file_);
  }

  Plan plan_of(std::vector<Tier> tiers, int lanes, int readers) const {
    Plan plan;
    plan.tiers = std::move(tiers);
    plan.lanes = lanes;
    plan.readers = readers;
    for (std::uint64_t c = 0; c < plan.tiers.size(); ++c) {
      plan.lane_bytes = std::max(plan.lane_bytes, reader_->buffer_bytes(c));
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

  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_ / "in.blco";
  std::optional<ContainerReader> reader_;
};

TEST_F(StreamerTest, SubmitsEveryChunkOnceInTheOrderOfThePass) {
  for (const auto& [lanes, readers] : {std::pair{2, 1}, {2, 2}, {4, 2}, {3, 3}, {1, 1}}) {
    const Plan plan = plan_of(std::vector<Tier>(reader_->info().chunk_count(), Tier::streamed), lanes, readers);
    RecordingBackend backend;
    Streamer streamer(*reader_, plan, backend);

    for (const Direction direction : {Direction::forward, Direction::backward, Direction::forward}) {
      streamer.pass(0, direction);
      EXPECT_EQ(backend.submitted, in_order(direction));
    }

    std::uint64_t index_bytes = 0;
    for (std::uint64_t c = 0; c < reader_->info().chunk_count(); ++c)
      index_bytes += reader_->extents(c)[0].payload_bytes;
    EXPECT_EQ(streamer.bytes_read(), 3 * stored_bytes());
    EXPECT_EQ(backend.lanes.size(), static_cast<std::size_t>(lanes));
    EXPECT_EQ(backend.finished_bytes, 3 * index_bytes) << "a lane was filled again without being waited for";
  }
}

TEST_F(StreamerTest, ReadsResidentChunksOnlyInTheFirstPass) {
  std::vector<Tier> tiers(reader_->info().chunk_count(), Tier::streamed);
  for (std::size_t c = 0; c < tiers.size(); c += 3) tiers[c] = c % 2 == 0 ? Tier::packed : Tier::decoded;
  const Plan plan = plan_of(tiers, 3, 2);
  RecordingBackend backend;
  Streamer streamer(*reader_, plan, backend);

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

TEST_F(StreamerTest, ThrowsAReadersErrorAfterTheChunksBeforeIt) {
  damage(17);
  const Plan plan = plan_of(std::vector<Tier>(reader_->info().chunk_count(), Tier::streamed), 4, 2);
  RecordingBackend backend;
  Streamer streamer(*reader_, plan, backend);

  try {
    streamer.pass(0, Direction::forward);
    FAIL() << "a damaged chunk went through";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::corrupt);
    EXPECT_THAT(error.what(), testing::HasSubstr("17"));
  }
  EXPECT_EQ(backend.submitted.size(), 17);
}

TEST_F(StreamerTest, DrainsWhenTheBackendFailsAndCanBeUsedAgain) {
  const Plan plan = plan_of(std::vector<Tier>(reader_->info().chunk_count(), Tier::streamed), 4, 2);
  RecordingBackend backend;
  Streamer streamer(*reader_, plan, backend);
  backend.fail_at = 5;

  EXPECT_THROW(streamer.pass(0, Direction::forward), std::runtime_error);
  backend.fail_at.reset();
  streamer.pass(0, Direction::backward);

  EXPECT_EQ(backend.submitted, in_order(Direction::backward));
}

}  // namespace
}  // namespace blco
