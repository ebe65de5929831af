// Measures the MTTKRP of other sparse tensor formats beside ours: on one tensor, with the same factors, precision,
// threads and device.
#pragma once

#include <blco/cpd.hpp>
#include <blco/tensor.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/gpu_kernels.hpp"

namespace blco {

// Ours first: "ours" (chunks stay as near to the kernels as memory allows), "ours-packed" (packed, in host memory),
// "ours-streamed" (read from the container in every pass). Then the others, such as "csf-all": Helal et al., ICS 2021
// (alto); Phipps and Kolda, SISC 2019 (coo-*); Liu et al., CLUSTER 2017 (fcoo); Smith and Karypis, IA3 2015 (csf-*);
// Nisa et al., IPDPS 2019 (b-csf, hb-csf) and SC 2019 (mm-csf). coo-line is coo-atomic in line order.
std::vector<std::string> format_names();

// MTTKRP, a product with the matrix of one mode, or one with those of all others, in every combination of columns.
enum class TensorProduct { mttkrp, ttm, ttmc };

struct FormatOptions {
  std::vector<std::string> formats = {};         // of format_names(); empty: all
  int repeats = 25;                              // passes of each mode
  KernelVariant variant = KernelVariant::usual;  // of ours, on a GPU
  ConflictResolution conflict_resolution = ConflictResolution::automatic;  // likewise
  bool tune = true;  // build other formats with each setting that their papers try; take the best
};

// Repeated passes of one mode.
struct FormatPass {
  int mode = 0;
  double seconds = 0;  // median of the repeats
  double min_seconds = 0;
  // Of one pass: additions and multiplications that the format does, and bytes that its loads and stores request,
  // cached or not, without zeroing the output. Ours: an upper bound, with one addition to the output per row and frame
  // of 256 nonzeros.
  double flops = 0;
  double bytes = 0;
  double set_bytes = 0;      // as in RivalWork
  double nominal_flops = 0;  // by which formats are compared, whatever they do: of an MTTKRP N * M * R
  // Of an entry of the output, relative to the sum of the absolute products in it; the largest. Compared with a loop
  // over coordinates in f64.
  double error = 0;
};

struct MeasuredFormat {
  std::string name;
  std::string refusal = {};   // why it was not measured; else empty
  std::string settings = {};  // the best of those tried, in words
  std::uint64_t index_bytes = 0;
  std::uint64_t value_bytes = 0;
  std::uint64_t auxiliary_bytes = 0;  // private outputs, permutations, arranged copies
  int copies = 1;                     // of the tensor
  double build_seconds = 0;           // from coordinates in memory, in natural order; without copies to the device
  std::vector<FormatPass> passes = {};

  double sweep_seconds() const;  // sum of min_seconds
  double build_sweeps() const;   // sweeps that take as long as building
  double largest_error() const;
};

struct FormatReport {
  TensorProduct product = TensorProduct::mttkrp;
  std::string device;
  std::string device_note;  // why the CPU is used although a GPU was looked for; else empty
  int threads = 0;
  int rank = 0;
  Precision precision = Precision::f64;
  std::vector<std::uint64_t> shape;
  std::uint64_t nnz = 0;
  // Of errors. f64: 1e-12; f32: 1e-5, or 2^-22 times the root of the most nonzeros of a row, if that is more.
  double tolerance = 0;
  std::vector<MeasuredFormat> formats;

  bool is_right(const MeasuredFormat& format) const { return format.largest_error() <= tolerance; }
};

// Repeats of all formats alternate, so that other load on the machine slows all alike; each timed pass follows an
// untimed one of the mode before, as in a sweep. Reads the whole tensor into memory, outside the budget, which is for
// our format alone; formats that may exceed 80% of the available memory are refused in the report. Uses these
// options: rank, seed, compute (precision f64 or f32). Throws Error as fit_cpd does, and invalid_argument for an
// unknown format, repeats below 1, mixed precision, or 2^32 nonzeros and more.
FormatReport benchmark_formats(const Tensor& tensor, const FormatOptions& formats = {}, const CpdOptions& options = {});

}  // namespace blco
