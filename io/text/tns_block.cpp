// Parses one block of FROSTT text: eight digits at a time, no allocation per line.
#include "io/text/tns_block.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>
#include <vector>

#include "blco/layout.hpp"
#include "io/text/tns_value.hpp"

namespace blco {
namespace {

static_assert(std::endian::native == std::endian::little, "digits are loaded as little-endian words");

constexpr std::uint64_t max_narrow = std::numeric_limits<std::uint32_t>::max();

inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

struct Digits {
  std::uint64_t value = 0;
  unsigned count = 0;  // of the loaded digits, at most 8
};

// The leading digits among the eight bytes at `at`, without a branch on their number.
inline Digits load_digits(const char* at) {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof(word));
  word ^= 0x3030303030303030;
  const std::uint64_t other = (((word & 0x7f7f7f7f7f7f7f7f) + 0x7676767676767676) | word) & 0x8080808080808080;
  const unsigned count = static_cast<unsigned>(std::countr_zero(other)) / 8;
  if (count == 0) return {};
  word <<= 64 - 8 * count;
  word = (word * 10 + (word >> 8)) & 0x00ff00ff00ff00ff;
  word = (word * 100 + (word >> 16)) & 0x0000ffff0000ffff;
  word = (word * 10000 + (word >> 32)) & 0x00000000ffffffff;
  return {word, count};
}

constexpr std::array<double, 9> power_of_ten = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};
constexpr std::array<std::uint64_t, 9> integer_power_of_ten = {1,      10,      100,      1000,     10000,
                                                               100000, 1000000, 10000000, 100000000};

// An integer of eight digits or more; `first` holds the first eight.
bool parse_long_integer(const char*& at, std::uint64_t first, std::uint64_t& value) {
  if (const Digits more = load_digits(at + 8); more.count < 8) {
    at += 8 + more.count;
    value = first * integer_power_of_ten[more.count] + more.value;
    return true;
  }
  const char* end = at + 16;
  while (static_cast<unsigned char>(*end - '0') < 10) ++end;
  const auto result = std::from_chars(at, end, value);
  at = end;
  return result.ec == std::errc{};
}

// Reads an unsigned integer at `at` and moves past it; false if there is none below 2^64.
inline bool parse_integer(const char*& at, std::uint64_t& value) {
  const Digits digits = load_digits(at);
  if (digits.count == 8) [[unlikely]]
    return parse_long_integer(at, digits.value, value);
  at += digits.count;
  value = digits.value;
  return digits.count != 0;
}

// Reads a value in any accepted form.
bool parse_long_value(const char*& at, double& value) {
  const char* end = at;
  while (!is_blank(*end) && *end != '\n' && *end != '\r') ++end;
  const std::string_view field(at, static_cast<std::size_t>(end - at));
  at = end;
  return parse_tns_value(field, value) == TnsValueFault::none;
}

// Reads the value at `at` and moves past it. With at most eight digits before and after the point, it is an exact
// integer below 2^53 over an exact power of ten, so one division rounds correctly (Clinger 1990).
inline bool parse_value(const char*& at, double& value) {
  const char* rest = at + (*at == '-');
  const Digits whole = load_digits(rest);
  rest += whole.count;
  std::uint64_t mantissa = whole.value;
  Digits fraction;
  if (*rest == '.' && whole.count != 0) {
    fraction = load_digits(++rest);
    rest += fraction.count;
    mantissa = mantissa * integer_power_of_ten[fraction.count] + fraction.value;
  }
  if (whole.count != 0 && *rest <= ' ' && mantissa < std::uint64_t{1} << 53) [[likely]] {
    const double magnitude = static_cast<double>(mantissa) / power_of_ten[fraction.count];
    value = *at == '-' ? -magnitude : magnitude;
    at = rest;
    return true;
  }
  return parse_long_value(at, value);
}

// Moves past blanks and the end of the line; false if anything else follows.
inline bool end_line(const char*& at) {
  while (is_blank(*at)) ++at;
  at += *at == '\r';
  return *at++ == '\n';
}

int count_fields(std::string_view line) {
  int fields = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    fields += !is_blank(line[i]) && line[i] != '\r' && (i == 0 || is_blank(line[i - 1]));
  }
  return fields;
}

class BlockParser {
 public:
  BlockParser(std::string_view text, const TnsForm& form)
      : at_(text.data()),
        end_(text.data() + text.size()),
        base_(static_cast<std::uint64_t>(form.index_base)),
        has_values_(form.has_values) {
    block_.line_count = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
    block_.batch.order = form.order;
  }

  TnsBlock parse() {
    if (find_first_line()) {
      CoordinateBatch& batch = block_.batch;
      // Every field of an entry takes at least a digit and a separator.
      const auto shortest = 2 * static_cast<std::uint64_t>(batch.order + has_values_);
      const auto room = std::min<std::uint64_t>(block_.line_count, static_cast<std::uint64_t>(end_ - at_) / shortest);
      batch.values.resize(room);
      batch.narrow.resize(room * static_cast<std::uint64_t>(batch.order));
      if (parse_lines(batch.narrow) == Stop::too_wide) {
        widen();
        parse_lines(batch.wide);
      }
      if (!block_.failed) fit();
    }
    return std::move(block_);
  }

