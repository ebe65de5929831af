// Cuts blocks after the last end of a line or row, and carries the rest over to the next block.
#include "io/text/block_reader.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "blco/error.hpp"
#include "io/text/text_scan.hpp"
#include "io/text/tns_block.hpp"

namespace blco {
namespace {

const char* find_byte(const char* at, const char* end, char wanted) {
  return static_cast<const char*>(std::memchr(at, wanted, static_cast<std::size_t>(end - at)));
}

const char* find_last_byte(const char* at, const char* end, char wanted) {
  return static_cast<const char*>(::memrchr(at, wanted, static_cast<std::size_t>(end - at)));
}

constexpr std::size_t growth_bytes = std::size_t{64} << 10;
constexpr std::size_t first_bytes = 512;
// Longer texts are not taken for headers.
constexpr std::size_t max_header_bytes = std::size_t{1} << 20;

void end_block(TextBlock& block, std::size_t size) {
  block.text.resize(std::max(block.text.size(), size + 1 + text_padding));
  if (size > 0 && block.text[size - 1] != '\n') block.text[size++] = '\n';
  block.text_bytes = size;
}

// What programs and crashes leave behind the text, in its last line. Other control characters are for the parsers.
void refuse_tail(std::string_view text, const std::filesystem::path& file) {
  const char last = text.empty() ? '\n' : text.back();
  if (last != '\0' && last != '\x1a') return;
  std::string_view line = text.substr(text.rfind('\n') + 1);  // npos + 1 is 0
  line = line.substr(0, line.find_last_not_of(std::string_view("\0\x1a", 2)) + 1);
  if (std::ranges::any_of(line, [](char c) { return c >= 0 && c < ' ' && c != '\t' && c != '\r'; })) return;
  throw Error(
      ErrorKind::invalid_argument,
      file.string() + (last == '\0' ? ": the text ends in NUL bytes, as a file does that was not written to its "
                                      "end; copy it again, or remove them if they are padding (for example: tr "
                                      "-d '\\000' <FILE)"
                                    : ": the text ends in Ctrl-Z, with which DOS programs end a file; remove "
                                      "it (for example: tr -d '\\032' <FILE)"));
}

}  // namespace

// Jumps from quote to quote.
std::size_t RowScan::find_end(std::string_view text) {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const char* at = begin + at_;
  const auto open = [&](const char* quote) {
    is_open_ = true;
    at = quote + 1;
  };
  while (at != end) {
    if (is_open_) {
      const char* const quote = find_byte(at, end, '"');
      at = quote == nullptr ? end : quote;
      if (quote == nullptr || quote + 1 == end) break;  // the next byte tells whether a last quote closes the field
      at = quote + (quote[1] == '"' ? 2 : 1);
      if (quote[1] == '"') continue;
      is_open_ = false;
      // Most often a quoted field or the end of the row comes next.
      if (*at == '\n') end_ = static_cast<std::size_t>(at - begin) + 1;
      if ((*at == separator_ || *at == '\n') && at + 1 != end && at[1] == '"') {
        open(at + 1);
        continue;
      }
    }
    const char* const quote = find_byte(at, end, '"');
    const char* const newline = find_last_byte(at, quote == nullptr ? end : quote, '\n');
    if (newline != nullptr) end_ = static_cast<std::size_t>(newline - begin) + 1;
    at = quote == nullptr ? end : quote + 1;
    if (quote == nullptr) break;
    if (quote == begin || quote[-1] == separator_ || quote[-1] == '\n') open(quote);
  }
  at_ = static_cast<std::size_t>(at - begin);
  return end_;
}

bool BlockCutter::fill(TextBlock& block) {
  while (source_ || file_ < files_.size()) {
    block.first_of_file = !source_;
    if (!source_) open_file();
    block.file = file_;
    block.preamble = &preambles_.back();
    block.skipped_lines = skipped_lines_;
    const bool file_ended = fill_from_file(block);
    block.bytes_read = earlier_bytes_ + source_->bytes_read();
    if (file_ended) {
      earlier_bytes_ = block.bytes_read;
      source_.reset();
      ++file_;
    }
    if (block.text_bytes > 0) return true;
  }
  return false;
}

void BlockCutter::open_file() {
  source_ = open_text_source(files_[file_], options_.window_bytes);
  carry_.clear();
  skipped_lines_ = 0;
  preambles_.emplace_back();
  if (options_.skip_lines > 0) skip_lines();
  if (options_.skip_lines == 0 || options_.find_header) find_header();
}

// Reads `bytes`, so that no text depends on how a pipe delivers it. Returns false at the end of the file.
bool BlockCutter::read_more(std::size_t bytes) {
  const std::size_t goal = carry_.size() + bytes;
  std::size_t size = carry_.size();
  carry_.resize(goal);
  while (size < goal) {
    const std::size_t got = source_->read(std::span(carry_).subspan(size));
    if (got == 0) break;
    size += got;
  }
  carry_.resize(size);
  return size > goal - bytes;
}

void BlockCutter::find_header() {
  const std::size_t least = std::min(first_bytes, options_.block_bytes);
  for (bool is_whole = false;; is_whole = !read_more(std::max(least, carry_.size()))) {
    const std::string_view text(carry_.data(), carry_.size());
    const auto found = options_.find_header ? options_.find_header(text, is_whole, file_, skipped_lines_)
                                            : find_preamble(text, is_whole, files_[file_]);
    if (found) {
      preambles_.back() = *found;
      carry_.erase(carry_.begin(), carry_.begin() + static_cast<std::ptrdiff_t>(found->bytes));
      skipped_lines_ += found->lines;
      return;
    }
    if (is_whole || carry_.size() > max_header_bytes) return;
  }
}

void BlockCutter::skip_lines() {
  while (skipped_lines_ < options_.skip_lines) {
    carry_.clear();
    if (!read_more(growth_bytes)) return;
    const char* at = carry_.data();
    const char* const end = at + carry_.size();
    while (at != end && skipped_lines_ < options_.skip_lines) {
      const void* newline = std::memchr(at, '\n', static_cast<std::size_t>(end - at));
      at = newline == nullptr ? end : static_cast<const char*>(newline) + 1;
      skipped_lines_ += newline != nullptr;
    }
    carry_.erase(carry_.begin(), carry_.begin() + (at - carry_.data()));
  }
}

// Returns true at the end of the file.
bool BlockCutter::fill_from_file(TextBlock& block) {
  std::vector<char>& text = block.text;
  std::size_t size = carry_.size();
  std::size_t goal = std::max(options_.block_bytes, size);
  text.resize(std::max(text.size(), goal));
  std::copy(carry_.begin(), carry_.end(), text.begin());
  carry_.clear();
  const char separator = preambles_.back().separator;
  RowScan rows(separator);
  for (;;) {
    while (size < goal) {
      const std::size_t got = source_->read(std::span(text).subspan(size, goal - size));
      if (got == 0) {
        refuse_tail({text.data(), size}, files_[file_]);
        end_block(block, size);
        return true;
      }
      size += got;
    }
    const std::string_view filled(text.data(), size);
    const std::size_t cut = separator == 0 ? filled.rfind('\n') + 1 : rows.find_end(filled);
    if (cut > 0 || size > max_tns_line_bytes) {  // the parser refuses a line or row that is too long
      const std::size_t end = cut > 0 ? cut : size;
      carry_.assign(text.begin() + static_cast<std::ptrdiff_t>(end), text.begin() + static_cast<std::ptrdiff_t>(size));
      end_block(block, end);
      return false;
    }
    goal = size + growth_bytes;
    text.resize(std::max(text.size(), goal));
  }
}

}  // namespace blco
