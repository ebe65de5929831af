// CP decomposition of a tensor that may be larger than memory.
#pragma once

#include <blco/compute.hpp>
#include <blco/cpd_method.hpp>
#include <blco/model.hpp>
#include <blco/output_claims.hpp>
#include <blco/progress.hpp>
#include <blco/tensor.hpp>
#include <blco/tensor_file.hpp>
#include <blco/views.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace blco {

// A GPU to plan for, which need not be present, and the bandwidths used to estimate times. The defaults describe a
// large card behind PCIe 4 x16.
struct DeclaredGpu {
  std::uint64_t memory_bytes = 0;
  int multiprocessors = 132;
  std::uint64_t l2_bytes = std::uint64_t{50} << 20;
  double link_bytes_per_second = 25e9;
  double disk_bytes_per_second = 3e9;
  double memory_bytes_per_second = 2e12;
  double cache_bytes_per_second = 5.5e12;
  double additions_per_second = 1e11;  // atomic additions to memory
};

// Estimated seconds that one pass keeps each resource busy. All of them overlap, so the longest is the bound. Model:
// bytes per nonzero over bandwidth; factor rows hit the cache in the share that fits it; a frame adds one segment per
// nonzero or per row of the chunk's bounds, whichever is less.
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

// What each pass of a mode reads, but the first one.
struct ModeRead {
  bool own_order = false;        // the copy in the mode's own order; else the natural order
  std::uint64_t disk_bytes = 0;  // from the container
};

// Where the chunks stay between passes, and what a pass reads.
struct CpdPlan {
  std::string device;
  std::string device_note;  // why no GPU, or not each of "all", is used although the job looked for it; else empty
  // Says that the budget exceeds the machine's memory, or why fewer chunks stay in host memory than the budget allows;
  // else empty.
  std::string memory_note;
  int threads = 0;
  int slots = 0;
  int processes = 1;  // that share the job (Compute::peers); what follows is of this one
  // Of Compute::devices, the plans of all but the first. What follows is of the first one, but the host memory of all.
  std::vector<CpdPlan> others = {};
  std::uint64_t chunk_count = 0;      // of all orders that passes read
  std::uint64_t device_chunks = 0;    // in device memory, packed as on disk
  std::uint64_t decoded_chunks = 0;   // in host memory, ready to use
  std::uint64_t packed_chunks = 0;    // in host memory, packed as on disk
  std::uint64_t streamed_chunks = 0;  // read from disk in every pass
  std::uint64_t budget_bytes = 0;
  std::uint64_t planned_bytes = 0;        // all host memory of the job
  std::uint64_t minimum_bytes = 0;        // the smallest budget that suffices
  std::uint64_t disk_bytes_per_pass = 0;  // read from the container, in every pass but the first; a mean over `reads`
  std::vector<ModeRead> reads = {};       // per mode; empty: every pass reads the natural order
  std::string orders_note;                // why no pass reads the copies that the container has; else empty
  std::vector<std::uint64_t> new_rows = {};  // per mode, those that CpdOptions::initial lacks; empty: none
  // Per mode, the entries of CpdOptions::initial outside the mode's box, into which its first update moves them; empty:
  // none.
  std::vector<std::uint64_t> outside_box = {};
  // True if memory holds a copy of what a sweep overwrites. A job that is cancelled or out of time then ends at once
  // with its last finished sweep; otherwise it first finishes the sweep in progress.
  bool stops_within_sweep = false;
  // True if the method itself can end a sweep after the pass in progress; that sweep counts unless it is the first, and
  // its model is the result.
  bool stops_after_pass = false;
  // Device memory; zero on the CPU.
  std::uint64_t device_budget_bytes = 0;
  std::uint64_t device_planned_bytes = 0;
  std::uint64_t device_minimum_bytes = 0;
  std::uint64_t resident_bytes = 0;       // the part of device_planned_bytes that chunks take
  std::uint64_t link_bytes_per_pass = 0;  // payloads sent to the device, in every pass but the first
  // If more than 1, the factors stay on the host, and every pass goes through the chunks once for each slab of their
  // columns.
  int column_slabs = 1;
  std::uint64_t row_bytes_per_pass = 0;  // then, of factors and outputs that cross the link too, at most
  std::vector<PassSeconds> passes;       // per mode; filled by plan_cpd for a declared GPU only
};

// CompletionMethod with held-out entries: what their error has to beat. Errors are root mean squares over them.
struct HeldOutReport {
  std::uint64_t entries = 0;
  std::uint64_t cold_entries = 0;  // in a row without entries of the tensor, which the model gets from the other rows
  double model_error = 0;          // of the model: the least of all sweeps so far, those before a resume too
  double mean_error = 0;           // of the mean of the tensor's entries
  // Of that mean plus a bias of each index, mode after mode: the mean of what is left of the index's entries, as if
  // five more were 0.
  double mode_means_error = 0;
};

