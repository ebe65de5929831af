// Collects labels in small pieces, so that their growth copies nothing, and joins them at the end.
#include "io/table/label_file.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blco/refuse.hpp"
#include "io/table/key_dictionary.hpp"
#include "io/text/quoted_text.hpp"
#include "io/text/text_source.hpp"
#include "io/text/tns_block.hpp"

namespace blco {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t read_bytes = std::size_t{256} << 10;
// Of the memory of labels: the largest window of a zstd stream beyond 8 MiB.
constexpr std::uint64_t window_part = 32;
constexpr std::size_t piece_bytes = std::size_t{1} << 20;

// The lines of a file, without their ends.
class Lines {
 public:
  Lines(const fs::path& file, std::uint64_t window_bytes)
      : file_(file), source_(open_text_source(file, window_bytes)), buffer_(read_bytes) {}

  // False at the end. The view is valid until the next call.
  bool next(std::string_view& line) {
    for (std::size_t seen = 0;;) {
      const std::string_view rest(buffer_.data() + begin_, end_ - begin_);
      const std::size_t length = rest.find('\n', seen);
      if (length != std::string_view::npos) {
        line = rest.substr(0, length);
        begin_ += length + 1;
        break;
      }
      seen = rest.size();
      if (read()) continue;
      line = {buffer_.data() + begin_, seen};
      begin_ = end_;
      if (seen == 0) return false;
      break;
    }
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++lines_;
    return true;
  }

 private:
  // Moves the unfinished line to the front of the buffer and appends to it; false at the end of the file.
  bool read() {
    std::move(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
              buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
    end_ -= begin_;
    begin_ = 0;
    if (end_ > max_tns_line_bytes) {
      refuse("line " + std::to_string(lines_ + 1) + " of " + file_.string() +
             " is longer than 1 MiB; is this a file of labels, one a line?");
    }
    if (end_ == buffer_.size()) buffer_.resize(2 * buffer_.size());
    const std::size_t got = source_->read({buffer_.data() + end_, buffer_.size() - end_});
    end_ += got;
    return got > 0;
  }

  fs::path file_;
  std::uint64_t lines_ = 0;  // so far
  std::unique_ptr<TextSource> source_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

class LabelPieces {
 public:
  void add(std::string_view label) {
    if (texts_.empty() || texts_.back().size() + label.size() > texts_.back().capacity()) {
      texts_.emplace_back().reserve(std::max(piece_bytes, label.size()));
    }
    texts_.back() += label;
    text_bytes_ += label.size();
    ends_.push_back(text_bytes_);
  }

  void clear() { *this = LabelPieces(); }

  // Frees each piece once it is copied.
  Labels take() {
    std::vector<std::uint64_t> ends;
    ends.reserve(ends_.size());
    for (; !ends_.empty(); ends_.pop_front()) ends.push_back(ends_.front());
    std::string text;
    text.reserve(static_cast<std::size_t>(text_bytes_));
    for (; !texts_.empty(); texts_.pop_front()) text += texts_.front();
    return {std::move(text), std::move(ends)};
  }

 private:
  std::deque<std::string> texts_;
  std::deque<std::uint64_t> ends_;
  std::uint64_t text_bytes_ = 0;
};

void check_line(std::string_view line, std::uint64_t number, const fs::path& file) {
  const auto at = [&] { return "line " + std::to_string(number) + " of " + file.string(); };
  if (line.empty()) {
    refuse(at() + " is empty, but every line is the label of one index; write a label, or remove the line");
  }
  if (number > std::numeric_limits<std::uint32_t>::max()) {
    refuse(at() + ": a mode has fewer than 2^32 labels; is this the right file?");
  }
  const auto invalid = find_invalid_utf8(line);
  if (!invalid) return;
  constexpr std::string_view digits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(line[*invalid]);
  const std::string hex = {'0', 'x', digits[byte / 16], digits[byte % 16]};
  refuse(at() + " is not UTF-8: its byte " + std::to_string(*invalid + 1) + " is " + hex +
         "; convert the text, such as with iconv -f LATIN1 -t UTF-8");
}

}  // namespace

LabelFile read_label_file(const fs::path& file, std::uint64_t max_bytes) {
  check_readable(file);
  Lines lines(file, max_bytes / window_part);
  LabelPieces pieces;
  LabelFile result;
  std::uint64_t count = 0;
  for (std::string_view line; lines.next(line);) {
    if (++count == 1 && line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
    check_line(line, count, file);
    result.memory_bytes += Labels::memory_bytes(1, line.size());
    if (result.memory_bytes <= max_bytes) {
      pieces.add(line);
    } else {
      pieces.clear();
    }
  }
  if (count == 0) refuse(file.string() + " is empty; it must have one label a line, of all indices of its mode");
  if (result.memory_bytes <= max_bytes) result.labels = pieces.take();
  return result;
}

std::uint64_t count_repeated_labels(const Labels& labels) {
  struct Place {
    std::uint32_t hash;
    std::uint32_t coordinate;
  };
  std::vector<Place> places(static_cast<std::size_t>(labels.size()));
  for (std::uint32_t i = 0; i < places.size(); ++i) places[i] = {hash_key(labels[i]), i};
  std::ranges::sort(places, [&](const Place& a, const Place& b) {
    return a.hash != b.hash ? a.hash < b.hash : labels[a.coordinate] < labels[b.coordinate];
  });
  std::uint64_t repeated = 0;
  for (std::size_t first = 0, last = 0; first < places.size(); first = last) {
    const std::string_view label = labels[places[first].coordinate];
    for (last = first + 1; last < places.size() && labels[places[last].coordinate] == label;) ++last;
    repeated += last - first > 1 ? 1 : 0;
  }
  return repeated;
}

}  // namespace blco
