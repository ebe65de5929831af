// Numbers the keys of a mode by their first appearance.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "blco/labels.hpp"

namespace blco {

inline std::uint32_t hash_key(std::string_view key) {
  constexpr std::uint64_t multiplier = 0x9e3779b97f4a7c15;
  std::uint64_t hash = key.size() * multiplier;
  while (!key.empty()) {
    std::uint64_t word = 0;
    const std::size_t count = key.size() < sizeof(word) ? key.size() : sizeof(word);
    std::memcpy(&word, key.data(), count);
    hash = (hash ^ word) * multiplier;
    hash ^= hash >> 32;
    key.remove_prefix(count);
  }
  return static_cast<std::uint32_t>((hash * multiplier) >> 32);
}

// Grows by small steps, so that no more memory is ever taken than memory_bytes() says.
class KeyDictionary {
 public:
  KeyDictionary();

  // The number of a key, whose hash is that of hash_key; a new one gets the next number. Throws
  // Error{invalid_argument} where there is none left below 2^32.
  std::uint32_t number_of(std::string_view key, std::uint32_t hash);
  // Before number_of, some keys ahead: its memory is far apart.
  void prefetch(std::uint32_t hash) const;

  std::uint64_t size() const { return size_; }
  std::uint64_t memory_bytes() const { return memory_bytes_; }

  // All keys by their number; the dictionary is empty afterwards. Takes no more memory than the dictionary has.
  Labels take();

 private:
  struct Slot {
    std::uint32_t number_from_one = 0;  // 0: free
    std::uint32_t hash = 0;
  };
  struct Key {
    const char* text = nullptr;
    std::uint32_t length = 0;

    std::string_view view() const { return {text, length}; }
  };
  // The slots of the hashes that begin with the same bits; it doubles when it is half full.
  struct Part {
    std::vector<Slot> slots;
    std::size_t used = 0;
  };
  static constexpr int part_bits = 6;
  static constexpr std::size_t keys_per_piece = 4096;
  static constexpr std::size_t text_piece_bytes = std::size_t{64} << 10;

  const Key& key(std::uint32_t number) const { return keys_[number / keys_per_piece][number % keys_per_piece]; }
  void add(std::string_view key);
  void grow(Part& part);

  std::array<Part, std::size_t{1} << part_bits> parts_;
  std::vector<std::unique_ptr<Key[]>> keys_;
  std::vector<std::unique_ptr<char[]>> texts_;
  char* text_at_ = nullptr;  // where the next text goes, in the last of them
  std::size_t text_left_ = 0;
  std::uint64_t text_bytes_ = 0;
  std::uint64_t size_ = 0;
  std::uint64_t memory_bytes_ = 0;
};

}  // namespace blco
