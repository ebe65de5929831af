// Compares what a model takes with what the disk and the process's limits give.
#include "engine/fit/model_room.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <system_error>

#include "blco/error.hpp"
#include "engine/common/memory.hpp"
#include "io/container/model_file.hpp"
#include "io/file/scratch_file.hpp"
#include "io/file/temporary_file.hpp"

namespace blco {
namespace {

namespace fs = std::filesystem;

void check_file(const fs::path& file, std::uint64_t model_bytes, bool is_repeated) {
  const fs::path target = checked_target(file);
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorKind::io, "cannot write " + file.string() + ": the model takes up to " +
                                   format_bytes(model_bytes) + ", but " + what);
  };
  const std::uint64_t limit = max_file_bytes();
  if (model_bytes > limit) {
    fail("a file may have at most " + format_bytes(limit) +
         "; raise the limit (ulimit -f), write to another file system, or lower the rank");
  }
  std::error_code failure;
  const std::uintmax_t old_bytes = fs::exists(target, failure) ? fs::file_size(target, failure) : 0;
  // From the second time on, the file to replace is one of these models.
  const std::uint64_t needed =
      is_repeated && !failure ? 2 * model_bytes - std::min<std::uint64_t>(old_bytes, model_bytes) : model_bytes;
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  const std::uint64_t free = free_disk_bytes(folder);
  if (needed > free) {
    const std::string twice = needed > model_bytes ? "two of them must fit for a moment, and " : "";
    fail(twice + "the disk of " + folder.string() + " has " + format_bytes(free) +
         " free; free some space, write to another disk, or lower the rank");
  }
}

}  // namespace

void check_model_room(const TensorSummary& tensor, const CpdOptions& options) {
  const std::uint64_t label_bytes =
      std::accumulate(tensor.label_bytes.begin(), tensor.label_bytes.end(), std::uint64_t{0});
  const std::uint64_t bytes = model_file_bytes(tensor.shape, static_cast<std::uint64_t>(options.rank), label_bytes);
  if (!options.output.empty()) check_file(options.output, bytes, false);
  if (!options.checkpoint.empty())
    check_file(options.checkpoint, bytes, options.max_sweeps > options.checkpoint_sweeps);
}

}  // namespace blco
