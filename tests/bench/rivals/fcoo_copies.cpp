#include "tests/bench/rivals/fcoo_copies.hpp"

#include <cstddef>
#include <span>

#include "kernels/part_ranges.hpp"
#include "tests/bench/rivals/natural_sort.hpp"

namespace blco {
namespace {

constexpr std::uint64_t word_flags = 32;

std::vector<std::uint32_t> cleared_flags(std::uint64_t count) {
  return std::vector<std::uint32_t>((count + word_flags - 1) / word_flags);
}

void set_flag(std::vector<std::uint32_t>& flags, std::uint64_t i) {
  flags[i / word_flags] |= std::uint32_t{1} << i % word_flags;
}

template <class T>
void find_segments(std::span<const std::uint32_t> targets, std::span<const std::uint32_t> sorted, FcooCopy<T>& copy) {
  const std::uint64_t groups = (copy.nnz + copy.group_nonzeros - 1) / copy.group_nonzeros;
  copy.bit_flags = cleared_flags(copy.nnz);
  copy.start_flags = cleared_flags(groups);
  copy.first_segments.resize(groups);
  for (std::uint64_t i = 0; i < copy.nnz; ++i) {
    const std::uint64_t group = i / copy.group_nonzeros;
    const std::uint32_t row = targets[sorted[i]];
    if (copy.rows.empty() || copy.rows.back() != row) {
      copy.rows.push_back(row);
      set_flag(copy.start_flags, group);
    }
    if (i % copy.group_nonzeros == 0) copy.first_segments[group] = static_cast<std::uint32_t>(copy.rows.size() - 1);
    if (i + 1 < copy.nnz && targets[sorted[i + 1]] == row) set_flag(copy.bit_flags, i);
  }
}

}  // namespace

template <class T>
FcooCopy<T> build_fcoo_copy(const RivalTensor& tensor, int mode, std::uint64_t group_nonzeros, Executor& executor) {
  const std::vector<std::uint32_t> sorted = sorted_by(tensor, std::span(&mode, 1), executor);
  FcooCopy<T> copy;
  copy.mode = mode;
  copy.nnz = tensor.nnz();
  copy.group_nonzeros = group_nonzeros;
  for (int n = 0; n < tensor.order(); ++n) {
    if (n == mode) continue;
    const std::span<const std::uint32_t> from = tensor.coordinates[static_cast<std::size_t>(n)];
    AlignedBuffer<std::uint32_t>& index = copy.indices.emplace_back(copy.nnz + look_ahead_nonzeros);
    run_shares(executor, copy.nnz, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) index.data()[i] = from[sorted[i]];
    });
  }
  copy.values = AlignedBuffer<T>(copy.nnz + look_ahead_nonzeros);
  run_shares(executor, copy.nnz, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) copy.values.data()[i] = static_cast<T>(tensor.values[sorted[i]]);
  });
  find_segments(tensor.coordinates[static_cast<std::size_t>(mode)], sorted, copy);
  return copy;
}

template FcooCopy<double> build_fcoo_copy<double>(const RivalTensor&, int, std::uint64_t, Executor&);
template FcooCopy<float> build_fcoo_copy<float>(const RivalTensor&, int, std::uint64_t, Executor&);

}  // namespace blco
