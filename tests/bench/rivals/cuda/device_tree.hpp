// Trees and lists of the CSF family in device memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/bench/rivals/csf/csf_tree.hpp"
#include "tests/bench/rivals/csf/hb_parts.hpp"
#include "tests/bench/rivals/cuda/device_rival.hpp"

namespace blco::cuda {

// How a tree's work is cut: by slices into parts of at most `part_nnz` nonzeros, 0: whole slices; or, of trees of
// mm_csf, by fibers for teams of warps.
struct TreeSchedule {
  unsigned block_threads = 128;
  std::uint64_t part_nnz = 0;
  std::uint32_t team_warps = 0;  // 0: by slices
};

// T: double or float.
template <class T>
class DeviceTree {
 public:
  DeviceTree(const CsfTree& tree, const RivalTensor& tensor, const TreeSchedule& schedule, Uploader& uploader);

  std::uint64_t schedule_bytes() const { return parts_.bytes(); }

  // Queues what adds every nonzero to the output of `mode`. `factors`: per mode of the tensor, I_n x rank.
  void add(std::size_t mode, const std::vector<const T*>& factors, int rank, T* output, cudaStream_t stream) const;

 private:
  std::vector<int> modes_;
  TreeSchedule schedule_;
  bool has_paired_roots_ = false;
  std::vector<DeviceBuffer> index_;  // per level
  std::vector<DeviceBuffer> child_;  // per level above the last
  DeviceBuffer values_;
  DeviceBuffer parts_;
  std::uint32_t part_count_ = 0;
  std::uint32_t block_parts_ = 0;
  std::uint32_t team_nodes_ = 0;
  std::uint32_t node_count_ = 0;  // that teams share out
};

template <class T>
class DeviceSliceList {
 public:
  DeviceSliceList(const SliceList& list, const RivalTensor& tensor, const TreeSchedule& schedule, Uploader& uploader);

  std::uint64_t schedule_bytes() const { return parts_.bytes(); }

  // As above; `mode` is that of the slices.
  void add(std::size_t mode, const std::vector<const T*>& factors, int rank, T* output, cudaStream_t stream) const;

 private:
  std::vector<int> modes_;
  std::uint64_t nnz_;
  bool is_coo_;
  unsigned block_threads_;
  std::vector<DeviceBuffer> index_;  // per mode of the list
  DeviceBuffer child_;
  DeviceBuffer values_;
  DeviceBuffer parts_;
  std::uint32_t part_count_ = 0;
  std::uint32_t block_parts_ = 0;
};

}  // namespace blco::cuda
