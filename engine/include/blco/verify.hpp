// Checks that a tensor fully conforms to its format; model.hpp has the check of a model.
#pragma once

#include <blco/memory_budget.hpp>
#include <blco/progress.hpp>
#include <blco/tensor_file.hpp>
#include <cstdint>
#include <filesystem>

namespace blco {

struct VerifiedTensor {
  std::uint64_t chunks = 0;  // with those of copies in the orders of modes
  std::uint64_t nonzeros = 0;
  std::uint64_t stored_bytes = 0;  // size of the chunks on disk; 0 in memory
};

// Of a container or of a tensor in memory: reads every chunk once, those of copies in the orders of modes too, and
// checks what opening a container does not: payload checksums; line indices that rise strictly within and across chunks
// (so that no coordinates repeat); coordinates within shape and bounds, and tight bounds; finite values; their sum of
// squares; zeros where the format requires them; orders of reordered modes that are permutations; copies that have the
// nonzeros of the natural order; and a container's trailer. Memory, within the budget: one chunk per thread, 64 bytes
// per chunk, and 4 bytes per index of the longest reordered mode; and a tensor in memory itself. `threads` 0 means one
// per processor; fewer are used if the budget holds no more. Throws Error: corrupt (naming file, chunk, and nonzero
// counted from 0 in its chunk; of several faults the one in the lowest chunk, for any number of threads), out_of_memory
// (naming the smallest budget that suffices), io, cancelled.
VerifiedTensor verify(const Tensor& tensor, const MemoryBudget& budget = {}, int threads = 0,
                      const ProgressCallback& progress = {});

// Whether a container or a model ends with its trailer, the checksum of what has no other. It is missing where the file
// was cut off there, and where another program has written it or to it: a model may then still be right. Throws
// Error{io}.
bool has_trailer(const std::filesystem::path& path);

}  // namespace blco
