#include "tests/bench/rivals/csf/hb_parts.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "kernels/part_ranges.hpp"

namespace blco {
namespace {

std::span<const std::uint32_t> coordinates_of(const RivalTensor& tensor, int mode) {
  return tensor.coordinates[static_cast<std::size_t>(mode)];
}

// True if the two differ in a mode above the leaf.
bool in_different_fibers(const RivalTensor& tensor, std::span<const int> modes, std::uint32_t a, std::uint32_t b) {
  return std::ranges::any_of(modes.first(modes.size() - 1), [&](int mode) {
    return coordinates_of(tensor, mode)[a] != coordinates_of(tensor, mode)[b];
  });
}

std::vector<std::uint32_t> gather(std::span<const std::uint32_t> coordinates, std::span<const std::uint32_t> nonzeros,
                                  Executor& executor) {
  std::vector<std::uint32_t> gathered(nonzeros.size());
  run_shares(executor, nonzeros.size(), [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) gathered[i] = coordinates[nonzeros[i]];
  });
  return gathered;
}

}  // namespace

HbParts hb_parts(const RivalTensor& tensor, std::span<const int> modes, std::span<const std::uint32_t> sorted) {
  HbParts parts;
  parts.modes.assign(modes.begin(), modes.end());
  const auto roots = coordinates_of(tensor, modes.front());
  for (std::size_t begin = 0; begin < sorted.size();) {
    std::size_t end = begin + 1;
    bool singletons = true;
    for (; end < sorted.size() && roots[sorted[end]] == roots[sorted[begin]]; ++end) {
      singletons = singletons && in_different_fibers(tensor, modes, sorted[end - 1], sorted[end]);
    }
    std::vector<std::uint32_t>& list = end - begin == 1 ? parts.coo : singletons ? parts.csl : parts.csf;
    const auto slice = sorted.subspan(begin, end - begin);
    list.insert(list.end(), slice.begin(), slice.end());
    begin = end;
  }
  return parts;
}

SliceList build_singleton_list(const RivalTensor& tensor, std::span<const int> modes,
                               std::span<const std::uint32_t> nonzeros, Executor& executor) {
  SliceList list;
  list.modes.assign(modes.begin(), modes.end());
  list.nonzero.assign(nonzeros.begin(), nonzeros.end());
  for (const int mode : modes) list.index.push_back(gather(coordinates_of(tensor, mode), nonzeros, executor));
  return list;
}

SliceList build_csl_list(const RivalTensor& tensor, std::span<const int> modes, std::span<const std::uint32_t> nonzeros,
                         Executor& executor) {
  SliceList list = build_singleton_list(tensor, modes, nonzeros, executor);
  std::vector<std::uint32_t> slices;
  for (std::size_t i = 0; i < nonzeros.size(); ++i) {
    if (i > 0 && list.index[0][i] == list.index[0][i - 1]) continue;
    slices.push_back(list.index[0][i]);
    list.child.push_back(static_cast<std::uint32_t>(i));
  }
  list.child.push_back(static_cast<std::uint32_t>(nonzeros.size()));
  list.index[0] = std::move(slices);
  return list;
}

}  // namespace blco
