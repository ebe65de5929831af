// The options of a program that fits: where and how it computes.
#pragma once

#include <blco/compute.hpp>

#include "tools/programs/cli.hpp"

namespace blco::cli {

void add_compute_options(CommandLine& line, Compute& compute);

// --checkpoint and --every.
void add_checkpoint_options(CommandLine& line, std::filesystem::path& file, int& sweeps);

}  // namespace blco::cli