// One sweep of the method; cpd_method.hpp says what that is.
struct SweepReport {
  int sweep = 0;         // counted from 1
  double objective = 0;  // what the method minimises; of AlsMethod |X - M|^2, without penalties
  double fit = 0;        // AlsMethod only: 1 - |X - M| / |X|
  double fit_change = 0;
  // AprMethod and GcpMethod: the share of the deviance of the best constant model that this one explains. The deviance
  // is the objective less that of a model that says of each cell what suits it best.
  std::optional<double> explained = {};
  double kkt_violation = 0;  // AprMethod only: the largest of any entry
  // CompletionMethod with held-out entries, and while it holds some back itself: their root mean square.
  std::optional<double> validation_error = {};
  std::optional<HeldOutReport> held_out = {};  // and what to compare it with, the same in each sweep
  std::optional<double> ridge = {};            // CompletionMethod with an automatic one: that of this sweep
  double seconds = 0;
  std::uint64_t passes = 0;      // over the chunks, or a part of them
  std::uint64_t bytes_read = 0;  // from the container, during this sweep
  bool converged = false;        // the method's own rule to stop holds
  bool cut_short = false;        // a stop ended it early; not AlsMethod
  bool restarted = false;        // by momentum it led to a worse model, and the model is that of the sweep before
  // Per mode, the numerical rank of the R x R normal equations. A value below R means linearly dependent columns: the
  // update took the pseudo-inverse, and a smaller rank would fit as well.
  std::vector<int> system_ranks;
};

// Initial factors: random, which are uniform in [0, 1), uniform in [-1/2, 1/2), or standard normal; or, nvecs, the
// leading left singular vectors of each mode's unfolding.
enum class Start { automatic, uniform, centered, normal, nvecs };

struct CheckpointReport {
  int sweep = 0;                 // the last one of the model saved
  std::optional<Error> failure;  // why it could not be saved
};

inline constexpr double automatic_ridge = -1;

struct CpdOptions {
  CpdMethod method = AlsMethod{};
  int rank = 16;  // 0: the rank of `initial` or `resume`
  // Counts the sweeps before a resume too. Empty: 50; CompletionMethod, whose errors over unknown cells fall for
  // hundreds of sweeps: 500.
  std::optional<int> max_sweeps = {};
  // Stop when a sweep changes the fit by less, with momentum two in a row or ten together (METHODS.md); GcpMethod:
  // the objective, beside the deviance of the best constant model (SweepReport::explained), but not while the model
  // explains no more than this; CompletionMethod: the root of the objective, relatively; AprMethod: when no number of a
  // factor has a larger KKT violation. 0: never. Empty: 1e-5; AprMethod 1e-4; CompletionMethod 5e-5.
  std::optional<double> tolerance = {};
  // AlsMethod: minimises |X - M|^2 + ridge * (the sum of the squared weights) instead of |X - M|^2; the reported fit
  // has no such term. Weights then stay small, so that components do not grow against each other. It has no unit: the
  // weight of a component that stands alone is divided by 1 + ridge. CompletionMethod says what it means there, and
  // how it finds one. 0: none. -1: as suits the method, else none.
  double ridge = automatic_ridge;
  // Once a sweep gains less than a fiftieth of what the model has gained over one of zeros, each starts ahead of the
  // model, on the line from the one before; where it then ends with a worse one, it is undone, and the next is a plain
  // one. So a fit takes fewer sweeps, and one more copy of the factors in f64. AlsMethod without other constraints than
  // RowSet::nonnegative. Empty: as the checkpoint to resume has it, else true where it goes.
  std::optional<bool> momentum = {};
  std::uint64_t seed = 1;  // of random initial factors, which depend on seed, shape, rank and start alone; of samples
  // AlsMethod takes all; CompletionMethod those that are random; the others uniform only. So do modes whose rows must
  // not be negative, but for nvecs, of which they take absolute values. `seed` samples each unfolding for nvecs: a pass
  // of every mode with 2 R + 10 columns finds the space of its vectors as far as singular values fall. Columns beyond a
  // mode's length are uniform in [0, 1).
  Start start = Start::automatic;
  Compute compute = {};
  // A warm start: the fit starts from these factors; AlsMethod ignores the weights. A mode of the tensor may be longer
  // than in this model, as after an ingest of more data with ColumnOptions::labels_from. Rows that the model lacks are
  // drawn from `seed`: uniform between zero and a bound, with the sign of their column's sum and with its root mean
  // square; CompletionMethod begins them at the mean of the model's rows. If tensor and model both have labels, those
  // of the model must be the first ones of the tensor.
  const CpdModel* initial = nullptr;
  // A model file (a checkpoint or a saved model) to continue from: its factors, its seed and its sweep count. Other
  // options must be those of its fit, as options_of_model() gives them, and held-out entries must be given again. From
  // a checkpoint the numbers are those of a fit that never stopped, bit for bit on one CPU thread or with
  // `deterministic`. From a model that plain least squares returned they are so up to rounding, because its components
  // are sorted. From other models they differ more, because what the method keeps beside the factors is lost. A fit
  // that is already at its end is returned as it is, with its components sorted: least squares if the fit last changed
  // by less than `tolerance`, other methods if they had stopped by their tolerance, all of them at max_sweeps.
  std::filesystem::path resume = {};
  // The model is saved here after every `checkpoint_sweeps` sweeps, and when the fit ends for any reason; empty:
  // nowhere. The file is replaced only by a complete one. If a save fails, `on_checkpoint` is told, the old file stays,
  // the fit goes on, and the next save is tried when it is due.
  std::filesystem::path checkpoint = {};
  int checkpoint_sweeps = 1;      // more: less writing, more work lost in a crash
  double time_limit_seconds = 0;  // counted from the call; 0: no limit
  // Where the caller will save the returned model; empty: unknown. The fit does not write it, but checks before the
  // first sweep that the disk has room for it, as it does for `checkpoint`.
  std::filesystem::path output = {};
  // The caller's claims of `checkpoint` and of what else it will write; null: the fit claims `checkpoint` itself, so
  // that another job which writes the same file is refused from the beginning on.
  const OutputClaims* claims = nullptr;
  std::function<void(const CpdPlan&)> on_plan = {};                 // called once, before the first sweep
  std::function<bool(const SweepReport&)> on_sweep = {};            // false: stop and keep this sweep's model
  std::function<void(const CheckpointReport&)> on_checkpoint = {};  // called after every attempt to save
  ProgressCallback on_progress = {};  // called within sweeps; false: stop, keep the last sweep
};

