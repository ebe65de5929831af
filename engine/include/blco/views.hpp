// Views of arrays that the caller owns and that must outlive the call they are passed to. Nothing is copied as a whole.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <type_traits>
#include <variant>

namespace blco {

// Numbers that lie `stride` numbers apart: an array, or with a stride of N one column of a row-major matrix of N
// columns. A stride may be negative; `data` is the first number in the order of the view.
template <class Number>
struct StridedView {
  const Number* data = nullptr;
  std::size_t count = 0;
  std::ptrdiff_t stride = 1;

  StridedView() = default;
  StridedView(const Number* first, std::size_t size, std::ptrdiff_t step = 1)
      : data(first), count(size), stride(step) {}
  // A std::vector or std::span, for example.
  template <std::ranges::contiguous_range Range>
  requires std::same_as<std::remove_cv_t<std::ranges::range_value_t<Range>>, Number> StridedView(const Range& range)
      : data(std::ranges::data(range)), count(std::ranges::size(range)) {}

  Number operator[](std::size_t i) const { return data[static_cast<std::ptrdiff_t>(i) * stride]; }
};

// Indices of any of these types.
using IndexView = std::variant<StridedView<std::uint32_t>, StridedView<std::uint64_t>, StridedView<std::int32_t>,
                               StridedView<std::int64_t>>;

using ValueView = std::variant<StridedView<double>, StridedView<float>>;

template <class View>
std::size_t size_of(const View& view) {
  return std::visit([](const auto& numbers) { return numbers.count; }, view);
}

// A row-major matrix, such as a factor; see also CpdModel::matrices().
struct MatrixView {
  const double* data = nullptr;
  std::size_t rows = 0;
  std::size_t columns = 0;

  std::span<const double> numbers() const { return {data, rows * columns}; }
};

}  // namespace blco
