#include "engine/fit/output_room.hpp"

#include <algorithm>
#include <string>
#include <system_error>

#include "blco/error.hpp"
#include "engine/common/memory.hpp"
#include "io/file/scratch_file.hpp"
#include "io/file/temporary_file.hpp"

namespace blco {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& target) { return target.has_parent_path() ? target.parent_path() : fs::path("."); }

std::uint64_t old_bytes_of(const fs::path& target) {
  std::error_code none;
  const std::uintmax_t bytes = fs::file_size(target, none);
  return none ? 0 : bytes;
}

// At the end the last checkpoint lies beside the model, if both are on one disk.
void check_both(const fs::path& output, std::uint64_t model_bytes, const fs::path& checkpoint,
                std::uint64_t checkpoint_bytes) {
  const fs::path target = checked_target(output);
  const fs::path other = checked_target(checkpoint);
  if (target == other || !are_on_one_disk(folder_of(target), folder_of(other))) return;
  const std::uint64_t needed = model_bytes + checkpoint_bytes - std::min(old_bytes_of(other), checkpoint_bytes);
  const std::uint64_t free = free_disk_bytes(folder_of(target));
  if (needed <= free) return;
  throw Error(ErrorKind::io, "cannot write " + output.string() + " beside the checkpoint " + checkpoint.string() +
                                 ": they take up to " + format_bytes(model_bytes) + " and " +
                                 format_bytes(checkpoint_bytes) + ", but the disk has " + format_bytes(free) +
                                 " free; free some space, or write one of them to another disk");
}

void check_file(const fs::path& file, std::uint64_t bytes, bool is_repeated) {
  const fs::path target = checked_target(file);
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorKind::io,
                "cannot write " + file.string() + ": it takes up to " + format_bytes(bytes) + ", but " + what);
  };
  const std::uint64_t limit = max_file_bytes();
  if (bytes > limit) {
    fail("a file may have at most " + format_bytes(limit) +
         "; raise the limit (ulimit -f), write to another file system, or lower the rank");
  }
  // From the second time on, the file to replace is one of these models.
  const std::uint64_t needed = is_repeated ? 2 * bytes - std::min(old_bytes_of(target), bytes) : bytes;
  const fs::path folder = folder_of(target);
  const std::uint64_t free = free_disk_bytes(folder);
  if (needed > free) {
    const std::string twice = needed > bytes ? "two of them must fit for a moment, and " : "";
    fail(twice + "the disk of " + folder.string() + " has " + format_bytes(free) +
         " free; free some space, write to another disk, or lower the rank");
  }
}

}  // namespace

void check_output_room(const fs::path& output, std::uint64_t model_bytes, const fs::path& checkpoint,
                       std::uint64_t checkpoint_bytes, bool is_repeated) {
  if (!output.empty()) check_file(output, model_bytes, false);
  if (!checkpoint.empty()) check_file(checkpoint, checkpoint_bytes, is_repeated);
  if (!output.empty() && !checkpoint.empty()) check_both(output, model_bytes, checkpoint, checkpoint_bytes);
}

}  // namespace blco
