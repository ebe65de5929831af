// HB-CSF's choice of a format for each slice (Nisa et al., IPDPS 2019, section V).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "blco/executor.hpp"
#include "tests/bench/rivals/rival.hpp"

namespace blco {

// Numbers of nonzeros, by the format of their slice; each list is sorted by `modes`, as the input was.
struct HbParts {
  std::vector<int> modes;          // root first
  std::vector<std::uint32_t> coo;  // slices of one nonzero
  std::vector<std::uint32_t> csl;  // slices whose last-level fibers have one nonzero each
  std::vector<std::uint32_t> csf;  // all others
};

// `sorted` as for build_csf. The paper's algorithm 5 prints `== 0` and an initial `false` where 1 and true are meant.
HbParts hb_parts(const RivalTensor& tensor, std::span<const int> modes, std::span<const std::uint32_t> sorted);

// Slices without fibers: CSL, or COO, which has neither pointers nor indices of slices.
struct SliceList {
  std::vector<int> modes;                         // N, that of the slices first
  std::vector<std::vector<std::uint32_t>> index;  // per mode: coordinates of M nonzeros; CSL: index[0] of the S slices
  std::vector<std::uint32_t> child;               // CSL: first nonzero of each slice, then M; COO: empty
  std::vector<std::uint32_t> nonzero;             // number in the tensor; not part of the format

  bool is_coo() const { return child.empty(); }
  std::size_t order() const { return modes.size(); }
  std::uint64_t slices() const { return index[0].size(); }
  std::uint64_t nnz() const { return index.back().size(); }
};

SliceList build_singleton_list(const RivalTensor& tensor, std::span<const int> modes,
                               std::span<const std::uint32_t> nonzeros, Executor& executor);
// `nonzeros` are sorted by the first mode.
SliceList build_csl_list(const RivalTensor& tensor, std::span<const int> modes, std::span<const std::uint32_t> nonzeros,
                         Executor& executor);

}  // namespace blco
