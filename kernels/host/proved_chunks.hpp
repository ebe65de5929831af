// Which chunks have no row outside their ranges, as a pass over all of their frames has found: a later pass over the
// same payloads need not look again.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "blco/crc32c.hpp"
#include "blco/payload.hpp"
#include "kernels/host/frame_rows.hpp"

namespace blco {

// A chunk is told by its number, nonzeros and ranges, and by the lengths and checksums in the headers of its index and
// key payloads, which whoever read them has compared with their bytes. Both are of packed chunks only.
class ProvedChunks {
 public:
  // Chunks from this number on are not remembered, so that the memory has a bound: 384 KiB.
  static constexpr std::uint64_t most_chunks = std::uint64_t{1} << 14;

  bool has(const FrameSource& source) const {
    return source.chunk < proofs_.size() && proofs_[source.chunk] == proof_of(source);
  }

  // Requires: the rows of all its frames have been checked. The first chunk with a number stays: sampled and held out
  // entries come under the numbers of the tensor's own chunks.
  void add(const FrameSource& source) {
    if (source.chunk >= most_chunks) return;
    if (source.chunk >= proofs_.size()) proofs_.resize(source.chunk + 1);
    if (proofs_[source.chunk] == Proof{}) proofs_[source.chunk] = proof_of(source);
  }

 private:
  // A payload has fewer than 2^32 bytes. No chunk equals the initial value: a payload has a length.
  struct Proof {
    std::uint32_t nnz = 0;
    std::uint32_t range_crc = 0;
    std::array<std::uint32_t, 2> length{};
    std::array<std::uint32_t, 2> crc{};

    friend bool operator==(const Proof&, const Proof&) = default;
  };
  static_assert(max_payload_bytes(max_chunk_nnz) < std::uint64_t{1} << 32);
  static_assert(most_chunks * sizeof(Proof) == std::uint64_t{384} << 10);

  static Proof proof_of(const FrameSource& source) {
    Proof proof{static_cast<std::uint32_t>(source.nnz), crc32c(std::as_bytes(std::span(source.range)))};
    for (std::size_t i = 0; const PayloadView* const payload : {&source.index, &source.key}) {
      if (payload->bytes != nullptr) {
        PayloadHeader header;
        std::memcpy(&header, payload->bytes, sizeof(header));
        proof.length[i] = static_cast<std::uint32_t>(header.length);
        proof.crc[i] = header.crc;
      }
      ++i;
    }
    return proof;
  }

  std::vector<Proof> proofs_;  // by number
};

}  // namespace blco
