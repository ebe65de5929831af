#include <algorithm>

#include "tests/bench/rivals/cuda/device_tree.hpp"
#include "tests/bench/rivals/cuda/slice_list_kernel.cuh"
#include "tests/bench/rivals/cuda/slice_parts.hpp"
#include "tests/bench/rivals/cuda/tree_arguments.hpp"

namespace blco::cuda {
namespace {

constexpr unsigned warp_threads = 32;

std::vector<double> gather_values(const RivalTensor& tensor, const std::vector<std::uint32_t>& nonzeros) {
  std::vector<double> values(nonzeros.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = tensor.values[nonzeros[i]];
  return values;
}

TreeTarget target_of(std::size_t level, std::size_t order) {
  if (level + 1 == order) return TreeTarget::leaf;
  if (level + 2 == order) return TreeTarget::fiber;
  return level == 0 ? TreeTarget::root : TreeTarget::inner;
}

}  // namespace

template <class T>
DeviceTree<T>::DeviceTree(const CsfTree& tree, const RivalTensor& tensor, const TreeSchedule& schedule,
                          Uploader& uploader)
    : modes_(tree.modes),
      schedule_(schedule),
      has_paired_roots_(tree.has_paired_roots()),
      values_(uploader.copy_numbers<T>(gather_values(tensor, tree.nonzero), "values")) {
  for (const auto& index : tree.index) index_.push_back(uploader.copy(index, "indices of a tree"));
  for (const auto& child : tree.child) child_.push_back(uploader.copy(child, "pointers of a tree"));
  if (schedule.team_warps > 0) {
    // As in the authors' code: 4 fibers for blocks of 128 threads, 16 for 512.
    team_nodes_ = schedule.block_threads / warp_threads;
    node_count_ = static_cast<std::uint32_t>(tree.nodes(has_paired_roots_ ? 1 : 0));
    return;
  }
  const SliceParts parts = cut_slices(tree, schedule.part_nnz);
  part_count_ = parts.count();
  block_parts_ = parts.block_parts;
  parts_ = uploader.copy(parts.words, "parts of slices");
}

template <class T>
void DeviceTree<T>::add(std::size_t mode, const std::vector<const T*>& factors, int rank, T* output,
                        cudaStream_t stream) const {
  const std::size_t order = modes_.size();
  const auto target = static_cast<std::size_t>(std::ranges::find(modes_, static_cast<int>(mode)) - modes_.begin());
  const std::size_t fibers = order - 2;
  const auto rows = [&](std::size_t level) { return factors[static_cast<std::size_t>(modes_[level])]; };
  TreeArguments<T> arguments;
  arguments.heights = static_cast<int>(fibers);
  for (std::size_t level = 0; level < fibers; ++level) {
    TreeLevel<T>& above = arguments.above[fibers - 1 - level];
    above.rows = rows(level);
    above.index = index_[level].template as<std::uint32_t>();
    above.child = child_[level].template as<std::uint32_t>();
  }
  arguments.fiber_index = index_[fibers].template as<std::uint32_t>();
  arguments.fiber_child = child_[fibers].template as<std::uint32_t>();
  arguments.fiber_rows = rows(fibers);
  arguments.leaf_index = index_[fibers + 1].template as<std::uint32_t>();
  arguments.leaf_rows = rows(fibers + 1);
  arguments.values = values_.template as<T>();
  arguments.output = output;
  arguments.target_height = static_cast<int>(fibers) - 1 - static_cast<int>(target);
  arguments.parts = parts_.template as<std::uint32_t>();
  arguments.part_count = part_count_;
  arguments.block_parts = block_parts_;
  arguments.team_nodes = team_nodes_;
  arguments.team_warps = schedule_.team_warps;
  arguments.node_count = node_count_;
  if (has_paired_roots_) arguments.slices = index_[0].template as<std::uint32_t>();
  arguments.rank = rank;
  arguments.threads = schedule_.block_threads;
  launch_tree(target_of(target, order), arguments, stream);
}

template <class T>
DeviceSliceList<T>::DeviceSliceList(const SliceList& list, const RivalTensor& tensor, const TreeSchedule& schedule,
                                    Uploader& uploader)
    : modes_(list.modes),
      nnz_(list.nnz()),
      is_coo_(list.is_coo()),
      block_threads_(schedule.block_threads),
      values_(uploader.copy_numbers<T>(gather_values(tensor, list.nonzero), "values")) {
  for (const auto& index : list.index) index_.push_back(uploader.copy(index, "indices of a list"));
  if (is_coo_) return;
  child_ = uploader.copy(list.child, "pointers of slices");
  const SliceParts parts = cut_slices(list, schedule.part_nnz);
  part_count_ = parts.count();
  block_parts_ = parts.block_parts;
  parts_ = uploader.copy(parts.words, "parts of slices");
}

template <class T>
void DeviceSliceList<T>::add(std::size_t, const std::vector<const T*>& factors, int rank, T* output,
                             cudaStream_t stream) const {
  SliceListArguments<T> arguments;
  for (std::size_t k = 1; k < modes_.size(); ++k) {
    arguments.indices[k - 1] = index_[k].template as<std::uint32_t>();
    arguments.rows[k - 1] = factors[static_cast<std::size_t>(modes_[k])];
  }
  arguments.values = values_.template as<T>();
  arguments.output = output;
  if (is_coo_) arguments.slices = index_[0].template as<std::uint32_t>();
  arguments.parts = parts_.template as<std::uint32_t>();
  arguments.part_count = part_count_;
  arguments.block_parts = block_parts_;
  arguments.nnz = nnz_;
  arguments.others = static_cast<int>(modes_.size()) - 1;
  arguments.rank = rank;
  arguments.threads = block_threads_;
  launch_slice_list(arguments, stream);
}

template class DeviceTree<double>;
template class DeviceTree<float>;
template class DeviceSliceList<double>;
template class DeviceSliceList<float>;

}  // namespace blco::cuda
