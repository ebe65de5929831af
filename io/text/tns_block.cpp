// Parses one block of FROSTT text: eight digits at a time, no allocation per line.
#include "io/text/tns_block.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>
#include <vector>

#include "blco/layout.hpp"
#include "io/text/text_scan.hpp"
#include "io/text/tns_value.hpp"

namespace blco {
namespace {

constexpr std::uint64_t max_narrow = std::numeric_limits<std::uint32_t>::max();

inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Numbers go by value: a parser that has its place in memory waits for it at each field.

// An integer of eight digits or more; `first` holds the first eight.
[[gnu::noinline]] ParsedNumber<std::uint64_t> parse_long_integer(const char* at, std::uint64_t first) {
  if (const Digits more = load_digits(at + 8); more.count < 8) {
    return {at + 8 + more.count, first * integer_power_of_ten[more.count] + more.value};
  }
  const char* end = at + 16;
  while (static_cast<unsigned char>(*end - '0') < 10) ++end;
  std::uint64_t value = 0;
  const auto result = std::from_chars(at, end, value);
  if (result.ec != std::errc{}) return {};
  return {end, value};
}

// An unsigned integer below 2^64.
inline ParsedNumber<std::uint64_t> parse_integer(const char* at) {
  const Digits digits = load_digits(at);
  if (digits.count == 8) [[unlikely]]
    return parse_long_integer(at, digits.value);
  if (digits.count == 0) return {};
  return {at + digits.count, digits.value};
}

// A value in any accepted form.
[[gnu::noinline]] ParsedNumber<double> parse_long_value(const char* at) {
  const char* end = at;
  while (!is_blank(*end) && *end != '\n' && *end != '\r') ++end;
  double value = 0;
  if (parse_tns_value({at, static_cast<std::size_t>(end - at)}, value) != TnsValueFault::none) return {};
  return {end, value};
}

// A whole number written as a real, such as 1.0e+00.
[[gnu::noinline]] ParsedNumber<std::uint64_t> parse_whole_real(const char* at) {
  const char* end = at;
  while (!is_blank(*end) && *end != '\n' && *end != '\r') ++end;
  const auto whole = whole_of_real({at, static_cast<std::size_t>(end - at)});
  return whole ? ParsedNumber<std::uint64_t>{end, *whole} : ParsedNumber<std::uint64_t>{};
}

inline ParsedNumber<double> parse_value(const char* at) {
  const ParsedNumber<double> number = parse_short_number(at, '.');
  if (number.end == nullptr || *number.end > ' ') [[unlikely]]
    return parse_long_value(at);
  return number;
}

// Where the next line begins; null if anything but blanks and the end of the line follows.
inline const char* end_line(const char* at) {
  while (is_blank(*at)) ++at;
  at += *at == '\r';
  return *at == '\n' ? at + 1 : nullptr;
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
    block_.line_count = take_census(text).lines;
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
      if (parse_all(batch.narrow) == Stop::too_wide) {
        widen();
        parse_all(batch.wide);
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
  Stop parse_all(RawVector<Coordinate>& coordinates) {
    switch (block_.batch.order) {
      case 2:
        return parse_lines<2>(coordinates);
      case 3:
        return parse_lines<3>(coordinates);
      case 4:
        return parse_lines<4>(coordinates);
      case 5:
        return parse_lines<5>(coordinates);
      default:
        return parse_lines<0>(coordinates);
    }
  }

  // Most lines begin with a digit.
  bool is_at_line() {
    line_begin_ = at_;
    return (at_ != end_ && static_cast<unsigned char>(*at_ - '0') < 10) || find_line();
  }

  // `Order` is the batch's, or 0 where it is known only now.
  template <std::size_t Order>
  std::size_t order_of() const {
    return Order > 0 ? Order : static_cast<std::size_t>(block_.batch.order);
  }

  template <std::size_t Order, typename Coordinate>
  Stop parse_lines(RawVector<Coordinate>& coordinates) {
    const std::size_t order = order_of<Order>();
    std::array<std::uint64_t, max_order> upper = upper_;
    std::size_t count = count_;
    Stop stop = Stop::end;
    for (; is_at_line(); ++line_, ++count) {
      const ParsedLine line =
          parse_line<Order>(at_, coordinates.data() + count * order, block_.batch.values.data() + count, upper);
      stop = line.stop == Stop::end && is_too_long(line.end) ? Stop::failed : line.stop;
      at_ = stop == Stop::end ? line.end : line_begin_;
      if (stop != Stop::end) break;
    }
    if (stop == Stop::failed) fail();
    upper_ = upper;
    count_ = count;
    return stop;
  }

  struct ParsedLine {
    const char* end = nullptr;
    Stop stop = Stop::failed;
  };

  template <std::size_t Order, typename Coordinate>
  ParsedLine parse_line(const char* at, Coordinate* out, double* value,
                        std::array<std::uint64_t, max_order>& upper) const {
    const std::size_t order = order_of<Order>();
    std::array<std::uint64_t, max_order> line;
    for (std::size_t mode = 0; mode < order; ++mode) {
      const bool ends_line = !has_values_ && mode + 1 == order;
      const auto ends = [ends_line](const char* end) {
        return end != nullptr && (is_blank(*end) || (ends_line && *end <= ' '));
      };
      ParsedNumber<std::uint64_t> number = parse_integer(at);
      if (!ends(number.end)) [[unlikely]] {
        number = parse_whole_real(at);
        if (!ends(number.end)) return {};
      }
      at = number.end;
      const std::uint64_t coordinate = number.value - base_;
      if (coordinate == refused_tns_coordinate) return {};
      if (sizeof(Coordinate) < sizeof(coordinate) && coordinate > max_narrow) return {at, Stop::too_wide};
      line[mode] = coordinate;
      while (is_blank(*at)) ++at;
    }
    ParsedNumber<double> number{at, 1};
    if (has_values_) number = parse_value(at);
    at = number.end == nullptr ? nullptr : end_line(number.end);
    if (at == nullptr) return {};
    // A refused line may be shorter than an entry, so there may be no room for it.
    *value = number.value;
    for (std::size_t mode = 0; mode < order; ++mode) {
      out[mode] = static_cast<Coordinate>(line[mode]);
      upper[mode] = std::max(upper[mode], line[mode]);
    }
    return {at, Stop::end};
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
