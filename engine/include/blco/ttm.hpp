// The product of a tensor with one matrix (TTM): semi-sparse, dense along one mode and sparse in the others.
#pragma once

#include <blco/progress.hpp>
#include <blco/tensor.hpp>
#include <blco/views.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

namespace blco {

// A fiber has all nonzeros that differ in `mode` only. Its row is the sum over these of value * A[i_mode, :].
struct SemiSparseTensor {
  std::vector<std::uint64_t> shape;  // of the other modes, in order
  std::size_t columns = 0;           // R
  // Per other mode one index per fiber, from 0. Fibers come by rising line index of these modes.
  std::vector<std::vector<std::uint64_t>> coordinates;
  std::vector<double> rows;  // per fiber R numbers

  std::size_t fibers() const { return columns == 0 ? 0 : rows.size() / columns; }
};

// Some neighbouring fibers, in the form of a SemiSparseTensor. Spans are valid during the call that passes them.
struct FiberBlock {
  std::span<const std::span<const std::uint64_t>> coordinates;
  std::span<const double> rows;
};
// An exception ends the job and reaches the caller.
using FiberSink = std::function<void(const FiberBlock&)>;

struct TtmOptions {
  std::uint64_t memory_bytes = 0;  // of the whole job without the matrix; 0: 80% of what is available
  int threads = 0;                 // 0: one per processor
};

// X x_n A^T (Kolda & Bader 2009, section 2.5) for a matrix A of I_n x R: passes the fibers to the sink in order, on the
// caller's thread. Sorts the nonzeros so that those of a fiber are neighbours; then every fiber belongs to one thread.
// What does not fit in memory at once is sorted in parts, each of which takes a pass over the tensor, after one that
// counts. The numbers do not depend on threads, parts or the order of the container: a fiber's nonzeros are added by
// rising index. Memory, within memory_bytes: two copies of a part of 16 bytes a nonzero (24 if line indices have more
// than 64 bits), blocks of a MiB, and a walk over the tensor. Throws Error: invalid_argument (a mode that the tensor
// does not have, a tensor of one mode, a matrix of another length or without columns), out_of_memory (naming the
// smallest budget that suffices), corrupt, io, cancelled (by `progress`; stage "read").
void for_each_fiber(const Tensor& tensor, std::size_t mode, const MatrixView& matrix, const FiberSink& sink,
                    const TtmOptions& options = {}, const ProgressCallback& progress = {});

// All of them in memory, 8 (N - 1 + R) bytes per fiber, which memory_bytes covers too. Throws likewise; out_of_memory
// where the fibers do not fit, which may be found late.
SemiSparseTensor ttm(const Tensor& tensor, std::size_t mode, const MatrixView& matrix, const TtmOptions& options = {},
                     const ProgressCallback& progress = {});

// Into an HDF5 file, as FORMAT.md has it; returns the number of fibers. The file appears, or replaces an older one,
// only when it is complete. Throws as for_each_fiber().
std::uint64_t write_ttm(const Tensor& tensor, std::size_t mode, const MatrixView& matrix,
                        const std::filesystem::path& path, const TtmOptions& options = {},
                        const ProgressCallback& progress = {});

}  // namespace blco
