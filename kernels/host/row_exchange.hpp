// Moves nonzeros from the threads that decode them to the threads that own their output rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "blco/executor.hpp"
#include "kernels/aligned_buffer.hpp"
#include "kernels/host/frame_rows.hpp"

namespace blco {

// Returns n such that rows whose numbers differ only in the lowest n bits share a cache line. `row_bytes` is a power of
// two or whole cache lines.
int bits_within_a_line(std::uint64_t row_bytes);

// Works in rounds. In each round every part decodes some frames and splits their nonzeros by owner; then every owner
// adds those of the previous round, part by part. So threads add to their own rows without locks or copies, and each
// row's terms are added one by one in the order of the chunk: the numbers do not depend on the number of threads.
class RowExchange {
 public:
  // One part per thread of `executor`. Decoder and executor must outlive this.
  RowExchange(const TensorLayout& layout, const FrameDecoder& decoder, Executor& executor,
              const MemorySource& memory = {});
  // What all parts together split in a round.
  static std::uint64_t frames_of_a_round(int threads);

  // Called for each part by one thread at a time.
  using Add = std::function<void(std::size_t part, const NonzeroSpan& nonzeros)>;

  // Passes every nonzero of some frames to `add` on the part that owns its row of `mode`. Ignoring the lowest
  // `ignored_bits` of a row number gives rows on the same cache line the same owner. `rings` has one per part.
  void run(const FrameSource& source, FrameRange frames, int mode, int ignored_bits, std::span<FrameRing> rings,
           const Add& add);

 private:
  struct Segment {
    std::size_t begin = 0;
    std::size_t count = 0;
  };
  struct Tile {
    DecodedChunk entries;
    std::vector<Segment> segments;  // per owner
  };
  struct Part {
    std::array<Tile, 2> tiles;  // one is filled while the other is added
    DecodedChunk staged;        // not yet split
    std::vector<std::uint16_t> owners;
  };
  struct Job {
    const FrameSource& source;
    FrameRange frames;
    int mode;
    int ignored_bits;
    std::uint64_t mask;
    bool has_values;
    std::uint64_t rounds;
  };

  void split(const Job& job, std::uint64_t round, std::size_t number, FrameRing& ring);
  void add_owned(const Job& job, std::uint64_t round, std::size_t owner, const Add& add) const;

  const FrameDecoder& decoder_;
  Executor& executor_;
  bool has_high_word_;
  std::vector<Part> parts_;
};

}  // namespace blco
