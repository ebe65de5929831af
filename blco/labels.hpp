// The labels of a mode: texts that its coordinates stand for, such as the keys of a CSV column.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace blco {

// Label i names coordinate i, counted from 0. Copies share the texts, which do not change. Any byte may occur in one.
class Labels {
 public:
  // None: the coordinates of the mode are just numbers.
  Labels() = default;
  explicit Labels(std::span<const std::string> labels);
  // Label i is bytes [ends[i - 1], ends[i]) of `text`, the first from 0 on. Throws Error{corrupt}, without a place,
  // unless the ends ascend strictly up to the length of the text.
  Labels(std::string text, std::vector<std::uint64_t> ends);

  bool empty() const { return size() == 0; }
  std::uint64_t size() const { return shared_ ? shared_->ends.size() : 0; }
  // `coordinate` is below size(); the view lives as long as this or a copy.
  std::string_view operator[](std::uint64_t coordinate) const;

  // All of them, one after the other, and where each ends.
  std::string_view text() const { return shared_ ? std::string_view(shared_->text) : std::string_view(); }
  std::span<const std::uint64_t> ends() const;

  // Of `count` labels with `text_bytes` in all.
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

}  // namespace blco
