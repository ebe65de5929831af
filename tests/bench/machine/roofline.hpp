// The cache-aware roofline of a machine (Ilic, Pratas and Sousa, IEEE CAL 2014): what it computes at most per byte that
// its cores request, where these bytes come from one level of the memory hierarchy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace blco {

// One kernel's run on one mode. Bytes are all that its loads and stores request, whatever is cached.
struct RooflinePoint {
  std::string format;
  int mode = 0;
  double flops = 0;
  double bytes = 0;
  double seconds = 0;
  double set_bytes = 0;      // of what it reads and writes, each once; 0: not counted
  std::string peak = "f64";  // of its multiply-adds

  // Each is 0 where its divisor is not above 0.
  double intensity() const;         // flops per byte
  double flops_per_second() const;  // 1e9 of them are a GFLOP/s
  double bytes_per_second() const;
};

// A level of the memory hierarchy, by loads from a set of `bytes` for all threads together.
struct RooflineLevel {
  std::string name;  // "L1", "L2", "L3", "memory"; on a GPU "shared memory", "L2", "device memory"
  std::uint64_t bytes = 0;
  double bytes_per_second = 0;
};

// A fused multiply-add counts as two flops.
struct RooflinePeak {
  std::string name;  // "f64" or "f32"
  double flops_per_second = 0;
};

// What a GPU's warps do at once, of all lanes: atomic additions of f64 to rows that all add to, matches of so many
// values (MATCH.ANY), ballots, loads of one word of shared memory by all lanes.
struct WarpSpeed {
  std::string name;
  double per_second = 0;
};

// What binds a point: a level or a peak, and the share of the point's time that this takes at the measured speed.
struct RooflineLimit {
  std::string name;
  double share = 0;
};

struct Roofline {
  std::string device;                 // the GPU's or the processor's name
  int threads = 0;                    // on the CPU; 0 on a GPU
  std::vector<RooflineLevel> levels;  // the fastest kind of memory first
  std::vector<RooflinePeak> peaks;
  std::vector<WarpSpeed> warps;  // of a GPU

  // The last of the levels that is fast enough for the point: its bytes come on average from no farther away. nullptr:
  // none is.
  const RooflineLevel* level_above(const RooflinePoint& point) const;
  // Of three limits the largest: the flops by the peak; all bytes by the fastest level; the bytes of the set, where
  // they were counted, by the first level measured with as many, else by the last. Requires at least one level, and
  // time.
  RooflineLimit limit_share(const RooflinePoint& point) const;
};

struct RooflineOptions {
  std::vector<std::string> devices = {};  // cpu or cuda; empty: a GPU if there is one, else the CPU
  int threads = 0;                    // 1 to 4096; 0: one per processor
  int repeats = 7;                    // of which the best counts
  double seconds = 0.03;              // of each repeat, at least
  // CPU: most memory for the set that the caches do not hold, which is four times what they hold at best. 0: 2 GiB, or
  // a quarter of the available memory if that is less.
  std::uint64_t memory_bytes = 0;
};

// Measures loads alone, as most of what an MTTKRP requests is loaded: on all threads at the same time, each with a set
// of its own of half its share of L1 or L2. For L3 the set is smaller than half a share where that exceeds eight times
// L2, since machines report caches that they share with others; RooflineLevel::bytes says what was loaded. An L3 cache
// that is no larger than the L2 caches is left out.
// Throws Error: invalid_argument, out_of_memory, cuda and not_built (no GPU).
Roofline measure_roofline(const RooflineOptions& options = {});

}  // namespace blco
