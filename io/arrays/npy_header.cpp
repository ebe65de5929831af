// Parses the Python dictionary at the start of a NumPy array file.
//
// cnpy, the usual library, loads whole arrays, of whatever size, and knows no numbers of the other byte order. Here
// only the header is wanted, of an array that is then streamed.
#include "io/arrays/npy_header.hpp"

#include <charconv>
#include <set>

#include "blco/refuse.hpp"

namespace blco {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t max_dimensions = 64;

class DictionaryParser {
 public:
  explicit DictionaryParser(std::string_view text) : text_(text) {}

  NpyHeader parse() {
    NpyHeader header;
    std::set<std::string> seen;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      seen.insert(key);
      if (key == "descr") {
        if (peek() != '\'' && peek() != '"') refuse("it has several fields; save each as an array of its own");
        header.descr = quoted();
      } else if (key == "fortran_order") {
        header.is_fortran_order = boolean();
      } else if (key == "shape") {
        header.shape = tuple();
      } else {
        malformed();
      }
      if (!accept(',') && peek() != '}') malformed();
    }
    if (seen.size() != 3) malformed();
    return header;
  }

 private:
  [[noreturn]] static void malformed() { refuse("its header is not one of numpy.save; save it again"); }

  char peek() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n')) text_.remove_prefix(1);
    return text_.empty() ? '\0' : text_.front();
  }
  bool accept(char wanted) {
    if (peek() != wanted || text_.empty()) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) malformed();
  }

  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') malformed();
    text_.remove_prefix(1);
    const std::size_t end = text_.find(quote);
    if (end == std::string_view::npos) malformed();
    const std::string inside(text_.substr(0, end));
    text_.remove_prefix(end + 1);
    return inside;
  }

  bool boolean() {
    peek();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      return value;
    }
    malformed();
  }

  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> numbers;
    expect('(');
    while (!accept(')')) {
      peek();
      std::uint64_t number = 0;
      const auto [end, failure] = std::from_chars(text_.data(), text_.data() + text_.size(), number);
      if (failure != std::errc() || numbers.size() == max_dimensions) malformed();
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      accept('L');  // of Python 2
      numbers.push_back(number);
      if (!accept(',') && peek() != ')') malformed();
    }
    return numbers;
  }

  std::string_view text_;
};

}  // namespace

std::size_t npy_data_offset(std::string_view prefix) {
  if (prefix.size() < npy_prefix_bytes || !prefix.starts_with(magic)) refuse("it is not an array of numpy.save");
  const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(prefix[at])); };
  const std::size_t version = byte(6);
  if (version < 1 || version > 3)
    refuse("its format has version " + std::to_string(version) + ", but only 1 to 3 are supported");
  std::size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > max_npy_header_bytes) refuse("its header is longer than 1 MiB");
  return length + (version > 1 ? 12 : 10);
}

NpyHeader parse_npy_header(std::string_view dictionary) { return DictionaryParser(dictionary).parse(); }

}  // namespace blco
