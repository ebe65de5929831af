// Files that a job reads must not be those that it writes.
#pragma once

#include <filesystem>
#include <system_error>
#include <vector>

#include "blco/refuse.hpp"

namespace blco {

// Throws Error{invalid_argument} if one of the outputs is an input, which it would replace. Empty names are no files.
inline void refuse_inputs_as_outputs(const std::vector<std::filesystem::path>& inputs,
                                     const std::vector<std::filesystem::path>& outputs) {
  std::error_code ignored;
  for (const std::filesystem::path& output : outputs) {
    for (const std::filesystem::path& input : inputs) {
      if (!std::filesystem::equivalent(input, output, ignored)) continue;
      refuse("the output " + output.string() + " is also an input; choose another name");
    }
  }
}

}  // namespace blco
