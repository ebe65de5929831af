// The nonzeros of a tensor, on disk or in memory: a walk over all of them, and columns of all or of some at a time.
#pragma once

#include <blco/progress.hpp>
#include <blco/tensor.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace blco {

// Some neighbours in the stored order, at most 4096. Spans are valid during the call that passes them.
struct NonzeroBlock {
  std::uint64_t first = 0;  // the number of the first of them in the stored order
  // Per mode a column with one index per nonzero: the tensor's own indices, also of a reordered mode, from 0.
  std::span<const std::span<const std::uint64_t>> coordinates;
  std::span<const double> values;  // explicit zeros among them

  std::size_t count() const { return values.size(); }
};

// Returning false ends the walk without an error. An exception ends it too, and reaches the caller.
using NonzeroVisitor = std::function<bool(const NonzeroBlock&)>;

struct NonzeroOptions {
  bool in_order = true;            // false: blocks come in any order, from several threads at a time
  std::uint64_t memory_bytes = 0;  // of the whole walk; 0: 80% of what is available
  int threads = 0;                 // 0: one per processor; fewer are used if memory_bytes holds no more
};

// Calls visit(block) once for every block of nonzeros. In order, calls come on the caller's thread, one after the
// other, by rising line index; in a reordered tensor, by the line index of the stored indices. Chunks are read, and
// blocks decoded, by all threads in either case; which blocks there are depends on no option. Memory, within
// memory_bytes: per thread a chunk and some blocks of 8 (N + 1) bytes a nonzero, 4 bytes per index of each reordered
// mode, and a tensor in memory itself. Throws Error: out_of_memory (naming the smallest budget that suffices), corrupt
// (in order, after all blocks before the bad chunk), io, cancelled (by `progress`; stage "read").
void for_each_nonzero(const Tensor& tensor, const NonzeroVisitor& visit, const NonzeroOptions& options = {},
                      const ProgressCallback& progress = {});

// All nonzeros in the stored order, as CoordinateArrays takes them.
struct NonzeroColumns {
  std::vector<std::vector<std::uint64_t>> coordinates;  // per mode one index per nonzero, from 0
  std::vector<double> values;
};

// The same as columns. The result takes 8 (N + 1) bytes per nonzero, within memory_bytes; in_order has no effect.
// Throws as for_each_nonzero() does.
NonzeroColumns read_coordinates(const Tensor& tensor, const NonzeroOptions& options = {},
                                const ProgressCallback& progress = {});

// The nonzeros in the stored order, a chunk's as columns at a time, for callers that ask for the next ones themselves.
class NonzeroCursor {
 public:
  // `tensor` must outlive this; in_order has no effect. Memory, within memory_bytes: as for_each_nonzero(), and 8 (N +
  // 1) bytes per nonzero of the columns that next() gives. Throws as for_each_nonzero() does.
  explicit NonzeroCursor(const Tensor& tensor, const NonzeroOptions& options = {});
  ~NonzeroCursor();
  NonzeroCursor(NonzeroCursor&&) noexcept;
  NonzeroCursor& operator=(NonzeroCursor&&) noexcept;

  // The next chunk's; without values at the end. Throws Error: corrupt (once all chunks before the bad one were given),
  // io.
  NonzeroColumns next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace blco
