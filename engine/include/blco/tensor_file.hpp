// A BLCO container on disk, opened for reading.
#pragma once

#include <blco/error.hpp>
#include <blco/progress.hpp>
#include <blco/tensor.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace blco {

class TensorFile final : public Tensor {
 public:
  // Reads and checks the metadata. Throws Error: io (cannot be read), invalid_argument (not a BLCO container), corrupt
  // (damaged).
  explicit TensorFile(const std::filesystem::path& path);
};

struct SaveOptions {
  int zstd_level = 3;              // as in IngestOptions
  int zstd_saving_percent = 45;    // likewise
  std::uint64_t memory_bytes = 0;  // of the whole job; 0: 80% of what is available
  int threads = 0;                 // 0: one per processor; fewer are used if memory_bytes holds no more
  // As IngestOptions::orders: the copies in the orders of modes are made anew. Nothing: the tensor's are kept.
  std::optional<std::vector<std::string>> orders = {};
};

// Writes a tensor in memory, or in another container, as a container with the same chunks, names and labels: the bytes
// that ingest_coordinates() writes for the arrays of a MemoryTensor, given the same options. Replaces `output` only
// when the new file is complete. Copies in the orders of modes are made chunk by chunk. Returns notes, as IngestReport
// has them: on modes that `orders` names and that need no copy.
// Memory, within memory_bytes: per thread a chunk packed and compressed, the labels, and a tensor in memory itself.
// Throws Error: invalid_argument (options), out_of_memory (naming the smallest budget that suffices), io, corrupt,
// cancelled (by `progress`; stage "write", and for new orders "count" and "copy"; nothing is left on disk).
std::vector<std::string> save(const Tensor& tensor, const std::filesystem::path& output,
                              const SaveOptions& options = {}, const ProgressCallback& progress = {});

}  // namespace blco
