// Chunks that go to whoever takes them: by scripted orders of draws, and by streamers of which one is held up.
#include "engine/stream/chunk_queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <blco/ingest.hpp>
#include <functional>
#include <future>
#include <numeric>
#include <random>
#include <string>
#include <thread>

#include "engine/common/thread_pool.hpp"
#include "engine/stream/streamer.hpp"
#include "tests/engine/coordinate_tensor.hpp"
#include "tests/engine/stream/recording_backend.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

using testing::ElementsAre;

std::vector<std::uint64_t> numbers_to(std::uint64_t count) {
  std::vector<std::uint64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
  return numbers;
}

// What workers get that ask in this order; 99: nothing.
std::vector<std::uint64_t> draws(ChunkQueue& queue, const std::string& askers) {
  std::vector<std::uint64_t> chunks;
  for (const char asker : askers) chunks.push_back(queue.take(static_cast<std::size_t>(asker - '0')).value_or(99));
  return chunks;
}

TEST(ChunkQueue, GivesEachItsPartThenWhatTheOtherWouldTakeLast) {
  ChunkQueue queue(2);
  for (const std::uint64_t chunk : {0, 1, 2, 3, 4, 6}) queue.add(0, chunk);  // 5 stays with worker 0
  for (const std::uint64_t chunk : {7, 8}) queue.add(1, chunk);

  queue.begin(numbers_to(9), /*forward=*/true);
  EXPECT_EQ(queue.peek(0, 4), 4);
  EXPECT_EQ(queue.peek(0, 5), 6);
  EXPECT_EQ(queue.peek(0, 6), std::nullopt);
  EXPECT_THAT(draws(queue, "01101110"), ElementsAre(0, 8, 7, 1, 6, 4, 3, 2));
  EXPECT_THAT(draws(queue, "01"), ElementsAre(99, 99));

  // Each begins where they met: worker 0 took 3 of 8.
  queue.begin(numbers_to(9), /*forward=*/false);
  EXPECT_THAT(draws(queue, "00011111"), ElementsAre(2, 1, 0, 3, 4, 6, 7, 8));
  queue.begin(numbers_to(9), /*forward=*/true);
  queue.close();
  EXPECT_THAT(draws(queue, "01"), ElementsAre(99, 99));
}

TEST(ChunkQueue, GivesEveryChunkOnceInAnyOrderOfWorkers) {
  std::mt19937 random(3);
  for (const std::size_t workers : {1, 2, 3, 8}) {
    ChunkQueue queue(workers);
    for (std::uint64_t chunk = 0; chunk < 40; ++chunk) queue.add(chunk * workers / 40, chunk);
    for (int pass = 0; pass < 20; ++pass) {
      const std::vector<std::uint64_t> all = numbers_to(40);
      // A sampled pass has some of them, in an order of its own.
      std::vector<std::uint64_t> wanted(all.begin(), all.begin() + 40 - pass);
      if (pass % 2 == 1) std::ranges::shuffle(wanted, random);
      queue.begin(wanted, pass % 3 != 0);
      std::vector<std::uint64_t> taken;
      while (const std::optional<std::uint64_t> chunk = queue.take(random() % workers)) taken.push_back(*chunk);
      EXPECT_THAT(taken, testing::UnorderedElementsAreArray(wanted));
    }
  }
}

// Holds up who computes, until it is told to go on.
class HeldExecutor final : public Executor {
 public:
  explicit HeldExecutor(std::future<void> until) : until_(std::move(until)) {}

  int width() const override { return 1; }
  void run(std::size_t, const std::function<void(std::size_t)>&) override { until_.wait(); }

 private:
  std::future<void> until_;
};

class SharingStreamers : public testing::TestWithParam<bool> {
 protected:
  static constexpr std::uint64_t chunks = 24;
  static constexpr int slots = 3;

  SharingStreamers() {
    const auto tensor = random_coordinates({.shape = {300, 400, 500}, .nnz = chunks * 1000, .seed = 4});
    ingest_files({folder_.write("in.tns", as_text(tensor))}, folder_ / "in.blco", {.chunk_nnz = 1000});
    reader_.emplace(folder_ / "in.blco");
  }

