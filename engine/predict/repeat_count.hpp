// How many entries repeat the coordinates of an earlier one, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "engine/common/counter_random.hpp"

namespace blco {

// Watches the cells whose hash is below a bound, which is halved whenever they become too many. So the number is exact
// for up to `most_cells` cells, and beyond that an estimate from so many.
class RepeatCount {
 public:
  static constexpr std::size_t most_cells = std::size_t{1} << 13;
  static constexpr std::uint64_t memory_bytes = most_cells * 64;

  void add(std::span<const std::uint64_t> point) {
    std::uint64_t hash = 0;
    for (std::size_t n = 0; n < point.size(); ++n) hash = RandomStream(hash, point[n]).bits(n);
    if (hash > bound_) return;
    ++entries_of_[hash];
    while (entries_of_.size() > most_cells) {
      bound_ /= 2;
      std::erase_if(entries_of_, [this](const auto& cell) { return cell.first > bound_; });
    }
  }

  std::uint64_t repeats() const {
    std::uint64_t repeats = 0;
    for (const auto& [hash, entries] : entries_of_) repeats += entries - 1;
    return static_cast<std::uint64_t>(static_cast<double>(repeats) * (0x1p64 / (static_cast<double>(bound_) + 1)));
  }

 private:
  std::uint64_t bound_ = ~std::uint64_t{0};
  std::unordered_map<std::uint64_t, std::uint64_t> entries_of_;  // per watched cell
};

}  // namespace blco
