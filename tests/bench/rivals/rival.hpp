// Formats of other systems, built to be measured beside ours on the same tensor, factors, precision and threads.
//
// Rivals hold everything decoded, with 32-bit indices, outside any memory budget. Only benchmarks ask for them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "blco/executor.hpp"
#include "blco/kernel_choice.hpp"
#include "tests/bench/rivals/natural_sort.hpp"

namespace blco {

inline constexpr int most_rival_modes = 8;

// Helal et al., ICS 2021 (alto); Phipps and Kolda, SISC 2019 (coo_atomic, coo_single, coo_duplicated, coo_perm:
// GenTen); Liu et al., CLUSTER 2017 (fcoo); Smith and Karypis, 2015 (csf_one, csf_all: SPLATT); Nisa et al., IPDPS 2019
// (b_csf, hb_csf) and SC 2019 (mm_csf). coo_line is coo_atomic with the nonzeros in line order instead of natural
// order: the locality is ours.
enum class RivalKind {
  alto,
  coo_atomic,
  coo_line,
  coo_single,
  coo_duplicated,
  coo_perm,
  fcoo,
  csf_one,
  csf_all,
  b_csf,
  hb_csf,
  mm_csf,
};

std::span<const RivalKind> every_rival();
// As on the command line, such as "csf-all".
const char* name_of(RivalKind kind);

// A tensor without duplicates, in natural order: sorted by mode 0, then mode 1, and so on.
using RivalTensor = CoordinateLists;

// What the papers tune. A kind ignores what does not concern it.
struct RivalKnobs {
  std::uint32_t fiber_limit = 128;  // nonzeros of a fiber segment in b_csf, hb_csf and mm_csf; 0: no limit
  bool every_leaf = false;          // mm_csf: any mode may be the leaf; else the orientations of the authors' code
  int thread_nonzeros = 16;         // fcoo: nonzeros of a GPU's thread, at least 1; on a CPU, of a group
  int block_threads = 128;          // GPU
  int warps_per_fiber = 4;          // GPU, mm_csf
};

class Rival;

struct RivalOptions {
  int rank = 16;
  Precision precision = Precision::f64;  // f64 or f32
  bool on_device = false;                // on the current CUDA device, else on the executor's threads
  RivalKnobs knobs = {};
  // Use factors and output of this rival, which has the same shape, rank, precision and device; null: own ones.
  const Rival* sibling = nullptr;
};

// Bytes, summed over all copies of the tensor.
struct RivalStorage {
  std::uint64_t index_bytes = 0;  // indices, pointers and flags
  std::uint64_t value_bytes = 0;
  std::uint64_t auxiliary_bytes = 0;  // what a kernel needs beside: permutations, private outputs, row lists
  int copies = 1;                     // of the tensor
};

// One tree, or one list of coordinates or lines, and how many nodes it has on each level: slices first, nonzeros last.
struct RivalPart {
  std::string format;                // "csf", "csl", "coo" or "alto"
  std::vector<int> modes;            // in the order of the levels; of fcoo the target first
  std::vector<std::uint64_t> nodes;  // of a list: the number of nonzeros alone
};

// What one MTTKRP, or another product, does, whatever is cached.
struct RivalWork {
  double flops = 0;
  // Requested by loads and stores: indices, values, rows of factors and of the output. On the CPU indices and values
  // count once, though a rank above 64 makes a kernel read them again.
  double bytes = 0;
  double set_bytes = 0;  // of what it reads and writes, each once; 0: not counted
};

// One format, loaded with one tensor. Calls come from one thread.
class Rival {
 public:
  virtual ~Rival() = default;

  virtual RivalStorage storage() const = 0;
  virtual std::vector<RivalPart> parts() const = 0;
  virtual RivalWork work(int mode) const = 0;

  // Sets factor `mode`: I_n x R, row-major.
  virtual void load_factor(int mode, std::span<const double> rows) = 0;
  // Zeroes the output, I_n x R, and adds value * prod_{m != n} A_m[i_m] to row i_n of it over all nonzeros. Returns
  // when the output is complete.
  virtual void mttkrp(int mode) = 0;
  // Reads the last output, row-major.
  virtual void read_output(std::span<double> rows) const = 0;

  // Of the construction, seconds spent on copies to the device.
  virtual double upload_seconds() const { return 0; }
};

// Why there is no such rival: a sentence, or an empty string if there is one.
std::string why_no_rival(RivalKind kind, std::span<const std::uint64_t> shape, std::uint64_t nnz,
                         const RivalOptions& options);

// Settings of the knobs that the papers try, the usual one first.
std::vector<RivalKnobs> knobs_to_try(RivalKind kind, bool on_device);

// Memory that a rival of any kind takes at most, also while it is built.
std::uint64_t most_rival_bytes(std::span<const std::uint64_t> shape, std::uint64_t nnz, int rank, int threads);

// The rival keeps copies of what it needs of `tensor`; `executor` must outlive it and also builds it. Throws Error:
// invalid_argument with the words of why_no_rival; out_of_memory, cuda.
std::unique_ptr<Rival> make_rival(RivalKind kind, const RivalTensor& tensor, const RivalOptions& options,
                                  Executor& executor);

}  // namespace blco
