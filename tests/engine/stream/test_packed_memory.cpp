// Host memory of packed chunks: few buffers, no chunk in another, and what happens when memory runs out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "engine/stream/packed_memory.hpp"
#include "tests/engine/stream/recording_backend.hpp"

namespace blco {
namespace {

// 40 chunks of 512 to 1536 bytes, every fourth of them not packed; 27,904 bytes in all.
std::vector<std::uint64_t> chunk_sizes() {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t c = 0; c < 40; ++c) sizes.push_back(c % 4 == 3 ? 0 : 512 + 256 * (c * 7 % 5));
  return sizes;
}

std::uint64_t sum(const std::vector<std::uint64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
}

PackedMemory::Allocate from(RecordingBackend& backend) {
  return [&backend](std::uint64_t bytes) { return backend.allocate_host(bytes); };
}

void expect_apart(const PackedMemory& memory, const std::vector<std::uint64_t>& sizes) {
  std::vector<std::span<std::byte>> places;
  for (std::uint64_t c = 0; c < sizes.size(); ++c) {
    const std::span<std::byte> place = memory.of(c);
    if (place.empty()) continue;
    EXPECT_GE(place.size(), sizes[c]);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(place.data()) % 64, 0u);
    places.push_back(place);
  }
  std::ranges::sort(places, {}, [](std::span<std::byte> place) { return place.data(); });
  for (std::size_t i = 1; i < places.size(); ++i) {
    EXPECT_GE(places[i].data(), places[i - 1].data() + places[i - 1].size());
  }
}

std::vector<std::uint64_t> with_memory(const PackedMemory& memory, std::uint64_t chunks) {
  std::vector<std::uint64_t> found;
  for (std::uint64_t c = 0; c < chunks; ++c) {
    if (!memory.of(c).empty()) found.push_back(c);
  }
  return found;
}

TEST(PackedMemory, LaysChunksOutInBuffersOfNoMoreThanTheyTake) {
  const std::vector<std::uint64_t> sizes = chunk_sizes();
  for (const auto& [slab_bytes, most_buffers] :
       {std::pair{std::uint64_t{1} << 20, 1}, {std::uint64_t{8192}, 5}, {std::uint64_t{1}, 30}}) {
    RecordingBackend backend;
    const std::uint64_t bytes_before = backend.host_bytes_left;

    const PackedMemory memory(from(backend), sizes, slab_bytes);

    EXPECT_LE(backend.buffers, most_buffers);
    EXPECT_EQ(bytes_before - backend.host_bytes_left, sum(sizes));
    EXPECT_EQ(memory.shortage(), "");
    EXPECT_THAT(with_memory(memory, 40), testing::SizeIs(30));
    EXPECT_TRUE(memory.of(3).empty());
    expect_apart(memory, sizes);
  }
}

TEST(PackedMemory, GivesWhatThereIsToChunksAllOverThePass) {
  const std::vector<std::uint64_t> sizes = chunk_sizes();
  for (const std::uint64_t there : {sum(sizes) - 1, sum(sizes) * 2 / 3, sum(sizes) / 3}) {
    RecordingBackend backend;
    backend.host_bytes_left = there;

    const PackedMemory memory(from(backend), sizes, 8192);

    const std::vector<std::uint64_t> found = with_memory(memory, 40);
    std::uint64_t used = 0;
    for (const std::uint64_t c : found) used += sizes[c];
    EXPECT_EQ(memory.shortage(), "no more to pin");
    EXPECT_LE(used, there);
    EXPECT_GE(used, there * 3 / 4);
    EXPECT_GE(std::ranges::count_if(found, [](std::uint64_t c) { return c >= 30; }), 2);
    EXPECT_GE(std::ranges::count_if(found, [](std::uint64_t c) { return c < 10; }), 2);
    expect_apart(memory, sizes);
  }
}

TEST(PackedMemory, TakesSmallerBuffersWhereThereAreNoLargeOnes) {
  const std::vector<std::uint64_t> sizes = chunk_sizes();
  RecordingBackend backend;
  backend.max_buffer_bytes = 5000;

  const PackedMemory memory(from(backend), sizes, std::uint64_t{1} << 20);

  EXPECT_EQ(memory.shortage(), "");
  EXPECT_THAT(with_memory(memory, 40), testing::SizeIs(30));
  expect_apart(memory, sizes);
}

TEST(PackedMemory, NeedsNoneAtAll) {
  RecordingBackend backend;
  backend.host_bytes_left = 511;

  const PackedMemory none(from(backend), chunk_sizes(), 8192);
  const PackedMemory unasked(from(backend), std::vector<std::uint64_t>(5), 8192);

  EXPECT_THAT(with_memory(none, 40), testing::IsEmpty());
  EXPECT_EQ(none.shortage(), "no more to pin");
  EXPECT_EQ(unasked.shortage(), "");
  EXPECT_EQ(backend.buffers, 0);
}

}  // namespace
}  // namespace blco
