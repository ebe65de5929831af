// Writes a BLCO container chunk by chunk under a temporary name, and renames it when complete.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "blco/labels.hpp"
#include "io/container/chunk_source.hpp"
#include "io/container/container.hpp"
#include "io/file/temporary_file.hpp"

namespace blco {

// A payload in its stored form.
struct StoredPayload {
  std::vector<std::byte> bytes;  // empty: not allocated
  std::uint32_t filter_mask = 0;
  std::uint64_t payload_bytes = 0;
};

// Compresses with zstd at `zstd_level` (0: never), and keeps the result only if it is smaller by at least
// `saving_percent`; samples of a long payload must promise half of that first. With 0 percent, any saving will do.
// Byte-shuffles raw f64 payloads beforehand. An empty payload stays empty. Thread-safe, takes no HDF5 lock.
StoredPayload store_payload(std::span<const std::byte> payload, int zstd_level, int saving_percent);

// Most memory that store_payload takes for a payload of this size, its result included.
std::uint64_t store_payload_bytes(std::uint64_t payload_bytes, int zstd_level);

struct StoredChunk {
  std::array<StoredPayload, column_count> columns;
  std::vector<std::uint64_t> lower;  // per mode
  std::vector<std::uint64_t> upper;
};

class ContainerWriter {
 public:
  // Creates a temporary file next to `output`. Shape and chunk_nnz of `info` are fixed from here on; finish() takes the
  // other members. Throws Error{io} if the file cannot be created.
  ContainerWriter(const std::filesystem::path& output, const ContainerInfo& info);
  // Same, for an output name that the caller has already claimed.
  ContainerWriter(TemporaryFile output, const ContainerInfo& info);
  // Removes the temporary file unless finish() has succeeded.
  ~ContainerWriter();
  ContainerWriter(ContainerWriter&&) noexcept;
  ContainerWriter& operator=(ContainerWriter&&) noexcept;

  // Appends the next chunk, in order. All but the last hold chunk_nnz nonzeros.
  void append(const StoredChunk& chunk);

  // Begins a copy in the order of `mode`, whose line indices have these bits: append() takes its chunks from here on.
  // Call it once the chunks in the natural order are complete, and then those of the last copy; modes come in order.
  void begin_copy(std::uint64_t mode, const BitModes& bits);
  // The chunks in the natural order, which are complete. `info` is as finish() takes it. This must outlive the source.
  std::unique_ptr<ChunkSource> natural_chunks(const ContainerInfo& info) const;

  // Records that stored index i of `mode` is the original index originals[i]. `originals` is a permutation of the mode.
  // Modes come in order.
  void reorder(std::uint64_t mode, std::span<const std::uint32_t> originals);

  // Writes nnz, sum of squares, names, the chunk table and the labels (none, or one list per mode, empty or as
  // long as the mode); then closes, syncs, and renames over `output`. Returns the file size in bytes.
  std::uint64_t finish(const ContainerInfo& info, std::span<const Labels> labels = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace blco
