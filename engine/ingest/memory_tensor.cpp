// The ingest of arrays without its file.
#include <blco/memory_tensor.hpp>

#include "engine/common/memory.hpp"
#include "engine/common/thread_pool.hpp"
#include "engine/ingest/ingest_job.hpp"
#include "engine/ingest/input/array_reader.hpp"

namespace blco {
namespace {

std::unique_ptr<ChunkSource> pack(const CoordinateArrays& arrays, IngestOptions options,
                                  const ProgressCallback& progress) {
  ThreadPool pool(options.threads);
  options.index_base = 0;
  ArrayReader reader(arrays, options.shape, pool);
  auto chunks = ingest_in_memory(reader, options, pool, progress);
  release_freed_memory();
  return chunks;
}

}  // namespace

MemoryTensor::MemoryTensor(const CoordinateArrays& arrays, const IngestOptions& options,
                           const ProgressCallback& progress)
    : Tensor(pack(arrays, options, progress)) {}

}  // namespace blco
