// Edges are computed so that those of round intervals are round: lower + (upper - lower) * i / count.
#include "io/table/number_bins.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>
#include <utility>

namespace blco {
namespace {

double edge_between(double lower, double upper, std::uint64_t i, std::uint64_t count) {
  const auto part = static_cast<double>(i);
  const auto whole = static_cast<double>(count);
  const double edge = lower + (upper - lower) * part / whole;
  // Where the difference is too large for a double.
  return std::isfinite(edge) ? edge : lower * (1 - part / whole) + upper * (part / whole);
}

// Takes a number from the start of `text`.
bool take_number(std::string_view& text, double& number) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec != std::errc() || !std::isfinite(number)) return false;
  text.remove_prefix(static_cast<std::size_t>(result.ptr - text.data()));
  return true;
}

bool take_interval(std::string_view text, double& lower, double& upper) {
  if (!text.starts_with('[')) return false;
  text.remove_prefix(1);
  if (!take_number(text, lower) || !text.starts_with(", ")) return false;
  text.remove_prefix(2);
  return take_number(text, upper);
}

}  // namespace

NumberBins NumberBins::of_equal_width(double lower, double upper, std::uint64_t count) {
  std::vector<double> edges{lower};
  for (std::uint64_t i = 1; i < count; ++i) {
    const double edge = edge_between(lower, upper, i, count);
    if (edge > edges.back() && edge < upper) edges.push_back(edge);
  }
  edges.push_back(upper);
  return NumberBins(std::move(edges));
}

NumberBins NumberBins::of_quantiles(std::span<const double> numbers, std::span<const std::uint64_t> rows,
                                    std::uint64_t count) {
  std::uint64_t all = 0;
  for (const std::uint64_t n : rows) all += n;
  std::vector<double> edges{numbers.front()};
  std::size_t cut = 0;       // before numbers[cut]
  std::uint64_t before = 0;  // rows before it
  for (std::uint64_t k = 1; k < count; ++k) {
    // Rows times `count`, so that the target is whole.
    const std::uint64_t target = k * all;
    const auto distance = [&](std::uint64_t n) { return n * count > target ? n * count - target : target - n * count; };
    while (cut + 1 < numbers.size() && distance(before + rows[cut]) < distance(before)) before += rows[cut++];
    if (cut > 0 && numbers[cut] > edges.back()) edges.push_back(numbers[cut]);
  }
  edges.push_back(numbers.back());
  return NumberBins(std::move(edges));
}

std::optional<NumberBins> NumberBins::of_labels(const Labels& labels, std::uint64_t count) {
  if (count == 0) return NumberBins();
  std::vector<double> edges;
  for (std::uint64_t i = 0; i < count; ++i) {
    double lower = 0;
    double upper = 0;
    if (!take_interval(labels[i], lower, upper)) return std::nullopt;
    if (i == 0) edges.push_back(lower);
    const bool ascends = upper > lower || (upper == lower && i + 1 == count);
    if (lower != edges.back() || !ascends) return std::nullopt;
    edges.push_back(upper);
  }
  NumberBins bins(std::move(edges));
  for (std::uint64_t i = 0; i < count; ++i) {
    if (bins.label(i) != labels[i]) return std::nullopt;
  }
  return bins;
}

std::uint64_t NumberBins::bin_of(double number) const {
  const auto inner = edges_.begin() + 1;
  return static_cast<std::uint64_t>(std::upper_bound(inner, edges_.end() - 1, number) - inner);
}

std::optional<std::uint64_t> NumberBins::bin_with_label(std::string_view wanted) const {
  double lower = 0;
  double upper = 0;
  if (edges_.empty() || !take_interval(wanted, lower, upper)) return std::nullopt;
  const std::uint64_t bin = bin_of(lower == this->upper() ? upper : lower);
  return label(bin) == wanted ? std::optional(bin) : std::nullopt;
}

std::string NumberBins::label(std::uint64_t bin) const {
  const auto at = static_cast<std::size_t>(bin);
  std::string text = "[";
  text.append(shortest_number(edges_[at])).append(", ").append(shortest_number(edges_[at + 1]));
  return text += bin + 1 == size() ? ']' : ')';
}

std::string shortest_number(double number) {
  std::array<char, 64> digits;
  const double magnitude = std::abs(number);
  const bool is_plain = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number,
                                 is_plain ? std::chars_format::fixed : std::chars_format::scientific);
  return {digits.data(), end.ptr};
}

}  // namespace blco
