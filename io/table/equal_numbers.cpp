// Sorts the numbers, but only where some key may have another spelling.
#include "io/table/equal_numbers.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "io/table/csv_field.hpp"

namespace blco {
namespace {

struct NumberedKey {
  double number = 0;
  std::uint32_t key = 0;
};

// Up to here a double tells decimal numbers apart.
constexpr std::ptrdiff_t max_digits = 15;

bool is_decimal_digit(char c) { return c >= '0' && c <= '9'; }

// A whole number that has one spelling.
bool is_plain(std::string_view key) {
  if (key.starts_with('-'))
    key.remove_prefix(1);
  else if (key == "0")
    return true;
  return !key.empty() && key[0] != '0' && std::ranges::all_of(key, is_decimal_digit);
}

std::optional<double> number_of(std::string_view key, char decimal) {
  const std::string_view text = trimmed(key);
  if (text.empty() || (!is_decimal_digit(text[0]) && std::string_view("+-.,").find(text[0]) == text.npos)) return {};
  const std::string_view mantissa = text.substr(0, text.find_first_of("eE"));
  constexpr std::string_view nonzero = "123456789";
  const std::size_t begin = mantissa.find_first_of(nonzero);
  const bool is_zero = begin == mantissa.npos;
  const auto significant = is_zero ? "" : mantissa.substr(begin, mantissa.find_last_of(nonzero) + 1 - begin);
  double number = 0;
  if (std::ranges::count_if(significant, is_decimal_digit) > max_digits) return {};
  // A number that is too small for a double becomes 0.
  if (parse_decimal(text, decimal, number) != TnsValueFault::none || (number == 0 && !is_zero)) return {};
  return number;
}

}  // namespace

KeyPairs find_equal_numbers(const Labels& keys, char decimal) {
  bool has_other_spelling = false;
  for (std::uint64_t i = 0; i < keys.size() && !has_other_spelling; ++i) {
    has_other_spelling = !is_plain(keys[i]) && number_of(keys[i], decimal);
  }
  if (!has_other_spelling) return {};
  std::size_t count = 0;
  for (std::uint64_t i = 0; i < keys.size(); ++i) count += number_of(keys[i], decimal).has_value();
  std::vector<NumberedKey> numbers;
  numbers.reserve(count);
  for (std::uint64_t i = 0; i < keys.size(); ++i) {
    if (const auto number = number_of(keys[i], decimal)) numbers.push_back({*number, static_cast<std::uint32_t>(i)});
  }
  std::ranges::sort(numbers, [](const NumberedKey& a, const NumberedKey& b) {
    return a.number != b.number ? a.number < b.number : a.key < b.key;
  });
  return find_pairs(numbers, [](const NumberedKey& a, const NumberedKey& b) { return a.number == b.number; });
}

}  // namespace blco
