// CP decomposition of a tensor that need not fit in memory.
#pragma once

#include <blco/memory_budget.hpp>
#include <blco/model.hpp>
#include <blco/progress.hpp>
#include <blco/tensor.hpp>
#include <blco/tensor_file.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace blco {

enum class Device { automatic, cpu, cuda };

// A GPU to plan for that need not be here, and the speeds by which times are estimated. The defaults are those of a
// large card behind PCIe 4 x16.
struct DeclaredGpu {
  std::uint64_t memory_bytes = 0;
  int multiprocessors = 132;
  std::uint64_t l2_bytes = std::uint64_t{50} << 20;
  double link_bytes_per_second = 25e9;
  double disk_bytes_per_second = 3e9;
  double memory_bytes_per_second = 2e12;
  double cache_bytes_per_second = 5.5e12;
  double additions_per_second = 1e11;  // atomic, to memory
};

// Seconds that one pass takes of each resource; the longest binds if all overlap. From the formula of Nguyen et al.'s
// kind: bytes per nonzero over bandwidths, the share of factor rows found in cache being that which fits it, and one
// segment per nonzero or per row of a frame's bounds, whichever is less.
struct PassSeconds {
  int mode = 0;
  double link = 0;
  double disk = 0;
  double memory = 0;
  double cache = 0;
  double additions = 0;

  double longest() const;
  const char* bound() const;  // the name of the longest
};

// Where the chunks are between passes, and what a pass reads.
struct CpdPlan {
  std::string device;
  std::string device_note;  // why the CPU computes where a GPU was looked for; else empty
  int threads = 0;
  int lanes = 0;
  std::uint64_t chunk_count = 0;
  std::uint64_t device_chunks = 0;    // in device memory, as on disk
  std::uint64_t decoded_chunks = 0;   // in host memory, ready to use
  std::uint64_t packed_chunks = 0;    // in host memory, as on disk
  std::uint64_t streamed_chunks = 0;  // read again in every pass
  std::uint64_t budget_bytes = 0;
  std::uint64_t planned_bytes = 0;        // of host memory, all told
  std::uint64_t minimum_bytes = 0;        // the least budget that would do
  std::uint64_t disk_bytes_per_pass = 0;  // read from the container in every pass but the first
  // Whether memory holds what a sweep overwrites: then a job that is cancelled, or out of time, ends at once with the
  // last finished sweep; else it finishes the sweep in progress.
  bool stops_within_sweep = false;
  // Zero on the CPU.
  std::uint64_t device_budget_bytes = 0;
  std::uint64_t device_planned_bytes = 0;
  std::uint64_t device_minimum_bytes = 0;
  std::uint64_t resident_bytes = 0;       // of device_planned_bytes, those of chunks
  std::uint64_t link_bytes_per_pass = 0;  // payloads sent to the device in every pass but the first
  std::vector<PassSeconds> passes;        // per mode; only from plan_cpd for a declared GPU
};

struct SweepReport {
  int sweep = 0;  // from 1
  double fit = 0;
  double fit_change = 0;
  double seconds = 0;
  std::uint64_t bytes_read = 0;  // from the container during this sweep
  // Per mode, the numerical rank of the R x R normal equations. Below R, columns were linearly dependent and the update
  // took the pseudo-inverse: a smaller rank would fit as well.
  std::vector<int> system_ranks;
};

struct CpdOptions {
  int rank = 16;            // 0: that of `initial` or `resume`
  int max_sweeps = 50;      // those of a resumed fit included
  double tolerance = 1e-5;  // stop when the fit changes by less; 0: never
  std::uint64_t seed = 1;   // of the initial factors; with shape and rank it fixes them
  Device device = Device::automatic;
  Resolution resolution = Resolution::automatic;
  Precision precision = Precision::f64;
  int threads = 0;  // up to 4096; 0: one per processor
  // The same bits from any number of threads under any memory budget. Each output row is then left to one thread, which
  // takes its nonzeros in their order, also where private copies of the output would be faster: on two threads at rank
  // 16, with chunks in memory, MTTKRP takes 1.4 to 1.6 times as much processor time. On the CPU only:
  // Device::automatic is the CPU, and Device::cuda, or a declared GPU, Error{invalid_argument}.
  bool deterministic = false;
  const CpdModel* initial = nullptr;  // start from these factors; its weights are not used
  // A model file (a checkpoint, or any other) to go on from: its factors, its seed, its sweeps. The numbers are those
  // of a fit that never stopped; on one CPU thread, or if deterministic, bit for bit. One that had come to its end, by
  // tolerance or sweeps, is returned as it is.
  std::filesystem::path resume = {};
  // Where the model is saved after every `checkpoint_sweeps` sweeps, and when the fit ends for whatever reason; empty:
  // nowhere. The file is replaced only by a whole one. Where it cannot be written the fit ends with Error{io}, except
  // at its end: then the model is returned, and the file stays as it was.
  std::filesystem::path checkpoint = {};
  int checkpoint_sweeps = 1;
  double time_limit_seconds = 0;     // from the call on; 0: none
  std::filesystem::path trace = {};  // a Chrome trace (for Perfetto) of reads, copies and kernels; empty: none
  std::function<void(const CpdPlan&)> on_plan = {};
  std::function<bool(const SweepReport&)> on_sweep = {};  // false: stop, keep this sweep's model
  ProgressCallback on_progress = {};                      // within sweeps; false: stop, keep the last finished sweep
};

// Fits a rank-R CP model by alternating least squares (Kolda & Bader 2009, fig. 3.3), modes in order. A fit that is
// cancelled or out of time gives the model of its last finished sweep.
// Reads every chunk that does not stay in memory N times a sweep. Host memory stays under budget.host_bytes, the
// initial model and the one returned included; what the CUDA driver takes for itself is not counted. On one CPU thread
// the model does not depend on the budget, bit for bit, nor on the threads if options.deterministic; else the threads
// change it by rounding, and on a GPU sums are added in no fixed order. Throws Error:
// invalid_argument (rank, initial or resumed model of another shape), out_of_memory (budget below the minimum, which
// the message names), corrupt (bad checksum, after reads in flight have drained), io (trace, checkpoint, resumed
// model), cancelled (before the first sweep was done), cuda and not_built (Device::cuda).
CpdModel fit_cpd(const Tensor& tensor, const MemoryBudget& budget = {}, const CpdOptions& options = {});

// The plan that fit_cpd would make, without a fit: `on_plan` is not called. With `declared` it is made for that GPU,
// and has the estimated times. Throws as fit_cpd does.
CpdPlan plan_cpd(const Tensor& tensor, const MemoryBudget& budget = {}, const CpdOptions& options = {},
                 const DeclaredGpu* declared = nullptr);

// out[i_n, r] = sum over nonzeros of value * prod_{m != n} factors[m][i_m, r]; row-major I_n x rank.
// factors[m] is row-major I_m x rank, of finite numbers; factors[mode] is not read and may be empty. Memory and errors
// as above. Of the options device, precision, resolution, threads, deterministic and trace count.
std::vector<double> mttkrp(const Tensor& tensor, std::span<const std::vector<double>> factors, int rank, int mode,
                           const MemoryBudget& budget = {}, const CpdOptions& options = {});

}  // namespace blco
