// How long a pass takes by what it moves: the model behind a dry run.
#pragma once

#include <blco/cpd.hpp>
#include <cstdint>

namespace blco {

// What one pass does, of mode n of an order-N tensor at rank R.
struct PassLoad {
  int mode = 0;
  int order = 1;
  int rank = 1;
  std::uint64_t number_bytes = 8;  // of a factor's or the output's number
  std::uint64_t nnz = 0;
  std::uint64_t payload_bytes = 0;  // of all chunks
  std::uint64_t link_bytes = 0;
  std::uint64_t disk_bytes = 0;
  std::uint64_t segments = 0;      // additions of a row to the output
  std::uint64_t factor_bytes = 0;  // of the matrices that are read
  std::uint64_t output_bytes = 0;
};

// What a pass moves, by resource. Rows found in the last-level cache: the share of the matrices that it holds.
struct PassTraffic {
  double link_bytes = 0;
  double disk_bytes = 0;
  double memory_bytes = 0;
  double cache_bytes = 0;
  double additions = 0;  // of a number to memory
};
PassTraffic traffic_of(const PassLoad& load, std::uint64_t cache_bytes);

// The traffic over the speeds of the GPU.
PassSeconds estimate_pass(const PassLoad& load, const DeclaredGpu& gpu);

// The most segments that chunks with `nnz` nonzeros in `rows` rows of the target mode can have: a frame adds to a row
// once, or for each of its nonzeros.
std::uint64_t max_segments(std::uint64_t nnz, std::uint64_t rows);

}  // namespace blco
