// Flags of the options that the library's table lists.
#pragma once

#include <blco/option_table.hpp>

#include "tools/programs/cli.hpp"

namespace blco::cli {

// Adds the flag of an option, in its group. `take` gets what is given; of a model or a tensor, the name of its file.
// `usual` is the default in words.
void add_option(CommandLine& line, const OptionRow& option, const std::string& usual,
                std::function<void(const OptionValue&)> take);
void add_compute_options(CommandLine& line, Compute& compute);
// What fits of CP and Tucker models share: --time-limit, --checkpoint and --every.
void add_long_job_options(CommandLine& line, double& seconds, std::filesystem::path& checkpoint, int& sweeps);

// Modes by name or number from 0, such as "user,2"; all of an empty text.
ModeChoice parse_modes(const std::string& text);

}  // namespace blco::cli
