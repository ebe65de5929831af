// Decoded chunks arranged for passes of one mode: nonzeros sorted by target row, so that one thread adds up each row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "blco/executor.hpp"
#include "kernels/aligned_buffer.hpp"
#include "kernels/host/frame_rows.hpp"

namespace blco {

// Mean nonzeros of a fiber, neighbours of one target row that differ in one other mode only, from which it is faster to
// add them up before their other rows multiply the sum. In shorter ones a processor too often mistakes where they end.
inline constexpr std::uint64_t min_fiber_nnz = 8;

// Nonzeros and chunks that are arranged together, or one chunk that has more. They lie near each other in all modes.
// Rows of more nonzeros would lie so far apart that no cache holds them, and passes would take up to twice the time of
// those over chunks that are not arranged.
inline constexpr std::uint64_t most_arranged_nnz = std::uint64_t{1} << 20;
inline constexpr std::uint64_t most_arranged_chunks = 1024;

// Arranging pays off after about this many passes of a mode, so short jobs skip it.
inline constexpr int passes_before_arranging = 8;

// Nonzeros of a row keep the order of the chunks, unless they are in fibers.
struct ArrangedNonzeros {
  // The targets of a thread at a time.
  struct Part {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool shares_first = false;  // the row of its first target is also that of parts before it
  };

  std::vector<int> modes;                    // of the factors; that along fibers is last
  AlignedBuffer<std::uint32_t> targets;      // rows of the output
  AlignedBuffer<std::uint32_t> target_ends;  // where the nonzeros of each end, or its fibers if there are any
  std::vector<AlignedBuffer<std::uint32_t>>
      rows;                                 // per factor and nonzero; but for the last per fiber, if there are any
  AlignedBuffer<std::uint32_t> fiber_ends;  // where the nonzeros of each end; empty: there are none
  AlignedBuffer<double> values;             // empty: all are 1
  std::vector<Part> parts;
};

struct ArrangeRequest {
  int order = 0;
  int mode = 0;
  std::size_t parts = 1;
  // Parts have equal shares of the nonzeros. Otherwise all nonzeros of a row are in one part: the numbers of a pass do
  // not depend on the number of parts.
  bool splits_rows = false;
  bool has_fibers = false;  // where they are long
};

// What the modes share while they are arranged: of the same chunks an estimate of how many fibers along each mode have
// nonzeros, empty before the first; and room to sort.
struct ArrangeScratch {
  std::vector<double> fibers;
  AlignedBuffer<std::byte> entries;
  AlignedBuffer<std::byte> next;
};

// Arranges the nonzeros of decoded chunks, at most most_arranged_nnz of most_arranged_chunks or one chunk. Returns
// nothing if rows are too unequal to be shared out among the threads whole. One ring per thread of `executor`.
std::optional<ArrangedNonzeros> arrange(const FrameDecoder& decoder, std::span<const FrameSource> chunks,
                                        const ArrangeRequest& request, ArrangeScratch& scratch,
                                        std::span<FrameRing> rings, Executor& executor);

// Upper bounds: of the memory of ArrangedNonzeros for a mode of `rows`, and of what arrange() takes beside it.
std::uint64_t arranged_bytes(int order, std::uint64_t nnz, std::uint64_t rows, std::size_t parts);
std::uint64_t arranging_bytes(int order, std::uint64_t nnz, int threads, bool has_fibers);

}  // namespace blco
