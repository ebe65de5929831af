#include <algorithm>

#include "kernels/rivals/csf_counts.hpp"
#include "kernels/rivals/cuda/device_families.hpp"
#include "kernels/rivals/cuda/device_tree.hpp"
#include "kernels/rivals/mm_parts.hpp"
#include "kernels/rivals/natural_sort.hpp"

namespace blco::cuda {
namespace {

TreeSchedule schedule_of(RivalKind kind, const RivalKnobs& knobs) {
  TreeSchedule schedule;
  schedule.block_threads = static_cast<unsigned>(knobs.block_threads);
  // A block for as many nonzeros of a slice as it has threads (Nisa et al., IPDPS 2019, section IV).
  if (kind == RivalKind::b_csf || kind == RivalKind::hb_csf) schedule.part_nnz = schedule.block_threads;
  if (kind == RivalKind::mm_csf) schedule.team_warps = static_cast<std::uint32_t>(knobs.warps_per_fiber);
  return schedule;
}

template <class T>
class DeviceCsf final : public DeviceRival<T> {
 public:
  DeviceCsf(RivalKind kind, const RivalTensor& tensor, const RivalOptions& options, Executor& executor)
      : DeviceRival<T>(tensor.shape, options.rank),
        has_tree_per_mode_(kind != RivalKind::csf_one && kind != RivalKind::mm_csf),
        tensor_(&tensor),
        executor_(&executor),
        schedule_(schedule_of(kind, options.knobs)) {
    if (kind == RivalKind::mm_csf) {
      load_partitions(options.knobs);
    } else if (kind == RivalKind::csf_one) {
      load_tree(ascending_modes(tensor.shape), 0);
    } else {
      for (int mode = 0; mode < tensor.order(); ++mode) {
        const std::vector<int> modes = modes_under(mode, tensor.shape);
        if (kind == RivalKind::hb_csf) {
          load_hybrid(modes, options.knobs.fiber_limit);
        } else {
          load_tree(modes, kind == RivalKind::b_csf ? options.knobs.fiber_limit : 0);
        }
      }
    }
    tensor_ = nullptr;
    executor_ = nullptr;
  }

  RivalStorage storage() const override {
    RivalStorage storage;
    std::uint64_t words = 0;
    std::uint64_t values = 0;
    for (const DeviceTree<T>& tree : trees_) {
      words += tree.has_paired_roots() ? mm_csf_words(tree.nodes()) : csf_words(tree.nodes());
      values += tree.nodes().back();
      storage.auxiliary_bytes += tree.schedule_bytes();
    }
    for (const DeviceSliceList<T>& list : lists_) {
      words +=
          list.is_coo() ? coo_words(list.nnz(), this->order()) : csl_words(list.slices(), list.nnz(), this->order());
      values += list.nnz();
      storage.auxiliary_bytes += list.schedule_bytes();
    }
    storage.index_bytes = words * sizeof(std::uint32_t);
    storage.value_bytes = values * sizeof(T);
    storage.copies = has_tree_per_mode_ ? static_cast<int>(this->order()) : 1;
    return storage;
  }

  std::vector<RivalPart> parts() const override {
    std::vector<RivalPart> parts;
    for (const DeviceTree<T>& tree : trees_) parts.push_back({"csf", tree.modes(), tree.nodes()});
    for (const DeviceSliceList<T>& list : lists_) {
      parts.push_back({list.is_coo() ? "coo" : "csl", list.modes(), {list.nnz()}});
    }
    return parts;
  }

