// Follows "The Arrow C data interface" and "Arrow columnar format", version 1.5.
#include "io/arrow/arrow_column.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "blco/error.hpp"
#include "io/text/quoted_text.hpp"

namespace blco {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::int64_t seconds_per_day = 86'400;

struct NamedFormat {
  std::string_view format;
  ArrowStorage storage;
  std::string_view name;
  std::int64_t per_day = 0;
};

using enum ArrowStorage;

constexpr std::array formats = std::to_array<NamedFormat>({
    {"b", bits, "bool"},
    {"c", i8, "int8"},
    {"C", u8, "uint8"},
    {"s", i16, "int16"},
    {"S", u16, "uint16"},
    {"i", i32, "int32"},
    {"I", u32, "uint32"},
    {"l", i64, "int64"},
    {"L", u64, "uint64"},
    {"e", f16, "halffloat"},
    {"f", f32, "float"},
    {"g", f64, "double"},
    {"u", text, "string"},
    {"U", large_text, "large_string"},
    {"vu", view, "string_view"},
    {"tdD", i32, "date32[day]", 1},
    {"tdm", i64, "date64[ms]", 1000 * seconds_per_day},
    {"n", none, "null"},
    {"z", none, "binary"},
    {"Z", none, "large_binary"},
    {"vz", none, "binary_view"},
    {"+s", none, "struct"},
    {"+l", none, "list"},
    {"+L", none, "large_list"},
    {"+m", none, "map"},
    {"+r", none, "run_end_encoded"},
});

constexpr std::array time_units = {std::pair{'s', "s"}, std::pair{'m', "ms"}, std::pair{'u', "us"},
                                   std::pair{'n', "ns"}};

// "tsu:Europe/Paris".
ArrowType timestamp_type(std::string_view format) {
  ArrowType type{.storage = i64, .name = "timestamp[", .per_day = seconds_per_day};
  for (const auto& [letter, unit] : time_units) {
    if (letter == format[2]) {
      type.name += unit;
      break;
    }
    type.per_day *= 1000;
  }
  if (format.size() > 4) {
    type.zone = format.substr(4);
    type.name.append(", tz=").append(type.zone);
  }
  type.name += ']';
  return type;
}

// "d:38,2", or with a width: "d:38,2,256". A scale may be negative.
ArrowType decimal_type(std::string_view format) {
  ArrowType type{.storage = none, .name = "decimal(" + std::string(format.substr(2)) + ")"};
  const std::size_t comma = format.find(',');
  if (comma == std::string_view::npos) return type;
  const char* const end = format.data() + format.size();
  const auto parsed = std::from_chars(format.data() + comma + 1, end, type.scale);
  const std::string_view width(parsed.ptr, static_cast<std::size_t>(end - parsed.ptr));
  if (parsed.ec == std::errc() && (width.empty() || width == ",128")) type.storage = decimal;
  return type;
}

std::int64_t buffers_of(ArrowStorage storage) { return storage == text || storage == large_text ? 3 : 2; }

[[noreturn]] void fail_damaged(const std::string& what) {
  throw Error(ErrorKind::corrupt, what + "; the library that made the stream is at fault");
}

template <class Number>
Number load(const void* data, std::size_t at) {
  return static_cast<const Number*>(data)[at];
}

template <class Offset>
std::string_view text_at(const void* const* buffers, std::size_t at) {
  const auto begin = load<Offset>(buffers[1], at);
  const auto end = load<Offset>(buffers[1], at + 1);
  if (begin < 0 || end < begin) fail_damaged("the offsets of its text descend");
  return {static_cast<const char*>(buffers[2]) + begin, static_cast<std::size_t>(end - begin)};
}

// The last buffer has the lengths of those with texts.
std::string_view view_at(const ArrowArray& array, std::size_t at) {
  constexpr std::int32_t max_inline = 12;
  const auto* const entry = static_cast<const char*>(array.buffers[1]) + 16 * at;
  std::array<std::int32_t, 4> words;
  std::memcpy(words.data(), entry, sizeof(words));
  const auto [length, prefix, buffer, offset] = words;
  if (length < 0 || (length > max_inline && offset < 0)) fail_damaged("the length of its text is wrong");
  if (length > max_inline && (buffer < 0 || buffer >= array.n_buffers - 3)) fail_damaged("its text lies in no buffer");
  const char* const begin =
      length <= max_inline ? entry + 4
                           : static_cast<const char*>(array.buffers[2 + static_cast<std::size_t>(buffer)]) + offset;
  return {begin, static_cast<std::size_t>(length)};
}

template <class Number>
std::string digits_of(Number number) {
  std::array<char, 512> digits;
  std::to_chars_result end{};
  if constexpr (std::is_floating_point_v<Number>) {
    end = std::to_chars(digits.data(), digits.data() + digits.size(), number, std::chars_format::fixed);
  } else {
    end = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  }
  return {digits.data(), end.ptr};
}

ArrowType type_of_format(std::string_view format) {
  const auto known = std::ranges::find(formats, format, &NamedFormat::format);
  if (known != formats.end()) return {known->storage, std::string(known->name), known->per_day};
  if (format.starts_with("ts") && format.size() >= 4) return timestamp_type(format);
  if (format.starts_with("d:")) return decimal_type(format);
  return {.storage = none, .name = quoted_for_message(format)};
}

// From the metadata of a field: a count, then keys and values, each behind its length.
std::string extension_of(const char* metadata) {
  if (metadata == nullptr) return "";
  const auto take_number = [&metadata] {
    std::int32_t number = 0;
    std::memcpy(&number, metadata, sizeof(number));
    metadata += sizeof(number);
    return number;
  };
  const auto take_text = [&] {
    const std::int32_t length = take_number();
    if (length < 0) fail_damaged("the length of its metadata is wrong");
    const std::string_view text(metadata, static_cast<std::size_t>(length));
    metadata += length;
    return text;
  };
  for (std::int32_t pairs = take_number(); pairs > 0; --pairs) {
    const std::string_view key = take_text();
    const std::string_view value = take_text();
    if (key == "ARROW:extension:name") return std::string(value);
  }
  return "";
}

}  // namespace

