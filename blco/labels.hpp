// The labels of a mode: names of its coordinates, such as the keys of a CSV column.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace blco {

// Label i names coordinate i, counted from 0; it may contain any byte. Copies share the immutable text.
class Labels {
 public:
  // No labels: the coordinates of the mode are just numbers.
  Labels() = default;
  // Throws Error{invalid_argument} if one is empty.
  explicit Labels(std::span<const std::string> labels);
  // Label i is bytes [ends[i - 1], ends[i]) of `text`; the first starts at 0. Throws Error{corrupt}, without naming a
  // place, unless the ends ascend strictly up to the length of the text.
  Labels(std::string text, std::vector<std::uint64_t> ends);

  bool empty() const { return size() == 0; }
  std::uint64_t size() const { return shared_ ? shared_->ends.size() : 0; }
  // The view lives as long as this object or a copy of it. Requires: coordinate < size().
  std::string_view operator[](std::uint64_t coordinate) const;

  // All labels concatenated, and where each ends.
  std::string_view text() const { return shared_ ? std::string_view(shared_->text) : std::string_view(); }
  std::span<const std::uint64_t> ends() const;

  // Memory of `count` labels with `text_bytes` of text in total.
  static constexpr std::uint64_t memory_bytes(std::uint64_t count, std::uint64_t text_bytes) {
    return count * sizeof(std::uint64_t) + text_bytes;
  }
  std::uint64_t memory_bytes() const { return memory_bytes(size(), text().size()); }

  friend bool operator==(const Labels& a, const Labels& b) {
    return a.text() == b.text() && std::ranges::equal(a.ends(), b.ends());
  }

 private:
  struct Shared {
    std::string text;
    std::vector<std::uint64_t> ends;
  };
  std::shared_ptr<const Shared> shared_;
};

// Of all modes.
inline std::uint64_t memory_bytes(std::span<const Labels> labels) {
  std::uint64_t bytes = 0;
  for (const Labels& mode : labels) bytes += mode.memory_bytes();
  return bytes;
}

}  // namespace blco
