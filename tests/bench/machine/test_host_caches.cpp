// Caches as described by files like those of Linux, and what a thread may count on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/bench/machine/host_caches.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

constexpr std::uint64_t kibi = 1024;
constexpr std::uint64_t mebi = 1024 * kibi;

struct CacheFiles {
  std::string level;
  std::string type;
  std::string size;
  std::string sharers;
};

void describe_caches(const std::filesystem::path& folder, const std::vector<CacheFiles>& caches) {
  for (std::size_t i = 0; i < caches.size(); ++i) {
    const std::filesystem::path of = folder / ("index" + std::to_string(i));
    std::filesystem::create_directories(of);
    std::ofstream(of / "level") << caches[i].level << '\n';
    std::ofstream(of / "type") << caches[i].type << '\n';
    std::ofstream(of / "size") << caches[i].size << '\n';
    std::ofstream(of / "shared_cpu_list") << caches[i].sharers << '\n';
  }
}

// Two threads per core, eight cores on an L3 cache.
HostCaches usual_caches() { return {{32 * kibi, 2}, {1 * mebi, 2}, {64 * mebi, 16}}; }

TEST(HostCaches, ReadsWhatLinuxDescribes) {
  const TemporaryFolder folder;
  describe_caches(folder / "cache", {{"1", "Data", "48K", "0,56"},
                                     {"1", "Instruction", "16K", "0,56"},
                                     {"2", "Unified", "2048K", "0,56"},
                                     {"3", "Unified", "105M", "0-27,56-83"}});

  const HostCaches found = find_host_caches(folder / "cache");

  EXPECT_EQ(found.l1.bytes, 48 * kibi);
  EXPECT_EQ(found.l1.sharers, 2);
  EXPECT_EQ(found.l2.bytes, 2 * mebi);
  EXPECT_EQ(found.l3.bytes, 105 * mebi);
  EXPECT_EQ(found.l3.sharers, 56);
}

TEST(HostCaches, MakesSenseWithoutOrOfWrongFiles) {
  const TemporaryFolder folder;
  describe_caches(folder / "wrong", {{"1", "Data", "many", "9-2,-,x"}, {"0", "", "", ""}, {"7", "Data", "1G", "0"}});

  for (const char* const name : {"absent", "wrong"}) {
    const HostCaches found = find_host_caches(folder / name);

    EXPECT_GE(found.l1.bytes, 32 * kibi);
    EXPECT_GE(found.l2.bytes, 256 * kibi);
    EXPECT_GE(found.l1.sharers, 1);
    EXPECT_GE(found.l3.sharers, 1);
    EXPECT_GE(l2_set_bytes(found, 4), l1_set_bytes(found, 4));
  }
}

TEST(HostCaches, SharesACacheAmongItsThreads) {
  const HostCaches caches = usual_caches();

  EXPECT_EQ(l1_set_bytes(caches, 1), 16 * kibi);
  EXPECT_EQ(l1_set_bytes(caches, 16), 8 * kibi);
  EXPECT_EQ(l2_set_bytes(caches, 16), 256 * kibi);
  EXPECT_EQ(l3_set_bytes(caches, 16), 2 * mebi);
  EXPECT_EQ(l3_set_bytes(caches, 64), 2 * mebi);
}

TEST(HostCaches, MissesTheL2CacheWhereItMeasuresTheL3Cache) {
  // An L3 cache of 15/8 of the L2 caches, of which it holds what they drop: 3/4 of 2 + 1.875 MiB.
  const HostCaches small{{48 * kibi, 1}, {2 * mebi, 1}, {105 * mebi, 56}};
  EXPECT_EQ(l3_set_bytes(small, 56), (2 * mebi + 105 * mebi / 56) / 4 * 3);
  // A virtual machine with two threads that is told of a whole processor's.
  const HostCaches boasted{{48 * kibi, 1}, {2 * mebi, 1}, {260 * mebi, 2}};
  EXPECT_EQ(l3_set_bytes(boasted, 2), 16 * mebi);

  EXPECT_EQ(l3_set_bytes({{32 * kibi, 1}, {1 * mebi, 1}, {0, 1}}, 4), 0U);
  EXPECT_EQ(l3_set_bytes({{32 * kibi, 1}, {4 * mebi, 1}, {4 * mebi, 4}}, 4), 0U);
}

TEST(HostCaches, TakesFourTimesAllL3CachesForMemory) {
  const HostCaches caches = usual_caches();

  // Two L3 caches, and the L2 caches of as many threads at most.
  EXPECT_EQ(memory_set_bytes(caches, 32, 4096 * mebi), 4 * (2 * 64 + 32 * 1) * mebi / 32);
  EXPECT_EQ(memory_set_bytes(caches, 32, 64 * mebi), 2 * mebi);
  EXPECT_EQ(memory_set_bytes({{32 * kibi, 1}, {256 * kibi, 1}, {}}, 2, 4096 * mebi), 128 * mebi);
}

}  // namespace
}  // namespace blco
