// The processor's caches, and how many bytes of each a thread may count on.
#pragma once

#include <cstdint>
#include <filesystem>

namespace blco {

// A cache, and how many processors share it. 0 bytes: there is none, or the system does not tell.
struct CacheLevel {
  std::uint64_t bytes = 0;
  int sharers = 1;
};

struct HostCaches {
  CacheLevel l1;  // data
  CacheLevel l2;
  CacheLevel l3;
};

// The caches of processor 0, as Linux describes them in `folder`, else by sysconf. An unknown L1 or L2 cache is taken
// to be as small as any.
HostCaches find_host_caches(const std::filesystem::path& folder = "/sys/devices/system/cpu/cpu0/cache");

// What a thread loads again and again to measure a level, in bytes, where `threads` threads do so: half of its share of
// the cache.
std::uint64_t l1_set_bytes(const HostCaches& caches, int threads);
std::uint64_t l2_set_bytes(const HostCaches& caches, int threads);
// But no more than eight times the share of the L2 cache, which misses that well enough: a virtual machine may be told
// of an L3 cache of which it gets a small part. An L3 cache that holds only what L2 caches drop may be so small that
// half a share fits the L2 cache; then three quarters of both shares. 0: even that is little more than the L2 cache, so
// the L3 cache is no level of its own.
std::uint64_t l3_set_bytes(const HostCaches& caches, int threads);
// Four times the L3 caches that `threads` threads fill, shared out among them; more where these are small, but no more
// than `most_bytes` for all threads.
std::uint64_t memory_set_bytes(const HostCaches& caches, int threads, std::uint64_t most_bytes);

}  // namespace blco
