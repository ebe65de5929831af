// Tucker decomposition of a tensor that may be larger than memory: X is approximately a small core G times a matrix
// with orthonormal columns in each mode, X ~ G x_1 U_1 ... x_N U_N (Kolda & Bader 2009, section 4). Cells of X without
// a nonzero count as zero.
#pragma once

#include <blco/compute.hpp>
#include <blco/error.hpp>
#include <blco/model.hpp>
#include <blco/output_claims.hpp>
#include <blco/plan.hpp>
#include <blco/progress.hpp>
#include <blco/sweep.hpp>
#include <blco/tensor.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace blco {

// How a mode's matrix U_n is updated from the others', Y being the unfolding of X times these, I_n x K with K the
// product of the other ranks.
//   hooi   the leading left singular vectors of Y, the best for the others (De Lathauwer, De Moor & Vandewalle, On the
//          best rank-1 and rank-(R1, ..., RN) approximation of higher-order tensors, SIMAX 2000). Y is held in memory.
//   hoqri  the orthonormal factor of Y times the transposed unfolding of the core (Sun & Huang, HOQRI: Higher-order QR
//          iteration for scalable Tucker decomposition, ICASSP 2022). Y is made twice, a slab of columns at a time. The
//          fit never falls, but takes more sweeps.
//   automatic  hooi where the memory budget holds Y, else hoqri; with Compute::deterministic always hooi.
enum class TuckerMethod { automatic, hooi, hoqri };

const char* to_string(TuckerMethod method);

struct CoreEntry {
  std::vector<std::uint64_t> index;  // per mode, the column, from 0
  double value = 0;
};

// In a model that fit_tucker returned, the core is all-orthogonal and ordered: its slices along a mode are orthogonal
// to each other, and of falling norm (De Lathauwer, De Moor & Vandewalle, A multilinear singular value decomposition,
// SIMAX 2000, theorem 2). The largest number of each column is positive.
struct TuckerModel {
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> ranks;          // per mode
  std::vector<double> core;                  // R_1 x ... x R_N, row-major: the last mode's index varies fastest
  std::vector<std::vector<double>> factors;  // per mode, row-major I_n x R_n with orthonormal columns
  TuckerMethod method = TuckerMethod::hooi;
  std::vector<double> fit_history;  // after each sweep: 1 - |X - model| / |X|
  std::vector<std::string> mode_names;
  std::vector<Labels> labels = {};  // per mode one label per coordinate, or none; empty: no mode has labels
  std::uint64_t seed = 0;
  StopReason stop_reason = StopReason::sweeps;
  std::uint64_t tensor_nnz = 0;  // of the tensor that was fitted
  double tensor_sum_of_squares = 0;

  double fit() const { return fit_history.empty() ? 0.0 : fit_history.back(); }
  std::size_t sweeps() const { return fit_history.size(); }

  // What the model says of a cell: an index per mode, from 0. Throws Error{invalid_argument} for another number of
  // them, or one outside the shape.
  double value(std::span<const std::uint64_t> cell) const;
  // The `count` entries of the core of largest magnitude, by falling magnitude, then rising place; without zeros.
  std::vector<CoreEntry> top_of_core(std::size_t count) const;
  // Same of a column of a mode's matrix. Throws Error{invalid_argument} for one that the model does not have.
  std::vector<FactorEntry> top(std::size_t mode, std::size_t column, std::size_t count) const;
};

// The initial matrices: orthonormalised normal random numbers, or the leading left singular vectors of the mode's
// unfolding times up to 64 random vectors, a range finder that takes a pass per mode (Halko, Martinsson & Tropp,
// Finding structure with randomness, SIAM Review 2011, section 4.1; the vectors are products of normal ones of each
// other mode).
enum class TuckerStart { random, nvecs };

struct TuckerPlan {
  std::vector<int> ranks = {};
  TuckerMethod method = TuckerMethod::hooi;  // never automatic
  std::uint64_t passes_per_sweep = 0;
  CpdPlan plan = {};
};

