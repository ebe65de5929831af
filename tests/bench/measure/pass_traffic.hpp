// The bytes that a pass moves, by the model of CONTRIBUTING.md, "What bounds a pass".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/work/job.hpp"

namespace blco {

// The work of one pass over an order-N tensor at rank R: the MTTKRP of a mode, or a loss pass.
struct PassLoad {
  int mode = 0;  // -1: a loss pass to all modes
  int order = 1;
  int rank = 1;
  std::uint64_t factor_number_bytes = 8;  // per number of a factor
  std::uint64_t output_number_bytes = 8;
  std::uint64_t nnz = 0;
  std::uint64_t payload_bytes = 0;  // of all chunks
  int chunk_reads = 1;              // of each of them
  std::uint64_t link_bytes = 0;
  std::uint64_t disk_bytes = 0;
  std::uint64_t segments = 0;      // row additions to the output
  std::uint64_t factor_bytes = 0;  // of the matrices that are read
  std::uint64_t output_bytes = 0;
};

// The MTTKRP of each mode, by the job's plan.
std::vector<PassLoad> loads_of(const Job& job);
// A loss pass to all modes: it reads every chunk, and a nonzero's row of every factor, once.
PassLoad loss_load(std::span<const PassLoad> mttkrps);

// What a pass moves, per resource. Rows hit the last-level cache in the share of the matrices that it holds.
struct PassTraffic {
  double link_bytes = 0;
  double disk_bytes = 0;
  double memory_bytes = 0;
  double cache_bytes = 0;
  double additions = 0;  // atomic additions of a number to memory
};
PassTraffic traffic_of(const PassLoad& load, std::uint64_t cache_bytes);

// Most segments that `nnz` nonzeros in `rows` rows of the target mode can have: a frame adds to each row once, or once
// per nonzero, whichever is less.
std::uint64_t max_segments(std::uint64_t nnz, std::uint64_t rows);

}  // namespace blco
