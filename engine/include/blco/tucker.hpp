// Tucker decomposition of a tensor that may be larger than memory: X is approximately a small core G times a matrix
// with orthonormal columns in each mode, X ~ G x_1 U_1 ... x_N U_N (Kolda & Bader 2009, section 4). Cells of X without
// a nonzero count as zero.
#pragma once

#include <blco/compute.hpp>
#include <blco/error.hpp>
#include <blco/fields.hpp>
#include <blco/plan.hpp>
#include <blco/progress.hpp>
#include <blco/row_constraint.hpp>
#include <blco/sweep.hpp>
#include <blco/tensor.hpp>
#include <blco/tensor_file.hpp>
#include <blco/tucker_model.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <tuple>
#include <vector>

namespace blco {

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

// All but `plan`.
template <>
inline constexpr auto fields_of<TuckerPlan> = std::tuple(Field{"ranks", &TuckerPlan::ranks},
                                                         Field{"method", &TuckerPlan::method},
                                                         Field{"passes_per_sweep", &TuckerPlan::passes_per_sweep});

struct TuckerOptions {
  TuckerMethod method = TuckerMethod::automatic;
  // Per mode, at most its length and the product of the other ranks. One number: for all modes, where
  // that is possible. None: those of `initial` or `resume`. For ranks that follow from an error see tucker_ranks.hpp.
  std::vector<int> ranks;
  int max_sweeps = 50;
  double tolerance = 1e-5;  // stop when a sweep changes the fit by less; 0: never
  std::uint64_t seed = 1;   // of the initial matrices
  TuckerStart start = TuckerStart::random;
  // Starts from these matrices instead, of the same ranks. Modes of the tensor may have become longer: new rows are
  // random.
  const TuckerModel* initial = nullptr;
  // Per mode, none or held; empty: none. A held mode keeps the matrix of `initial` to the bit; its columns must be
  // orthonormal. With all modes held, a fit finds the core alone.
  std::vector<RowConstraint> constraints = {};
  // A file (a checkpoint or a saved model) to continue from: its matrices, core, ranks, seed, method, held modes and
  // sweeps. `ranks`, `method` and `constraints` are left out or the same. From a checkpoint the numbers are those of a
  // fit that never stopped, bit for bit on one CPU thread or with Compute::deterministic if the plan is the same; from
  // a saved model up to rounding. A fit that is already at its end is returned as it is.
  std::filesystem::path resume = {};
  // As those of CpdOptions.
  std::filesystem::path checkpoint = {};
  int checkpoint_sweeps = 1;
  std::filesystem::path output = {};
  Compute compute = {};
  double time_limit_seconds = 0;                                    // counted from the call; 0: no limit
  std::function<void(const TuckerPlan&)> on_plan = {};              // called once, before the first sweep
  std::function<bool(const SweepReport&)> on_sweep = {};            // false: stop and keep this sweep's model
  std::function<void(const CheckpointReport&)> on_checkpoint = {};  // called after every attempt to save
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

}  // namespace blco