struct TuckerOptions {
  TuckerMethod method = TuckerMethod::automatic;
  // Per mode, at most its length and the product of the other ranks. One number: for all modes, where
  // that is possible.
  std::vector<int> ranks;
  // Above 0: ranks are found for which |X - model| / |X| is at most this. `ranks` are where the search starts; empty: the
  // most up to 8 of each mode with a core of 4096 numbers that the budget holds. They double while three sweeps do not
  // meet the error; then the core loses slices as far as the error allows, and sweeps and cuts alternate (Xiao & Yang, A
  // rank-adaptive higher-order orthogonal iteration algorithm for truncated Tucker decomposition, arXiv 2110.12564). A
  // fit that ends before, by `max_sweeps`, a stop, or where the budget does not hold the next ranks (`on_last_ranks`),
  // may have a larger error. on_plan is called for each set of ranks. Without `checkpoint` and `resume`; at least 1e-6
  // if precision is f64, else 0.001: the square of the error is a difference of sums of squares, whose rounding hides
  // smaller ones.
  double max_error = 0;
  int max_sweeps = 50;
  double tolerance = 1e-5;  // stop when a sweep changes the fit by less; 0: never
  std::uint64_t seed = 1;   // of the initial matrices
  TuckerStart start = TuckerStart::random;
  // Starts from these matrices instead, of the same shape and ranks.
  const TuckerModel* initial = nullptr;
  // A file (a checkpoint or a saved model) to continue from: its matrices, core, ranks, seed, method and sweeps.
  // `ranks` and `method` are left out or the same. From a checkpoint the numbers are those of a fit that never stopped,
  // bit for bit on one CPU thread or with Compute::deterministic if the plan is the same; from a saved model up to
  // rounding. A fit that is already at its end is returned as it is.
  std::filesystem::path resume = {};
  // As those of CpdOptions.
  std::filesystem::path checkpoint = {};
  int checkpoint_sweeps = 1;
  std::filesystem::path output = {};
  const OutputClaims* claims = nullptr;
  Compute compute = {};
  double time_limit_seconds = 0;                                    // counted from the call; 0: no limit
  std::function<void(const TuckerPlan&)> on_plan = {};              // called once, before the first sweep
  std::function<bool(const SweepReport&)> on_sweep = {};            // false: stop and keep this sweep's model
  std::function<void(const CheckpointReport&)> on_checkpoint = {};  // called after every attempt to save
  // Called where a search for ranks ends before the next ones, with the reason and the budget that they take; the
  // model so far is returned, as `unfinished`.
  std::function<void(const Error&)> on_last_ranks = {};
  ProgressCallback on_progress = {};  // called within sweeps; false: stop, keep the last sweep
};

// The ranks of each mode that `options.ranks` stand for. Throws Error{invalid_argument} for ranks that do not suit.
std::vector<int> ranks_of(const TuckerOptions& options, const std::vector<std::uint64_t>& shape);

// The plan that fit_tucker would make, without fitting. Throws Error as that does.
TuckerPlan plan_tucker(const Tensor& tensor, const TuckerOptions& options);

// Fits a Tucker model, modes in order, on the device that Compute names. For hooi on one device a pass computes all of
// Y, if there is room: in host memory for Y twice, or, on a GPU, in its memory for Y once. Else each pass is an MTTKRP
// with up to 64 of its columns. A pass reads the chunks that do not stay in memory. Singular vectors are computed on
// the CPU from triangular factors, so that small singular values keep their digits. Memory stays under
// Compute::memory, which covers Y and the returned model. Throws Error: invalid_argument (ranks or an initial model
// that do not suit; a tensor of zeros), out_of_memory (budget below the minimum), corrupt, io, cancelled (before the
// first sweep was finished), cuda and not_built (a GPU of Compute::devices).
TuckerModel fit_tucker(const Tensor& tensor, const TuckerOptions& options);

// Saves as HDF5. Replaces `path` only when the new file is complete. Throws Error{io}, also if another job is writing
// the file; `claims` are those of the caller.
void save(const TuckerModel& model, const std::filesystem::path& path, const OutputClaims* claims = nullptr);

// Throws Error: io, invalid_argument (not a Tucker model), corrupt.
TuckerModel load_tucker(const std::filesystem::path& path);

// Per mode, the principal angles between the spaces that the columns of the two models span, in radians and rising, as
// many as the smaller one has columns: 0 where both have a direction in common. Throws Error{invalid_argument} for
// models of other shapes, or other labels where both have them.
std::vector<std::vector<double>> principal_angles(const TuckerModel& first, const TuckerModel& second);

// True if the file is a Tucker model. Never throws.
bool is_tucker(const std::filesystem::path& path) noexcept;

}  // namespace blco
