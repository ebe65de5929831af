// Recognises headers by their first lines; unlike any of them, a line of FROSTT text has two fields or more.
#include "io/text/text_preamble.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>
#include <system_error>

#include "blco/error.hpp"
#include "blco/layout.hpp"
#include "io/text/tns_value.hpp"

namespace blco {
namespace {

struct NeedsMore {};

// The lines of a text that may be cut off within one.
class Lines {
 public:
  Lines(std::string_view text, bool is_whole) : text_(text), is_whole_(is_whole) {}

  // Returns the next line without its end; empty at the end of the file.
  std::string_view next() {
    const std::size_t end = text_.find('\n', at_);
    if (end == std::string_view::npos && !is_whole_) throw NeedsMore{};
    std::string_view line = text_.substr(at_, end == std::string_view::npos ? end : end - at_);
    at_ = end == std::string_view::npos ? text_.size() : end + 1;
    ++count_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

  bool at_end() const { return is_whole_ && at_ == text_.size(); }
  std::size_t bytes() const { return at_; }
  std::uint64_t count() const { return count_; }

 private:
  std::string_view text_;
  bool is_whole_;
  std::size_t at_ = 0;
  std::uint64_t count_ = 0;
};

// The whole numbers of a line; empty if it contains anything else.
std::vector<std::uint64_t> whole_numbers(std::string_view line) {
  std::vector<std::uint64_t> numbers;
  for (const std::string_view field : split_fields(line)) {
    std::uint64_t number = 0;
    const auto [end, fault] = std::from_chars(field.data(), field.data() + field.size(), number);
    if (fault != std::errc{} || end != field.data() + field.size()) return {};
    numbers.push_back(number);
  }
  return numbers;
}

void take_header(TextPreamble& preamble, const Lines& lines) {
  preamble.bytes = lines.bytes();
  preamble.lines = lines.count();
}

// Reads the order, and that many lengths from the next line; false if the text differs.
bool read_shape(std::string_view order_line, Lines& lines, TextPreamble& preamble) {
  const std::vector<std::uint64_t> order = whole_numbers(order_line);
  if (order.size() != 1 || order[0] < 1 || order[0] > max_order) return false;
  preamble.shape = whole_numbers(lines.next());
  return preamble.shape.size() == order[0] && std::ranges::find(preamble.shape, 0) == preamble.shape.end();
}

std::optional<TextPreamble> find_genten(Lines lines) {
  TextPreamble preamble{.format = "GenTen"};
  if (lines.next() != "sptensor" || !read_shape(lines.next(), lines, preamble)) return {};
  const std::vector<std::uint64_t> count = whole_numbers(lines.next());
  if (count.size() != 1) return {};
  preamble.line_count = count[0];
  take_header(preamble, lines);
  return preamble;
}

std::optional<TextPreamble> find_parti(Lines lines) {
  TextPreamble preamble{.format = "ParTI"};
  if (!read_shape(lines.next(), lines, preamble)) return {};
  take_header(preamble, lines);
  return preamble;
}

class MatrixMarket {
 public:
  MatrixMarket(Lines lines, const std::filesystem::path& file) : lines_(lines), file_(&file) {}

  TextPreamble read() {
    TextPreamble preamble{.format = "Matrix Market", .counts_from_one = true};
    read_banner(preamble);
    std::string_view line = lines_.next();
    while (!lines_.at_end() && (line.starts_with('%') || split_fields(line).empty())) line = lines_.next();
    const std::vector<std::uint64_t> sizes = whole_numbers(line);
    if (sizes.size() != 3 || sizes[0] == 0 || sizes[1] == 0) {
      refuse("this line must hold the numbers of rows, columns and entries, as three whole numbers");
    }
    preamble.shape = {sizes[0], sizes[1]};
    preamble.line_count = sizes[2];
    if (preamble.symmetry != Symmetry::none && sizes[0] != sizes[1]) {
      refuse("a symmetric matrix must have as many rows as columns; correct the header");
    }
    take_header(preamble, lines_);
    return preamble;
  }

 private:
  void read_banner(TextPreamble& preamble) {
    std::string banner(lines_.next());
    std::ranges::transform(banner, banner.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    std::vector<std::string_view> words = split_fields(banner);
    words.resize(5);
    if (words[1] != "matrix" || words[2] != "coordinate") {
      refuse("only Matrix Market files of the kind \"matrix coordinate\" can be read; write the matrix in that form");
    }
    if (words[3] != "real" && words[3] != "integer" && words[3] != "pattern") {
      refuse(
          "only real, integer and pattern entries of Matrix Market files can be read; split complex "
          "entries into their real and imaginary parts");
    }
    preamble.has_values = words[3] != "pattern";
    if (words[4] == "symmetric") {
      preamble.symmetry = Symmetry::symmetric;
    } else if (words[4] == "skew-symmetric") {
      preamble.symmetry = Symmetry::skew;
    } else if (words[4] != "general") {
      refuse("the symmetry of a real Matrix Market file must be general, symmetric or skew-symmetric");
    }
  }

  [[noreturn]] void refuse(const std::string& message) const {
    throw Error(ErrorKind::invalid_argument,
                "line " + std::to_string(lines_.count()) + " of " + file_->string() + ": " + message);
  }

  Lines lines_;
  const std::filesystem::path* file_;
};

}  // namespace

std::optional<TextPreamble> find_preamble(std::string_view text, bool is_whole, const std::filesystem::path& file) {
  const Lines lines(text, is_whole);
  try {
    const std::string_view first = Lines(lines).next();
    if (first.starts_with("%%MatrixMarket")) return MatrixMarket(lines, file).read();
    if (split_fields(first).size() != 1) return TextPreamble{};
    for (const auto find : {find_genten, find_parti}) {
      if (std::optional<TextPreamble> found = find(lines)) return found;
    }
    return TextPreamble{};
  } catch (const NeedsMore&) {
    return {};
  }
}

}  // namespace blco
