// The options of fit_cpd, which its methods read too.
#pragma once

#include <blco/compute.hpp>
#include <blco/cpd_method.hpp>
#include <blco/model.hpp>
#include <blco/plan.hpp>
#include <blco/progress.hpp>
#include <blco/sweep.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

namespace blco {

// Initial factors: random, which are uniform in [0, 1), uniform in [-1/2, 1/2), or standard normal; or, nvecs, the
// leading left singular vectors of each mode's unfolding.
enum class Start { automatic, uniform, centered, normal, nvecs };

inline constexpr double automatic_ridge = -1;

struct CpdOptions {
  CpdMethod method = AlsMethod{};
  int rank = 16;  // 0: the rank of `initial` or `resume`
  // Counts the sweeps before a resume too. Empty: 50; CompletionMethod, whose errors over unknown cells fall for
  // hundreds of sweeps: 500.
  std::optional<int> max_sweeps = {};
  // AlsMethod: stop when a sweep changes the fit by less; with momentum, when two sweeps in a row do, or ten together
  // (METHODS.md). GcpMethod and GcpAdamMethod: when a sweep changes the explained deviance (SweepReport::explained) by
  // less, but not while the model explains no more than this. CompletionMethod: when a sweep changes the root of the
  // objective by a smaller share. AprMethod: when no number of a factor has a larger KKT violation. 0: never. Empty:
  // 1e-5; AprMethod 1e-4; CompletionMethod 5e-5.
  std::optional<double> tolerance = {};
  // AlsMethod: minimises |X - M|^2 + ridge * (the sum of the squared weights) instead of |X - M|^2; the reported fit
  // has no such term. Weights then stay small, so that components do not grow against each other. The ridge has no
  // unit: the weight of a component that stands alone is divided by 1 + ridge. CompletionMethod says what its ridge
  // means, and how it finds a ridge. 0: none. -1: as suits the method, else none.
  double ridge = automatic_ridge;
  // Momentum. Once a sweep gains less than a fiftieth of what the model has gained over a model of zeros, each sweep
  // starts ahead of the model, on the line from the model before. A sweep that ends with a worse model is undone, and
  // the next sweep is a plain one. So a fit takes fewer sweeps, and one more copy of the factors in f64. For AlsMethod
  // without constraints other than RowSet::nonnegative. Empty: as the checkpoint to resume has it, else true where the
  // method takes it.
  std::optional<bool> momentum = {};
  std::uint64_t seed = 1;  // of random initial factors, which depend on seed, shape, rank and start alone; of samples
  // AlsMethod takes all starts; CompletionMethod the random starts; the other methods uniform only. Modes whose rows
  // must not be negative take uniform, or the absolute values of nvecs. `seed` samples each unfolding for nvecs: a pass
  // of every mode with 2 R + 10 columns finds the space of its vectors as far as singular values fall. Columns beyond a
  // mode's length are uniform in [0, 1).
  Start start = Start::automatic;
  Compute compute = {};
  // A warm start: the fit starts from these factors; AlsMethod ignores the weights. A mode of the tensor may be longer
  // than in this model, as after an ingest of more data with ColumnOptions::labels_from. Rows that the model lacks are
  // drawn from `seed`: uniform between zero and a bound, with the sign of their column's sum and the column's root mean
  // square. CompletionMethod begins these rows at the mean of the model's rows. If tensor and model both have labels,
  // the labels of the model must be the first labels of the tensor.
  const CpdModel* initial = nullptr;
  // A model file (a checkpoint or a saved model) to continue from: its factors, its seed and its sweep count. Other
  // options must be those of its fit, as options_of_model() gives them, and held-out entries must be given again. From
  // a checkpoint the numbers are those of a fit that never stopped, bit for bit on one CPU thread or with
  // `deterministic`. From a model of plain least squares without momentum the numbers are the same up to rounding,
  // because its components are sorted. From other models they differ more, because what the method keeps beside the
  // factors is lost. A fit that is already at its end is returned as it is, with its components sorted: least squares if the fit
  // last changed by less than `tolerance`, other methods if they had stopped by their tolerance, all of them at
  // max_sweeps.
  std::filesystem::path resume = {};
  // The model is saved here after every `checkpoint_sweeps` sweeps, and when the fit ends for any reason; empty:
  // nowhere. The file is replaced only by a complete one. If a save fails, `on_checkpoint` is told, the old file stays,
  // the fit goes on, and the next save is tried when it is due.
  std::filesystem::path checkpoint = {};
  int checkpoint_sweeps = 1;      // more: less writing, more work lost in a crash
  double time_limit_seconds = 0;  // counted from the call; 0: no limit
  // Where the returned model is saved at the end; empty: nowhere. Before the first sweep the fit checks that the disk
  // has room for it and for `checkpoint`, and from its beginning on no other job can write these files.
  std::filesystem::path output = {};
  std::function<void(const CpdPlan&)> on_plan = {};                 // called once, before the first sweep
  std::function<bool(const SweepReport&)> on_sweep = {};            // false: stop and keep this sweep's model
  std::function<void(const CheckpointReport&)> on_checkpoint = {};  // called after every attempt to save
  ProgressCallback on_progress = {};  // called within sweeps; false: stop, keep the last sweep
};

// The option, or what suits its method.
int max_sweeps_of(const CpdOptions& options);
double tolerance_of(const CpdOptions& options);
bool has_momentum(const CpdOptions& options);

}  // namespace blco
