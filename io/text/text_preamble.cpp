// Recognises headers by their first lines.
#include "io/text/text_preamble.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>
#include <system_error>
#include <utility>

#include "blco/error.hpp"
#include "blco/layout.hpp"
#include "io/text/quoted_text.hpp"
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

// The order and the number of entries, then the lengths, behind comments. Without this header the two lines and the
// next would be of different orders.
std::optional<TextPreamble> find_extended(Lines lines) {
  TextPreamble preamble{.format = "extended FROSTT"};
  const auto next_line = [&lines] {
    std::string_view line = lines.next();
    while (!lines.at_end() && (line.starts_with('#') || split_fields(line).empty())) line = lines.next();
    return line;
  };
  const std::vector<std::uint64_t> sizes = whole_numbers(next_line());
  if (sizes.size() != 2 || sizes[0] < 1 || sizes[0] > max_order) return {};
  preamble.shape = whole_numbers(next_line());
  if (preamble.shape.size() != sizes[0] || std::ranges::find(preamble.shape, 0) != preamble.shape.end()) return {};
  preamble.line_count = sizes[1];
  take_header(preamble, lines);
  return split_fields(next_line()).size() == sizes[0] + 1 ? std::optional(preamble) : std::nullopt;
}

class MatrixMarket {
 public:
  MatrixMarket(Lines lines, const std::filesystem::path& file) : lines_(lines), file_(&file) {}

  TextPreamble read() {
    TextPreamble preamble{.format = "Matrix Market", .counts_from_one = true};
    read_banner(preamble);
    std::string_view line = lines_.next();
    while (!lines_.at_end() && (line.starts_with('%') || split_fields(line).empty())) line = lines_.next();
    std::vector<std::uint64_t> sizes = whole_numbers(line);
    const bool is_order = is_tensor_ ? sizes.size() > 1 && sizes.size() <= max_order + 1 : sizes.size() == 3;
    if (!is_order || std::ranges::find(sizes.begin(), sizes.end() - 1, 0) != sizes.end() - 1) {
      refuse(is_tensor_ ? "this line must hold the lengths of the modes and the number of entries, as whole numbers"
                        : "this line must hold the numbers of rows, columns and entries, as three whole numbers");
    }
    preamble.line_count = sizes.back();
    sizes.pop_back();
    preamble.shape = std::move(sizes);
    if (preamble.symmetry != Symmetry::none && (preamble.shape.size() != 2 || preamble.shape[0] != preamble.shape[1])) {
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
    is_tensor_ = words[1] == "tensor";  // as TACO writes them (.ttx)
    if ((words[1] != "matrix" && !is_tensor_) || words[2] != "coordinate") {
      refuse("only Matrix Market files of the kind \"matrix coordinate\" can be read; write the matrix in that form");
    }
    // The last two are not of the format, but written by some programs.
    const auto kinds = {"real", "integer", "pattern", "double", "unsigned-integer"};
    if (std::ranges::find(kinds, words[3]) == kinds.end()) {
      refuse("the entries of a Matrix Market file must be real, integer or pattern, not " +
             quoted_for_message(words[3]) +
             (words[3] == "complex" ? "; split them into their real and imaginary parts" : "; correct its first line"));
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
  bool is_tensor_ = false;
};

bool is_banner(std::string_view line) {
  constexpr std::string_view banner = "%%matrixmarket";
  const auto is_same = [](char c, char lower) { return std::tolower(static_cast<unsigned char>(c)) == lower; };
  return std::ranges::equal(line.substr(0, banner.size()), banner, is_same);
}

bool is_named_mtx(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  const auto endings = {".mtx", ".mtx.gz", ".mtx.zst", ".ttx", ".ttx.gz", ".ttx.zst"};
  return std::ranges::any_of(endings, [&](const char* ending) { return name.ends_with(ending); });
}

}  // namespace

std::optional<TextPreamble> find_preamble(std::string_view text, bool is_whole, const std::filesystem::path& file) {
  const Lines lines(text, is_whole);
  try {
    const std::string_view first = Lines(lines).next();
    if (is_banner(first)) return MatrixMarket(lines, file).read();
    const bool is_comment = first == "%" || first.starts_with("% ") || first.starts_with("%%");
    if (is_comment || (is_named_mtx(file) && whole_numbers(first).size() > 2)) {
      throw Error(ErrorKind::invalid_argument,
                  "line 1 of " + file.string() +
                      ": this looks like a Matrix Market file without its banner; put it before line 1 (for example: "
                      "sed '1i %%MatrixMarket matrix coordinate real general' FILE)");
    }
    for (const auto find : {find_genten, find_parti, find_extended}) {
      if ((find == find_extended) == (split_fields(first).size() == 1 && !first.starts_with('#'))) continue;
      if (std::optional<TextPreamble> found = find(lines)) return found;
    }
    return TextPreamble{};
  } catch (const NeedsMore&) {
    return {};
  }
}

}  // namespace blco
