// Numbers the keys of a mode by first appearance.
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

// Grows in small steps, so that it never takes more memory than memory_bytes() says.
class KeyDictionary {
 public:
  KeyDictionary();

  // Returns the number of a key; a new one gets the next number. `hash` is hash_key(key). Throws
  // Error{invalid_argument} if no number below 2^32 is left.
  std::uint32_t number_of(std::string_view key, std::uint32_t hash);
  // The number of a key that is there, else size().
  std::uint32_t find(std::string_view key, std::uint32_t hash) const;
  // Call some keys before number_of, whose memory accesses are scattered.
  void prefetch(std::uint32_t hash) const;

  std::uint64_t size() const { return size_; }
  std::uint64_t memory_bytes() const { return memory_bytes_; }

  // At most what so many keys with that much text take.
  static std::uint64_t max_memory_bytes(std::uint64_t keys, std::uint64_t text_bytes);

  // Returns all keys by number and empties the dictionary. Needs no more memory than the dictionary has.
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
  // The slots of hashes with the same leading bits; doubles when half full.
  struct Part {
    std::vector<Slot> slots;
    std::size_t used = 0;
  };
  static constexpr int part_bits = 6;
  static constexpr std::size_t keys_per_piece = 4096;
  static constexpr std::size_t text_piece_bytes = std::size_t{64} << 10;

  const Key& key(std::uint32_t number) const { return keys_[number / keys_per_piece][number % keys_per_piece]; }
  // Of the key, or where it would go.
  std::size_t place_of(const Part& part, std::string_view key, std::uint32_t hash) const;
  void add(std::string_view key);
  void grow(Part& part);

  std::array<Part, std::size_t{1} << part_bits> parts_;
  std::vector<std::unique_ptr<Key[]>> keys_;
  std::vector<std::unique_ptr<char[]>> texts_;
  char* text_at_ = nullptr;  // where the next text goes, in the last piece
  std::size_t text_left_ = 0;
  std::uint64_t text_bytes_ = 0;
  std::uint64_t size_ = 0;
  std::uint64_t memory_bytes_ = 0;
};

}  // namespace blco