 private:
  enum class Stop { end, failed, too_wide };

  std::string_view line_at(const char* begin) const {
    const void* newline = std::memchr(begin, '\n', static_cast<std::size_t>(end_ - begin));
    return {begin, static_cast<std::size_t>(static_cast<const char*>(newline) - begin)};
  }

  bool is_too_long(const char* end) const { return static_cast<std::size_t>(end - line_begin_) > max_tns_line_bytes; }

  void fail() { block_.failed = TnsLine{line_, line_at(line_begin_)}; }

  // Moves past empty lines and comments. Returns false at the end, or (and sets `failed`) at a line that is too long.
  bool find_line() {
    while (at_ != end_) {
      line_begin_ = at_;
      while (is_blank(*at_)) ++at_;
      if (*at_ == '#') {
        at_ += line_at(at_).size() + 1;
      } else if (*at_ != '\n' && !(*at_ == '\r' && at_[1] == '\n')) {
        return true;
      } else {
        at_ += 1 + (*at_ == '\r');
      }
      if (is_too_long(at_)) {
        fail();
        return false;
      }
      ++line_;
    }
    return false;
  }

  // Determines the order; false if there is nothing to parse.
  bool find_first_line() {
    if (!find_line()) return false;
    at_ = line_begin_;
    block_.first = TnsLine{line_, line_at(at_)};
    const int fields = count_fields(block_.first->text);
    if (block_.batch.order == 0) block_.batch.order = fields - 1;
    if (fields - has_values_ != block_.batch.order || fields < 2 || fields > max_order + 1) {
      fail();
      return false;
    }
    return true;
  }

  template <typename Coordinate>
  Stop parse_lines(RawVector<Coordinate>& coordinates) {
    const auto order = static_cast<std::size_t>(block_.batch.order);
    std::array<std::uint64_t, max_order> upper = upper_;
    std::size_t count = count_;
    Stop stop = Stop::end;
    for (; find_line(); ++line_, ++count) {
      const char* at = at_;
      stop = parse_line(at, coordinates.data() + count * order, block_.batch.values.data() + count, upper);
      if (stop == Stop::end && is_too_long(at)) stop = Stop::failed;
      at_ = stop == Stop::end ? at : line_begin_;
      if (stop != Stop::end) break;
    }
    if (stop == Stop::failed) fail();
    upper_ = upper;
    count_ = count;
    return stop;
  }

  template <typename Coordinate>
  Stop parse_line(const char*& at, Coordinate* out, double* value, std::array<std::uint64_t, max_order>& upper) const {
    const auto order = static_cast<std::size_t>(block_.batch.order);
    std::array<std::uint64_t, max_order> line;
    for (std::size_t mode = 0; mode < order; ++mode) {
      std::uint64_t coordinate;
      const bool ends_line = !has_values_ && mode + 1 == order;
      if (!parse_integer(at, coordinate) || !(is_blank(*at) || (ends_line && *at <= ' '))) return Stop::failed;
      coordinate -= base_;
      if (coordinate == refused_tns_coordinate) return Stop::failed;
      if (sizeof(Coordinate) < sizeof(coordinate) && coordinate > max_narrow) return Stop::too_wide;
      line[mode] = coordinate;
      while (is_blank(*at)) ++at;
    }
    double number = 1;
    if ((has_values_ && !parse_value(at, number)) || !end_line(at)) return Stop::failed;
    // A refused line may be shorter than an entry, so there may be no room for it.
    *value = number;
    for (std::size_t mode = 0; mode < order; ++mode) {
      out[mode] = static_cast<Coordinate>(line[mode]);
      upper[mode] = std::max(upper[mode], line[mode]);
    }
    return Stop::end;
  }

  void widen() {
    CoordinateBatch& batch = block_.batch;
    batch.wide.resize(batch.narrow.size());
    const std::size_t used = count_ * static_cast<std::size_t>(batch.order);
    std::copy_n(batch.narrow.begin(), used, batch.wide.begin());
    free_memory(batch.narrow);
  }

  // Frees what comments and a wrong estimate took, because the batch may be kept for long.
  void fit() {
    CoordinateBatch& batch = block_.batch;
    const std::size_t used = count_ * static_cast<std::size_t>(batch.order);
    batch.narrow.resize(batch.wide.empty() ? used : 0);
    batch.wide.resize(batch.wide.empty() ? 0 : used);
    batch.values.resize(count_);
    batch.narrow.shrink_to_fit();
    batch.wide.shrink_to_fit();
    batch.values.shrink_to_fit();
    batch.upper.assign(upper_.begin(), upper_.begin() + batch.order);
  }

  TnsBlock block_;
  const char* at_;
  const char* end_;
  const char* line_begin_ = nullptr;
  std::uint64_t base_;
  bool has_values_;
  std::uint64_t line_ = 0;
  std::size_t count_ = 0;
  std::array<std::uint64_t, max_order> upper_{};
};

}  // namespace

TnsBlock parse_tns_block(std::string_view text, const TnsForm& form) { return BlockParser(text, form).parse(); }

}  // namespace blco
