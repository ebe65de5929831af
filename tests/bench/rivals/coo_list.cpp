#include "tests/bench/rivals/coo_list.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

#include "kernels/part_ranges.hpp"
#include "tests/bench/rivals/natural_sort.hpp"
#include "tests/bench/rivals/sorted_lines.hpp"

namespace blco {
namespace {

AlignedBuffer<std::uint32_t> permutation_of(const RivalTensor& tensor, int mode, Executor& executor) {
  const std::vector<std::uint32_t> sorted = sorted_by(tensor, std::span(&mode, 1), executor);
  AlignedBuffer<std::uint32_t> permutation(sorted.size() + look_ahead_nonzeros);
  std::ranges::copy(sorted, permutation.data());
  return permutation;
}

}  // namespace

template <class T>
CooList<T> build_coo_list(RivalKind kind, const RivalTensor& tensor, Executor& executor) {
  const auto order = static_cast<std::size_t>(tensor.order());
  SortedLines lines;
  if (kind == RivalKind::coo_line) lines = sort_lines(tensor, executor);
  CooList<T> list;
  list.nnz = tensor.nnz();
  list.subscripts = AlignedBuffer<std::uint32_t>((tensor.nnz() + look_ahead_nonzeros) * order);
  list.values = AlignedBuffer<T>(tensor.nnz() + look_ahead_nonzeros);
  run_shares(executor, tensor.nnz(), [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      const std::uint64_t from = kind == RivalKind::coo_line ? lines.nonzeros.data()[i] : i;
      for (std::size_t n = 0; n < order; ++n) list.subscripts.data()[i * order + n] = tensor.coordinates[n][from];
      list.values.data()[i] = static_cast<T>(tensor.values[from]);
    }
  });
  if (kind == RivalKind::coo_perm) {
    for (int mode = 0; mode < tensor.order(); ++mode) {
      list.permutations.push_back(permutation_of(tensor, mode, executor));
    }
  }
  return list;
}

template <class T>
std::uint64_t count_row_adds(const CooList<T>& list, std::size_t mode, std::uint64_t block_nonzeros) {
  std::uint64_t adds = 0;
  const std::uint32_t* permutation = list.permutations[mode].data();
  const std::size_t order = list.permutations.size();
  const auto row = [&](std::uint64_t at) { return list.subscripts.data()[permutation[at] * order + mode]; };
  for (std::uint64_t at = 0; at < list.nnz; ++at) {
    adds += at % block_nonzeros == 0 || row(at) != row(at - 1) ? 1 : 0;
  }
  return adds;
}

template CooList<double> build_coo_list<double>(RivalKind, const RivalTensor&, Executor&);
template CooList<float> build_coo_list<float>(RivalKind, const RivalTensor&, Executor&);
template std::uint64_t count_row_adds(const CooList<double>&, std::size_t, std::uint64_t);
template std::uint64_t count_row_adds(const CooList<float>&, std::size_t, std::uint64_t);

}  // namespace blco
