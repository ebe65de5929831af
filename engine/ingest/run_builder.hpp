// First stage of ingest: collects coordinates and makes them a sorted run.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "blco/executor.hpp"
#include "blco/layout.hpp"
#include "engine/ingest/relabelling.hpp"
#include "engine/ingest/run_entry.hpp"
#include "engine/ingest/sorted_run.hpp"
#include "io/coordinate_reader.hpp"

namespace blco {

// Memory of an entry of a run; sorting takes the same again.
constexpr std::uint64_t sorted_entry_bytes(int line_bits) {
  return line_bits > 64 ? sizeof(WideEntry) : sizeof(NarrowEntry);
}

class RunBuilder {
 public:
  bool is_empty() const { return entry_count_ == 0; }
  std::uint64_t entry_count() const { return entry_count_; }

  void add(CoordinateBatch&& batch);

  std::uint64_t coordinate_bytes() const { return coordinate_bytes_; }

  // The most memory that entries take until they are a run, made by so many threads.
  static std::uint64_t memory_bytes(std::uint64_t entries, std::uint64_t coordinate_bytes, int line_bits, int threads);

  // Linearises, after `relabelling` where there is one, and sorts; the builder is empty afterwards.
  std::unique_ptr<MemoryRun> finish(const TensorLayout& layout, Executor& executor,
                                    const Relabelling* relabelling = nullptr);

  // Gives the coordinates back, in their order; the builder is empty afterwards.
  std::vector<CoordinateBatch> take_coordinates();

 private:
  std::vector<CoordinateBatch> batches_;
  std::uint64_t entry_count_ = 0;
  std::uint64_t coordinate_bytes_ = 0;
};

}  // namespace blco