  // As the papers count: a row that several warps add is counted once.
  RivalWork work(int mode) const override {
    CsfWork work;
    std::uint64_t words = 0;
    std::uint64_t values = 0;
    for (const DeviceTree<T>& tree : trees_) {
      if (!serves(tree.modes(), mode)) continue;
      work += csf_work(tree.nodes(), level_of(tree.modes(), mode));
      words += tree.has_paired_roots() ? mm_csf_words(tree.nodes()) : csf_words(tree.nodes());
      values += tree.nodes().back();
    }
    for (const DeviceSliceList<T>& list : lists_) {
      if (!serves(list.modes(), mode)) continue;
      work += list.is_coo() ? coo_work(list.nnz(), this->order()) : csl_work(list.slices(), list.nnz(), this->order());
      words +=
          list.is_coo() ? coo_words(list.nnz(), this->order()) : csl_words(list.slices(), list.nnz(), this->order());
      values += list.nnz();
    }
    const auto rank = static_cast<std::uint64_t>(this->rank());
    const std::uint64_t rows = work.row_reads + 2 * work.row_writes;
    return {.flops = static_cast<double>(work.flops * rank),
            .bytes = static_cast<double>(words * sizeof(std::uint32_t) + (values + rows * rank) * sizeof(T))};
  }

 protected:
  void add(std::size_t mode) override {
    std::vector<const T*> factors;
    for (std::size_t n = 0; n < this->order(); ++n) factors.push_back(this->factor(n));
    const auto target = static_cast<int>(mode);
    for (const DeviceTree<T>& tree : trees_) {
      if (!serves(tree.modes(), target)) continue;
      tree.add(level_of(tree.modes(), target), factors, this->rank(), this->output(), this->stream());
    }
    for (const DeviceSliceList<T>& list : lists_) {
      if (serves(list.modes(), target)) list.add(factors, this->rank(), this->output(), this->stream());
    }
  }

 private:
  bool serves(const std::vector<int>& modes, int mode) const { return !has_tree_per_mode_ || modes.front() == mode; }
  static std::size_t level_of(const std::vector<int>& modes, int mode) {
    return static_cast<std::size_t>(std::ranges::find(modes, mode) - modes.begin());
  }

  void load(const CsfTree& tree) { trees_.emplace_back(tree, *tensor_, schedule_, this->uploader()); }
  void load(const SliceList& list) { lists_.emplace_back(list, *tensor_, schedule_, this->uploader()); }

  void load_tree(const std::vector<int>& modes, std::uint32_t fiber_limit) {
    load(build_csf(*tensor_, modes, sorted_by(*tensor_, modes, *executor_), fiber_limit, *executor_));
  }
  void load_hybrid(const std::vector<int>& modes, std::uint32_t fiber_limit) {
    const HbParts parts = hb_parts(*tensor_, modes, sorted_by(*tensor_, modes, *executor_));
    if (!parts.csf.empty()) load(build_csf(*tensor_, modes, parts.csf, fiber_limit, *executor_));
    if (!parts.csl.empty()) load(build_csl_list(*tensor_, modes, parts.csl, *executor_));
    if (!parts.coo.empty()) load(build_coo_list(*tensor_, modes, parts.coo, *executor_));
  }
  void load_partitions(const RivalKnobs& knobs) {
    const std::vector<MmCandidate> candidates = mm_candidates(tensor_->shape, knobs.every_leaf);
    for (const MmPart& part : mm_parts(*tensor_, candidates, MmStrategy::by_current_size, *executor_)) {
      load(build_mm_csf(*tensor_, part.modes, part.sorted, knobs.fiber_limit, *executor_));
    }
  }

  bool has_tree_per_mode_;
  // While it is built.
  const RivalTensor* tensor_;
  Executor* executor_;
  TreeSchedule schedule_;
  std::vector<DeviceTree<T>> trees_;
  std::vector<DeviceSliceList<T>> lists_;
};

}  // namespace

template <class T>
std::unique_ptr<Rival> make_device_csf(RivalKind kind, const RivalTensor& tensor, const RivalOptions& options,
                                       Executor& executor) {
  return std::make_unique<DeviceCsf<T>>(kind, tensor, options, executor);
}

template std::unique_ptr<Rival> make_device_csf<double>(RivalKind, const RivalTensor&, const RivalOptions&, Executor&);
template std::unique_ptr<Rival> make_device_csf<float>(RivalKind, const RivalTensor&, const RivalOptions&, Executor&);

}  // namespace blco::cuda
