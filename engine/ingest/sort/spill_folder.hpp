// Where runs are spilled.
#pragma once

#include <filesystem>

#include "io/file/scratch_file.hpp"
#include "io/file/temporary_file.hpp"

namespace blco {

// The folder that was asked for, or else that of the output; checked before the work begins, although it may not be
// needed. Throws Error{io}.
inline std::filesystem::path spill_folder(std::filesystem::path asked, const TemporaryFile& output) {
  const std::filesystem::path& target = output.target();
  if (asked.empty()) asked = target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
  remove_stale_scratch(asked);
  check_writable(asked);
  return asked;
}

}  // namespace blco
