// Checks the places of a fit's files before the work.
#pragma once

#include <blco/cpd.hpp>

namespace blco {

// Throws Error{io} unless models of this rank can be written to options.checkpoint and options.output, as far as one
// can tell beforehand: that they name files in folders that may be written, that the disks have room, and that the
// limit for the size of a file (RLIMIT_FSIZE) is not below. A model is written beside the file that it replaces.
void check_model_room(const TensorSummary& tensor, const CpdOptions& options);

}  // namespace blco