HalfFloat::operator double() const {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  double magnitude = std::ldexp(exponent == 0 ? fraction : 1024 + fraction, std::max(exponent, 1) - 25);
  if (exponent == 31) {
    magnitude = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  }
  return bits >> 15 != 0 ? -magnitude : magnitude;
}

ArrowType arrow_type_of(const ArrowSchema& schema) {
  ArrowType type = type_of_format(schema.format);
  type.extension = extension_of(schema.metadata);
  if (!type.extension.empty()) type.name = type.extension + ", stored as " + type.name;
  return type;
}

ArrowCells::ArrowCells(const ArrowArray& array, const ArrowType& type, std::int64_t skip, std::int64_t count)
    : type_(type), array_(&array), first_(static_cast<std::size_t>(array.offset + skip)) {
  if (array.offset < 0 || array.length < 0 || skip < 0 || count < 0 || array.length - skip < count)
    fail_damaged("the batch has fewer cells than rows");
  if (array.n_buffers < buffers_of(type.storage)) fail_damaged("a buffer is missing");
  if (count > 0 && array.buffers[1] == nullptr) fail_damaged("the data is missing");
  if (array.null_count != 0) valid_ = static_cast<const std::uint8_t*>(array.buffers[0]);
  for (std::size_t cell = 0; type.is_text() && cell < static_cast<std::size_t>(count); ++cell) {
    if (!is_null(cell)) static_cast<void>(text(cell));
  }
}

const void* ArrowCells::data() const {
  const auto at = [&]<class Number>(const Number* numbers) -> const void* { return numbers + first_; };
  return visit_numbers(type_.storage, array_->buffers[1], at);
}

std::string_view ArrowCells::text(std::size_t cell) const {
  if (type_.storage == view) return view_at(*array_, first_ + cell);
  return type_.storage == ArrowStorage::text ? text_at<std::int32_t>(array_->buffers, first_ + cell)
                                             : text_at<std::int64_t>(array_->buffers, first_ + cell);
}

bool ArrowCells::boolean(std::size_t cell) const {
  const std::size_t at = first_ + cell;
  return (static_cast<const std::uint8_t*>(array_->buffers[1])[at / 8] >> (at % 8) & 1) != 0;
}

double ArrowCells::number(std::size_t cell) const {
  if (type_.storage == bits) return boolean(cell) ? 1 : 0;
  if (type_.storage == ArrowStorage::decimal) return decimal(cell);
  return visit_numbers(type_.storage, data(),
                       [cell](const auto* numbers) { return static_cast<double>(numbers[cell]); });
}

// By its text, as only so the result is the nearest double.
double ArrowCells::decimal(std::size_t cell) const {
  std::array<std::uint64_t, 2> words;
  std::memcpy(words.data(), static_cast<const char*>(array_->buffers[1]) + 16 * (first_ + cell), sizeof(words));
  const bool minus = words[1] >> 63 != 0;
  Wide magnitude = static_cast<Wide>(words[1]) << 64 | words[0];
  if (minus) magnitude = -magnitude;
  std::string digits;
  do {
    digits += static_cast<char>('0' + static_cast<int>(magnitude % 10));
    magnitude /= 10;
  } while (magnitude != 0);
  std::ranges::reverse(digits);
  digits.append("e").append(std::to_string(-type_.scale));
  double found = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), found);
  return minus ? -found : found;
}

std::int64_t ArrowCells::time(std::size_t cell) const {
  const auto units = visit_integers(type_.storage, data(),
                                    [cell](const auto* numbers) { return static_cast<std::int64_t>(numbers[cell]); });
  if (type_.per_day < seconds_per_day) return units * (seconds_per_day / type_.per_day);
  const std::int64_t per_second = type_.per_day / seconds_per_day;
  return units / per_second - (units % per_second < 0 ? 1 : 0);
}

std::string ArrowCells::text_of_number(std::size_t cell) const {
  if (type_.storage == bits) return boolean(cell) ? "true" : "false";
  if (!type_.is_integer()) return digits_of(number(cell));
  return visit_integers(type_.storage, data(), [cell](const auto* numbers) { return std::to_string(numbers[cell]); });
}

}  // namespace blco
