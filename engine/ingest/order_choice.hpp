// Which modes get a copy of the nonzeros in an order of their own: by counts of the nonzeros alone, so that the same
// tensor gives the same container on every machine.
#pragma once

#include <blco/ingest.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "blco/executor.hpp"
#include "blco/layout.hpp"
#include "engine/common/progress_meter.hpp"
#include "engine/tensor/nonzero_reader.hpp"
#include "io/container/chunk_source.hpp"

namespace blco {

// What was asked for, as IngestOptions::orders has it.
struct OrderRequest {
  std::vector<std::uint64_t> modes = {};  // rising
  bool by_counts = false;                 // of these, only where it pays
  bool by_name = false;                   // they were named one by one

  bool is_empty() const { return modes.empty(); }
};

// `names` may be shorter than the order. Throws Error{invalid_argument} for a word that names no mode.
OrderRequest parse_orders(const std::vector<std::string>& words, const std::vector<std::uint64_t>& shape,
                          const std::vector<std::string>& names);

// Memory that a thread takes to choose among the orders of a tensor with such chunks.
std::uint64_t order_choice_bytes(bool has_high_word, std::uint64_t chunk_nnz, std::uint64_t reading_bytes);

// Decides for each mode that is asked about, by some chunks of the tensor, which are sorted on as many threads as the
// budget has room for, at least one. Throws Error: corrupt, io, cancelled.
std::vector<OrderedMode> choose_orders(const ChunkSource& natural, const OrderRequest& request,
                                       const ScanBudget& budget, Executor& executor, ProgressMeter& meter);

// The bits of the line indices of its copy.
BitModes bit_modes_of(const std::vector<std::uint64_t>& shape, const OrderedMode& mode);

}  // namespace blco