  // Of half of the chunks, all in one tier.
  Streamer streamer(std::size_t worker, Tier tier, Backend& backend) {
    StreamPlan plan{.tiers = std::vector<Tier>(chunks / 2, tier), .slots = slots, .readers = 2};
    for (std::uint64_t c = 0; c < chunks; ++c) {
      plan.slot_bytes = std::max(plan.slot_bytes, reader_->buffer_bytes(c));
      plan.scratch_bytes = std::max(plan.scratch_bytes, reader_->scratch_bytes(c));
    }
    return Streamer(*reader_, plan, backend, GetParam() ? &jobs_[worker] : nullptr, nullptr, nullptr,
                    {&queue_, worker, worker * chunks / 2});
  }

  TemporaryFolder folder_;
  std::optional<ContainerReader> reader_;
  ThreadPool pool_{2};
  ThreadPool other_pool_{2};
  std::array<SideJobs, 2> jobs_{SideJobs(pool_), SideJobs(other_pool_)};
  ChunkQueue queue_{2};
};

TEST_P(SharingStreamers, LeaveToTheOtherWhatOneCannotTake) {
  std::promise<void> go_on;
  HeldExecutor holds(go_on.get_future());
  RecordingBackend held;
  held.executor = &holds;
  RecordingBackend other;
  Streamer slow = streamer(0, Tier::streamed, held);
  Streamer fast = streamer(1, Tier::streamed, other);
  const auto half = numbers_to(chunks / 2);

  queue_.begin(numbers_to(chunks), /*forward=*/true);
  std::thread thread([&] { slow.pass(0, half); });
  fast.pass(0, half);
  go_on.set_value();
  thread.join();

  std::vector<std::uint64_t> all = held.submitted;
  EXPECT_LE(all.size(), slots);
  all.insert(all.end(), other.submitted.begin(), other.submitted.end());
  EXPECT_THAT(all, testing::UnorderedElementsAreArray(numbers_to(chunks)));
  std::uint64_t bytes = 0;
  for (const std::uint64_t chunk : all) bytes += reader_->stored_bytes(chunk);
  EXPECT_EQ(slow.bytes_read() + fast.bytes_read(), bytes);
}

// The owner reads what stays packed in the first pass; from then on the other takes it from its memory.
TEST_P(SharingStreamers, TakePackedChunksFromTheMemoryOfTheOther) {
  RecordingBackend owner;
  RecordingBackend other;
  Streamer first = streamer(0, Tier::packed, owner);
  Streamer second = streamer(1, Tier::device, other);
  const auto half = numbers_to(chunks / 2);
  const auto pass_of = [&](Streamer& streamer) {
    streamer.pass(0, half);
    return streamer.bytes_read();
  };

  queue_.begin(numbers_to(chunks), /*forward=*/true);
  const std::uint64_t read = pass_of(first) + pass_of(second);
  EXPECT_THAT(owner.submitted, testing::ElementsAreArray(half));
  queue_.begin(numbers_to(chunks), /*forward=*/true);
  EXPECT_EQ(pass_of(second) + pass_of(first), read);

  EXPECT_THAT(other.submitted, testing::UnorderedElementsAreArray(numbers_to(chunks)));
  EXPECT_THAT(owner.submitted, testing::IsEmpty());
}

TEST_P(SharingStreamers, EndSoonerWhereOneHasFailedAndGoOn) {
  RecordingBackend failing;
  RecordingBackend other;
  Streamer first = streamer(0, Tier::streamed, failing);
  Streamer second = streamer(1, Tier::streamed, other);
  const auto half = numbers_to(chunks / 2);
  failing.fail_at = 2;

  queue_.begin(numbers_to(chunks), /*forward=*/true);
  EXPECT_THROW(first.pass(0, half), std::runtime_error);
  second.pass(0, half);
  EXPECT_THAT(other.submitted, testing::IsEmpty());
  failing.fail_at.reset();
  queue_.begin(numbers_to(chunks), /*forward=*/false);
  first.pass(0, half);

  EXPECT_THAT(failing.submitted, testing::UnorderedElementsAreArray(numbers_to(chunks)));
}

INSTANTIATE_TEST_SUITE_P(Reads, SharingStreamers, testing::Bool(),
                         [](const auto& test) { return test.param ? "beside" : "threads"; });

}  // namespace
}  // namespace blco
