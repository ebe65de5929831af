// How fast MTTKRP is on a tensor, and what bounds it.
#pragma once

#include <blco/cpd.hpp>
#include <blco/memory_budget.hpp>
#include <blco/tensor.hpp>
#include <blco/tensor_file.hpp>
#include <vector>

namespace blco {

struct BenchmarkOptions {
  int repeats = 5;  // of each mode's pass
  // Also run the loop of ALTO (Helal et al., ICS 2021) in memory: line indices, coordinates by pext, order and rank
  // compiled in, one output per thread. In f64, outside of the memory budget. There is one for orders 3 to 5 and ranks
  // 16, 32 and 64.
  bool baseline = false;
};

struct PassMeasurement {
  int mode = 0;
  double seconds = 0;  // median
  double min_seconds = 0;
  double nonzeros_per_second = 0;
  double baseline_min_seconds = 0;  // 0: there is no baseline
  // What the pass moves: payloads over the link and from the container, and, by the model of PassSeconds, through
  // memory.
  double link_bytes = 0;
  double disk_bytes = 0;
  double memory_bytes = 0;
  double cache_bytes = 0;  // rows, indices and values, by the same model
  // Of what the link, memory and the cache were measured to move in as many seconds.
  double link_share = 0;
  double memory_share = 0;
  double cache_share = 0;
};

struct BenchmarkReport {
  CpdPlan plan;
  double link_bytes_per_second = 0;    // of a large copy from pinned memory; 0 on the CPU
  double memory_bytes_per_second = 0;  // of a large copy: bytes read and bytes written
  double cache_bytes_per_second = 0;   // on the CPU: of copies within the second cache; 0 on a GPU
  std::vector<PassMeasurement> passes;

  // Least times of all modes together, over those of the baseline; 0 without one.
  double ratio_to_baseline() const;
  // Nonzeros per second, geometric mean over the modes.
  double mean_speed() const;
};

// Runs the MTTKRP of every mode as often as asked (after passes that bring the resident chunks to their place), with
// factors of uniform numbers. The budgets decide what is streamed. Of the options rank, device, precision, resolution,
// seed, threads and trace count. Throws as fit_cpd does, and Error{invalid_argument} for repeats below 1.
BenchmarkReport benchmark_mttkrp(const Tensor& tensor, const BenchmarkOptions& benchmark = {},
                                 const MemoryBudget& budget = {}, const CpdOptions& options = {});

}  // namespace blco
