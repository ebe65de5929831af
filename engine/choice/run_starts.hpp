// Several fits as a part of a longer job.
#pragma once

#include <blco/starts.hpp>
#include <functional>

#include "engine/fit/output_files.hpp"

namespace blco {

// As fit_starts(), but `files` has the claims of options.output and options.checkpoint.
StartsReport run_starts(const Tensor& tensor, const CpdOptions& options, int starts,
                        const std::function<void(const StartReport&, const CpdModel&)>& on_start, OutputFiles& files);

}  // namespace blco