// The option, or what suits its method.
int max_sweeps_of(const CpdOptions& options);
double tolerance_of(const CpdOptions& options);
bool has_momentum(const CpdOptions& options);

// Fits a rank-R CP model by options.method, modes in order; cpd_method.hpp says what each minimises. A ridge is added
// to the diagonal of each mode's system; from the second sweep on this minimises the objective, because the columns of
// the other modes are then normalised.
//
// If the fit is cancelled or out of time, AlsMethod returns the model of the last finished sweep. The other methods
// finish the pass in progress, end the sweep there, and return its model, whose objective is no larger than that of the
// sweep before: AprMethod goes on until it is so, or until the sweep is whole. Before the first sweep is whole there is
// no model.
//
// The model's components are sorted by falling size. A component stays the same when an even number of its columns
// change sign. So as many columns as possible get a positive dominant entry (the one of largest magnitude). If one must
// stay negative, it is the column whose dominant entry has the smallest share of the column's squares.
//
// Every pass reads the chunks that do not stay in memory. Host memory stays under Compute::memory, which covers the
// initial and the returned model, but not what the CUDA driver allocates for itself. On one CPU thread the budget does
// not change a bit of the model; with Compute::deterministic, neither do the threads. Otherwise threads and budget
// change it by rounding. A GPU adds sums in no fixed order.
//
// Throws Error: invalid_argument (rank; values, options or an initial or resumed model that do not suit), out_of_memory
// (budget below the minimum, which the message names), corrupt (bad checksum, thrown after reads in flight have
// drained; a state in the resumed model that no fit has saved), io (trace, resumed model, a place without room for the
// model), cancelled (before the first sweep was finished), cuda and not_built (a GPU of Compute::devices).
CpdModel fit_cpd(const Tensor& tensor, const CpdOptions& options = {});

// What the file of a model, such as one to resume, says of the options of its fit: method with loss and constraints,
// rank, seed, ridge and precision; the others have their defaults. Throws Error as load_model does.
CpdOptions options_of_model(const std::filesystem::path& file);

// Returns the plan that fit_cpd would make, without fitting; `on_plan` is not called. With `declared`, plans for that
// GPU and estimates the times. Throws Error as fit_cpd does.
CpdPlan plan_cpd(const Tensor& tensor, const CpdOptions& options = {}, const DeclaredGpu* declared = nullptr);

// out[i_n, r] = sum over nonzeros of value * prod_{m != n} factors[m][i_m, r]. Returns a row-major I_n x rank matrix.
// factors[m] is I_m x rank and finite; of factors[mode] only the columns count, and where other modes tell the rank it
// may be empty. Host memory stays under Compute::memory, which covers the factors and the result. Errors are those of
// fit_cpd; false from `on_progress` throws Error{cancelled}.
std::vector<double> mttkrp(const Tensor& tensor, std::span<const MatrixView> factors, int mode,
                           const Compute& compute = {}, const ProgressCallback& on_progress = {});

}  // namespace blco
