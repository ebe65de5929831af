// Room on the disk for what a fit writes.
#pragma once

#include <cstdint>
#include <filesystem>

namespace blco {

// Throws Error{io} unless files of these sizes can be written to `output` and `checkpoint`, as far as one can tell
// beforehand: that they name files in folders that may be written, that the disks have room, and that the limit for the
// size of a file (RLIMIT_FSIZE) is not below. A model is written beside the file that it replaces; `is_repeated`: so is
// the checkpoint, by another one. Empty paths are not written.
void check_output_room(const std::filesystem::path& output, std::uint64_t model_bytes,
                       const std::filesystem::path& checkpoint, std::uint64_t checkpoint_bytes, bool is_repeated);

}  // namespace blco
