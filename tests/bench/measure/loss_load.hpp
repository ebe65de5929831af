// The work of a loss pass to all modes, from that of the MTTKRP of each.
#pragma once

#include <span>

#include "engine/work/pass_estimate.hpp"

namespace blco {

// It reads every chunk, and a nonzero's row of every factor, once.
inline PassLoad loss_load(std::span<const PassLoad> mttkrps) {
  PassLoad load = mttkrps.front();
  load.mode = -1;
  load.segments = load.output_bytes = load.factor_bytes = 0;
  for (const PassLoad& of_mode : mttkrps) {
    load.segments += of_mode.segments;
    load.output_bytes += of_mode.output_bytes;
    load.factor_bytes += of_mode.output_bytes / of_mode.output_number_bytes * of_mode.factor_number_bytes;
  }
  return load;
}

}  // namespace blco
