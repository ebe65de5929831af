// Open addressing in parts that grow one by one; keys and texts are in pieces that never move.
#include "io/table/key_dictionary.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "blco/error.hpp"

namespace blco {
namespace {

constexpr std::size_t first_slots = 16;

}  // namespace

KeyDictionary::KeyDictionary() {
  for (Part& part : parts_) part.slots.resize(first_slots);
  memory_bytes_ = parts_.size() * first_slots * sizeof(Slot);
}

std::size_t KeyDictionary::place_of(const Part& part, std::string_view wanted, std::uint32_t hash) const {
  std::size_t at = hash & (part.slots.size() - 1);
  for (; part.slots[at].number_from_one != 0; at = (at + 1) & (part.slots.size() - 1)) {
    const Slot& slot = part.slots[at];
    if (slot.hash == hash && key(slot.number_from_one - 1).view() == wanted) break;
  }
  return at;
}

std::uint32_t KeyDictionary::number_of(std::string_view wanted, std::uint32_t hash) {
  Part& part = parts_[hash >> (32 - part_bits)];
  Slot& slot = part.slots[place_of(part, wanted, hash)];
  if (slot.number_from_one != 0) return slot.number_from_one - 1;
  if (size_ == std::numeric_limits<std::uint32_t>::max()) {
    throw Error(ErrorKind::invalid_argument,
                "a mode has more than 2^32 - 1 keys; leave out its column, or merge some of its keys");
  }
  const auto number = static_cast<std::uint32_t>(size_);
  add(wanted);
  slot = {number + 1, hash};
  if (2 * ++part.used > part.slots.size()) grow(part);
  return number;
}

std::uint32_t KeyDictionary::find(std::string_view wanted, std::uint32_t hash) const {
  const Part& part = parts_[hash >> (32 - part_bits)];
  const Slot& slot = part.slots[place_of(part, wanted, hash)];
  return slot.number_from_one != 0 ? slot.number_from_one - 1 : static_cast<std::uint32_t>(size_);
}

std::uint64_t KeyDictionary::max_memory_bytes(std::uint64_t keys, std::uint64_t text_bytes) {
  // A part has at most four slots a key, and the old ones too while it grows; at the end of a piece of text, less than
  // the next key has stays free.
  constexpr std::uint64_t slots = 4 * sizeof(Slot);
  constexpr std::uint64_t parts = std::uint64_t{1} << part_bits;
  return parts * first_slots * sizeof(Slot) + keys * (slots + sizeof(Key)) + keys_per_piece * sizeof(Key) +
         2 * text_bytes + text_piece_bytes;
}

void KeyDictionary::add(std::string_view text) {
  if (size_ % keys_per_piece == 0) {
    keys_.push_back(std::make_unique<Key[]>(keys_per_piece));
    memory_bytes_ += keys_per_piece * sizeof(Key);
  }
  if (text.size() > text_left_) {
    text_left_ = std::max(text_piece_bytes, text.size());
    texts_.push_back(std::make_unique_for_overwrite<char[]>(text_left_));
    text_at_ = texts_.back().get();
    memory_bytes_ += text_left_;
  }
  std::copy(text.begin(), text.end(), text_at_);
  keys_.back()[size_ % keys_per_piece] = {text_at_, static_cast<std::uint32_t>(text.size())};
  text_at_ += text.size();
  text_left_ -= text.size();
  text_bytes_ += text.size();
  ++size_;
}

void KeyDictionary::grow(Part& part) {
  const std::vector<Slot> old = std::exchange(part.slots, std::vector<Slot>(2 * part.slots.size()));
  memory_bytes_ += old.size() * sizeof(Slot);
  const std::size_t mask = part.slots.size() - 1;
  for (const Slot& slot : old) {
    if (slot.number_from_one == 0) continue;
    std::size_t at = slot.hash & mask;
    while (part.slots[at].number_from_one != 0) at = (at + 1) & mask;
    part.slots[at] = slot;
  }
}

Labels KeyDictionary::take() {
  for (Part& part : parts_) std::vector<Slot>().swap(part.slots);
  std::vector<std::uint64_t> ends(static_cast<std::size_t>(size_));
  std::string text;
  text.reserve(static_cast<std::size_t>(text_bytes_));
  std::size_t piece = 0;
  for (std::size_t n = 0; n < ends.size(); ++n) {
    const Key& one = key(static_cast<std::uint32_t>(n));
    // Texts are in the order of their numbers, so the first one in a new piece shows that the previous piece is done.
    while (piece + 1 < texts_.size() && one.text == texts_[piece + 1].get()) texts_[piece++].reset();
    text.append(one.view());
    ends[n] = text.size();
    if ((n + 1) % keys_per_piece == 0) keys_[n / keys_per_piece].reset();
  }
  *this = KeyDictionary();
  return {std::move(text), std::move(ends)};
}

}  // namespace blco
