// Sizes the buffers by the chunks that lie in them; if one cannot be had, tries smaller ones, then spreads what there
// is.
#include "engine/stream/packed_memory.hpp"

#include <algorithm>
#include <numeric>

#include "blco/chunk.hpp"
#include "blco/error.hpp"

namespace blco {

PackedMemory::PackedMemory(const Allocate& give, std::span<const std::uint64_t> bytes, std::uint64_t slab_bytes)
    : places_(bytes.size()) {
  std::vector<std::uint64_t> slots;
  for (const std::uint64_t chunk : bytes) slots.push_back(payload_slot_bytes(chunk));
  const std::uint64_t wanted = std::accumulate(slots.begin(), slots.end(), std::uint64_t{0});
  const std::uint64_t given = allocate(give, slots, slab_bytes);
  if (given == wanted) shortage_.clear();  // smaller buffers did
  place(slots, given == wanted ? 1 : static_cast<double>(given) / static_cast<double>(wanted));
}

// Each slab holds as many of the next chunks as fit into `slab_bytes`, at least one. Returns the bytes of all slabs.
std::uint64_t PackedMemory::allocate(const Allocate& give, std::span<const std::uint64_t> bytes,
                                     std::uint64_t slab_bytes) {
  std::uint64_t given = 0;
  for (std::size_t chunk = 0; chunk < bytes.size();) {
    if (bytes[chunk] == 0) {
      ++chunk;
      continue;
    }
    std::uint64_t slab = bytes[chunk];
    std::size_t end = chunk + 1;
    while (end < bytes.size() && slab + bytes[end] <= slab_bytes) slab += bytes[end++];
    try {
      slabs_.push_back(give(slab));
      given += slab;
      chunk = end;
    } catch (const Error& error) {
      // The device's other calls say whether more than memory is amiss.
      shortage_ = error.what();
      if (end == chunk + 1) return given;
      slab_bytes = slab / 2;
    }
  }
  return given;
}

// Lays `share` of the chunks out in the slabs, each in the first that has room.
void PackedMemory::place(std::span<const std::uint64_t> bytes, double share) {
  double due = 0;
  std::vector<std::size_t> used(slabs_.size());
  std::size_t full = 0;  // slabs
  for (std::size_t chunk = 0; chunk < bytes.size(); ++chunk) {
    if (bytes[chunk] == 0) continue;
    due += share;
    if (due < 1 - 1e-9) continue;
    const auto size = static_cast<std::size_t>(bytes[chunk]);
    while (full < slabs_.size() && used[full] == slabs_[full]->bytes().size()) ++full;
    for (std::size_t slab = full; slab < slabs_.size(); ++slab) {
      const std::span<std::byte> memory = slabs_[slab]->bytes();
      if (memory.size() - used[slab] < size) continue;
      places_[chunk] = memory.subspan(used[slab], size);
      used[slab] += size;
      due -= 1;
      break;
    }
  }
}

}  // namespace blco
