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
// --checkpoint and --every.
void add_checkpoint_options(CommandLine& line, std::filesystem::path& file, int& sweeps);

// Modes by name or number from 0, such as "user,2"; all of an empty text.
ModeChoice parse_modes(const std::string& text);

}  // namespace blco::cli
