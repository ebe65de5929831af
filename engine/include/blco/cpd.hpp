// CP decomposition of a tensor that need not fit in memory.
#pragma once

#include <blco/memory_budget.hpp>
#include <blco/model.hpp>
#include <blco/tensor_file.hpp>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace blco {

enum class Device { automatic, cpu, cuda };
enum class Arithmetic { f64, f32 };  // of factors and MTTKRP; Gram, solve and fit are always f64

// Where the chunks are between passes, and what a pass reads.
struct CpdPlan {
  std::string device;
  int threads = 0;
  std::uint64_t chunk_count = 0;
  std::uint64_t decoded_chunks = 0;   // in host memory, ready to use
  std::uint64_t packed_chunks = 0;    // in host memory, as on disk
  std::uint64_t streamed_chunks = 0;  // read again in every pass
  std::uint64_t budget_bytes = 0;
  std::uint64_t planned_bytes = 0;        // of host memory, all told
  std::uint64_t minimum_bytes = 0;        // the least budget that would do
  std::uint64_t disk_bytes_per_pass = 0;  // read from the container in every pass but the first
};

struct SweepReport {
  int sweep = 0;  // from 1
  double fit = 0;
  double fit_change = 0;
  double seconds = 0;
  std::uint64_t bytes_read = 0;  // from the container during this sweep
};

struct CpdOptions {
  int rank = 16;
  int max_sweeps = 50;
  double tolerance = 1e-5;  // stop when the fit changes by less; 0: never
  std::uint64_t seed = 1;   // of the initial factors; with shape and rank it fixes them
  Device device = Device::automatic;
  Arithmetic arithmetic = Arithmetic::f64;
  int threads = 0;                    // up to 4096; 0: one per processor
  const CpdModel* initial = nullptr;  // start from these factors; its weights are not used
  std::function<void(const CpdPlan&)> on_plan = {};
  std::function<bool(const SweepReport&)> on_sweep = {};  // false: stop, keep this sweep's model
};

// Fits a rank-R CP model by alternating least squares (Kolda & Bader 2009, fig. 3.3), modes in order.
// Reads every chunk that does not stay in memory N times a sweep. Host memory stays under budget.host_bytes, the initial
// model and the one returned included.
// On one thread the model does not depend on the budget, bit for bit.
// Throws Error: invalid_argument (rank, initial model of another shape), out_of_memory (budget below the minimum, which
// the message names), corrupt (bad checksum, after reads in flight have drained), cuda and not_built (Device::cuda).
CpdModel fit_cpd(const TensorFile& tensor, const MemoryBudget& budget = {}, const CpdOptions& options = {});

// out[i_n, r] = sum over nonzeros of value * prod_{m != n} factors[m][i_m, r]; row-major I_n x rank.
// factors[m] is row-major I_m x rank; factors[mode] is not read and may be empty. Memory and errors as above.
std::vector<double> mttkrp(const TensorFile& tensor, std::span<const std::vector<double>> factors, int rank, int mode,
                           const MemoryBudget& budget = {}, const CpdOptions& options = {});

}  // namespace blco
