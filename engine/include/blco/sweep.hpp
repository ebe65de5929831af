// What a fit says of its sweeps, and of the checkpoints between them.
#pragma once

#include <blco/error.hpp>
#include <blco/fields.hpp>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

namespace blco {

// CompletionMethod with held-out entries: the errors that the model's error has to beat. Errors are root mean squares
// over these entries.
struct HeldOutReport {
  std::uint64_t entries = 0;
  std::uint64_t cold_entries = 0;  // in a row without entries of the tensor, which the model gets from the other rows
  double model_error = 0;          // of the model: the least of all sweeps so far, those before a resume too
  double mean_error = 0;           // of the mean of the tensor's entries
  // Of that mean plus a bias of each index, mode after mode: the mean of what is left of the index's entries, as if
  // five more were 0.
  double mode_means_error = 0;
};

template <>
inline constexpr auto fields_of<HeldOutReport> =
    std::tuple(Field{"entries", &HeldOutReport::entries}, Field{"cold_entries", &HeldOutReport::cold_entries},
               Field{"model_error", &HeldOutReport::model_error}, Field{"mean_error", &HeldOutReport::mean_error},
               Field{"mode_means_error", &HeldOutReport::mode_means_error});

// One sweep of the method; cpd_method.hpp says what that is.
struct SweepReport {
  int sweep = 0;         // counted from 1
  double objective = 0;  // what the method minimises; of AlsMethod |X - M|^2, without penalties
  double fit = 0;        // AlsMethod only: 1 - |X - M| / |X|
  double fit_change = 0;
  // AprMethod, GcpMethod and GcpAdamMethod: the share of the deviance of the best constant model that this model
  // explains. The deviance is the objective less the objective of a model that gives each cell the value that suits it
  // best.
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

// Those that JSON has: all but `converged` and `cut_short`.
template <>
inline constexpr auto fields_of<SweepReport> = std::tuple(
    Field{"sweep", &SweepReport::sweep}, Field{"objective", &SweepReport::objective},
    Field{"seconds", &SweepReport::seconds}, Field{"passes", &SweepReport::passes},
    Field{"bytes_read", &SweepReport::bytes_read}, Field{"fit", &SweepReport::fit},
    Field{"fit_change", &SweepReport::fit_change}, Field{"system_ranks", &SweepReport::system_ranks},
    Field{"restarted", &SweepReport::restarted}, Field{"explained", &SweepReport::explained},
    Field{"kkt_violation", &SweepReport::kkt_violation}, Field{"validation_error", &SweepReport::validation_error},
    Field{"held_out", &SweepReport::held_out}, Field{"ridge", &SweepReport::ridge});

struct CheckpointReport {
  int sweep = 0;                 // the last one of the model saved
  std::optional<Error> failure;  // why it could not be saved
};

}  // namespace blco
