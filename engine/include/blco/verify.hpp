// Whether a container or a model is what its format promises, all of it.
#pragma once

#include <blco/memory_budget.hpp>
#include <blco/model.hpp>
#include <blco/progress.hpp>
#include <blco/tensor_file.hpp>
#include <cstdint>

namespace blco {

struct VerifiedTensor {
  std::uint64_t chunks = 0;
  std::uint64_t nonzeros = 0;
  std::uint64_t stored_bytes = 0;  // of the chunks, on disk
};

// Reads every chunk once and checks what opening a container does not: payload checksums; line indices that rise
// strictly within and across chunks (so no coordinates occur twice); coordinates inside shape and bounds, and bounds
// that are tight; finite values; their sum of squares; zeros where the format asks for them; relabellings that are
// permutations. Throws Error{corrupt} with file, chunk and nonzero (counted from 0 in its chunk), that of the lowest
// chunk for any number of threads; out_of_memory naming the least budget that would do; cancelled. Memory: one chunk
// per thread, 48 bytes per chunk, and 4 bytes per index of the longest relabelled mode, within the budget. `threads` 0
// is one per processor; fewer are taken where the budget holds no more.
VerifiedTensor verify(const TensorFile& tensor, const MemoryBudget& budget = {}, int threads = 0,
                      const ProgressCallback& progress = {});

// Checks a model: shapes that agree, finite numbers, columns of 2-norm 1 (or 0) up to 1e-5, a
// fit that is at most 1 after every sweep. Throws Error{corrupt} that names the number.
void verify(const CpdModel& model);

}  // namespace blco
