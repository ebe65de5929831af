// Alternating least squares on a backend: one sweep at a time.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/stream/streamer.hpp"
#include "kernels/backend.hpp"

namespace blco {

class CpAls {
 public:
  // Requires: `norm_squared`, that of the tensor, is > 0, `ridge` is >= 0, and the backend holds the initial factors.
  CpAls(Backend& backend, Streamer& streamer, int order, int rank, double norm_squared, double ridge,
        StopPoll stop = {});

  // Updates every mode once, in order. Returns the fit, 1 - |X - model| / |X|, from the last mode's MTTKRP (Kolda &
  // Bader 2009, section 3.4). `sweep` counts from 0 since the very first, also after a resume, and sets the directions
  // of the passes. Throws Error: invalid_argument if numbers leave the range of a double; corrupt if the residual is
  // negative by more than rounding, which happens if `norm_squared` is not that of the tensor; cancelled once `stop`
  // says so.
  double run_sweep(std::uint64_t sweep);

  // Rolls back an unfinished sweep: restores factors and weights of the sweep before. Requires a backend that keeps
  // previous factors; no sweeps may follow.
  void undo_sweep();

  const std::vector<double>& weights() const { return weights_; }
  void set_weights(std::vector<double> weights) { weights_ = std::move(weights); }
  // Per mode, the numerical rank of the last sweep's normal equations: R, or less if they were singular.
  const std::vector<int>& system_ranks() const { return system_ranks_; }

 private:
  // The system of a mode: the Grams' product, and the ridge on its diagonal.
  std::vector<double> system_of(int mode);
  // Elementwise product of the Grams of all modes but `left_out` (-1: all modes). Row-major R x R.
  std::vector<double> hadamard_of_grams(int left_out);
  double fit(double inner, std::uint64_t sweep);

  Backend* backend_;
  Streamer* streamer_;
  int order_;
  int rank_;
  double norm_squared_;
  double ridge_;
  StopPoll stop_;
  std::vector<double> weights_;
  std::vector<double> weights_before_;  // as of the start of this sweep
  int updated_modes_ = 0;               // in this sweep, one that has only begun included
  std::vector<int> system_ranks_;
};

}  // namespace blco
