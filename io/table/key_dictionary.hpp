// Numbers the keys of a mode by first appearance.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "blco/labels.hpp"

namespace blco {

inline std::uint64_t load_word(const char* at) {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

// A text of less than eight bytes as a word; no byte behind them is read.
inline std::uint64_t load_short(std::string_view text) {
  const auto byte = [&](std::size_t at) { return std::uint64_t{static_cast<unsigned char>(text[at])} << 8 * at; };
  if (text.empty()) return 0;
  if (text.size() < 4) return byte(0) | byte(text.size() / 2) | byte(text.size() - 1);
  std::uint32_t first;
  std::uint32_t last;
  std::memcpy(&first, text.data(), sizeof(first));
  std::memcpy(&last, text.data() + text.size() - sizeof(last), sizeof(last));
  return std::uint64_t{first} | std::uint64_t{last} << 8 * (text.size() - sizeof(last));
}

// Files depend on it: hold_out() decides by it.
inline std::uint32_t hash_key(std::string_view key) {
  constexpr std::uint64_t multiplier = 0x9e3779b97f4a7c15;
  std::uint64_t hash = key.size() * multiplier;
  const auto add = [&hash](std::uint64_t word) {
    hash = (hash ^ word) * multiplier;
    hash ^= hash >> 32;
  };
  std::size_t at = 0;
  for (; at + 8 <= key.size(); at += 8) add(load_word(key.data() + at));
  const std::size_t left = key.size() - at;
  if (left > 0) add(at == 0 ? load_short(key) : load_word(key.data() + key.size() - 8) >> 8 * (8 - left));
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
  // Replaces hashes of keys, whose texts text_of(i) gives, by their numbers as find() has them. Keys miss the caches,
  // so several are looked up at a time.
  template <class TextOf>
  void find_all(const TextOf& text_of, std::span<std::uint32_t> hashes) const {
    const std::size_t count = hashes.size();
    for (std::size_t i = 0; i < count + 3 * keys_ahead; ++i) {
      if (i < count) prefetch(hashes[i]);
      if (const std::size_t at = i - keys_ahead; at < count) __builtin_prefetch(key_at_home(hashes[at]));
      if (const std::size_t at = i - 2 * keys_ahead; at < count) __builtin_prefetch(key_at_home(hashes[at])->text);
      if (const std::size_t at = i - 3 * keys_ahead; at < count) hashes[at] = find(text_of(at), hashes[at]);
    }
  }
  // Call keys_ahead keys before number_of, whose memory accesses are scattered.
  static constexpr std::size_t keys_ahead = 16;
  void prefetch(std::uint32_t hash) const { __builtin_prefetch(&home_of(hash)); }

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

  const Slot& home_of(std::uint32_t hash) const {
    const Part& part = parts_[hash >> (32 - part_bits)];
    return part.slots[hash & (part.slots.size() - 1)];
  }
  // Most often the key of the hash, if there is one; else any.
  const Key* key_at_home(std::uint32_t hash) const {
    static constexpr Key none;
    const std::uint32_t number_from_one = home_of(hash).number_from_one;
    return number_from_one == 0 ? &none : &key(number_from_one - 1);
  }

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
