// Builds labels from lists, or from their stored form.
#include "blco/labels.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "blco/error.hpp"
#include "blco/refuse.hpp"

namespace blco {

Labels::Labels(std::span<const std::string> labels) {
  Shared shared;
  for (const std::string& label : labels) {
    if (label.empty()) refuse("label " + std::to_string(shared.ends.size()) + " is empty; give each a text");
    shared.text += label;
    shared.ends.push_back(shared.text.size());
  }
  *this = Labels(std::move(shared.text), std::move(shared.ends));
}

Labels::Labels(std::string text, std::vector<std::uint64_t> ends) {
  std::uint64_t before = 0;
  for (const std::uint64_t end : ends) {
    if (end <= before || end > text.size()) throw Error(ErrorKind::corrupt, "the ends of the labels do not ascend");
    before = end;
  }
  if (before != text.size()) throw Error(ErrorKind::corrupt, "the last label does not end with the text");
  if (!ends.empty()) shared_ = std::make_shared<const Shared>(Shared{std::move(text), std::move(ends)});
}

std::string_view Labels::operator[](std::uint64_t coordinate) const {
  const auto at = static_cast<std::size_t>(coordinate);
  const std::size_t begin = at == 0 ? 0 : static_cast<std::size_t>(shared_->ends[at - 1]);
  return std::string_view(shared_->text).substr(begin, static_cast<std::size_t>(shared_->ends[at]) - begin);
}

std::span<const std::uint64_t> Labels::ends() const {
  return shared_ ? std::span<const std::uint64_t>(shared_->ends) : std::span<const std::uint64_t>();
}

}  // namespace blco
