// GenTen's variants of MTTKRP on a list of coordinates, on the CPU.
#include <algorithm>
#include <numeric>

#include "kernels/host/mttkrp_rows.hpp"
#include "kernels/part_ranges.hpp"
#include "tests/bench/rivals/coo_list.hpp"
#include "tests/bench/rivals/coo_rows.hpp"
#include "tests/bench/rivals/host_rival.hpp"
#include "tests/bench/rivals/private_outputs.hpp"
#include "tests/bench/rivals/rival_families.hpp"

namespace blco {
namespace {

// Parts of a pass per thread, so that threads end together.
constexpr std::size_t parts_per_thread = 8;

template <class T>
class CooRival final : public HostRival<T> {
 public:
  CooRival(RivalKind kind, const RivalTensor& tensor, const RivalOptions& options, Executor& executor)
      : HostRival<T>(tensor.shape, options, executor),
        kind_(kind),
        list_(build_coo_list<T>(kind, tensor, executor)),
        private_(std::ranges::max(tensor.shape), options.rank,
                 kind == RivalKind::coo_duplicated ? executor.width() : 1) {
    if (kind != RivalKind::coo_perm) return;
    for (std::size_t mode = 0; mode < this->order(); ++mode) {
      row_adds_.push_back(count_row_adds(list_, mode, coo_block_nonzeros));
    }
  }

  RivalStorage storage() const override {
    RivalStorage storage;
    storage.index_bytes = list_.nnz * this->order() * sizeof(std::uint32_t);
    storage.value_bytes = list_.nnz * sizeof(T);
    storage.auxiliary_bytes = list_.nnz * list_.permutations.size() * sizeof(std::uint32_t) + private_.bytes();
    return storage;
  }

  std::vector<RivalPart> parts() const override {
    std::vector<int> modes(this->order());
    std::iota(modes.begin(), modes.end(), 0);
    return {{"coo", std::move(modes), {list_.nnz}}};
  }

  RivalWork work(int mode) const override {
    const auto nnz = static_cast<double>(list_.nnz);
    const auto order = static_cast<double>(this->order());
    const double row_bytes = static_cast<double>(this->rank()) * sizeof(T);
    const bool permuted = kind_ == RivalKind::coo_perm;
    const double row_adds = permuted ? static_cast<double>(row_adds_[static_cast<std::size_t>(mode)]) : nnz;
    const double merged = static_cast<double>((private_.parts() - 1) * this->length(static_cast<std::size_t>(mode)));
    RivalWork work;
    work.flops = (nnz * order + merged + (permuted ? row_adds : 0)) * static_cast<double>(this->rank());
    work.bytes = nnz * ((order + (permuted ? 1 : 0)) * sizeof(std::uint32_t) + sizeof(T)) +
                 nnz * (order - 1) * row_bytes + 2 * row_adds * row_bytes + 3 * merged * row_bytes;
    return work;
  }

  void mttkrp(int mode) override {
    const auto n = static_cast<std::size_t>(mode);
    if (kind_ == RivalKind::coo_duplicated) return add_to_copies(n);
    this->zero_output(n);
    CooTask<T> task = task_of(n);
    if (kind_ == RivalKind::coo_single) return add_coo_blocks(task, list_.nnz, 0, blocks());
    const auto threads = static_cast<std::size_t>(this->executor().width());
    task.adds = threads > 1 ? RowAdds::atomic : RowAdds::plain;
    run_parts(
        this->executor(), threads == 1 ? 1 : threads * parts_per_thread, blocks(),
        [&](std::size_t, std::uint64_t begin, std::uint64_t end) { add_coo_blocks(task, list_.nnz, begin, end); });
  }

 private:
  std::uint64_t blocks() const { return (list_.nnz + coo_block_nonzeros - 1) / coo_block_nonzeros; }

  CooTask<T> task_of(std::size_t mode) {
    CooTask<T> task;
    CoordinateTask<T>& nonzeros = task.nonzeros;
    std::uint64_t factor_bytes = 0;
    for (std::size_t n = 0; n < this->order(); ++n) {
      if (n == mode) continue;
      nonzeros.factors[nonzeros.factor_count] = this->factor(n).row(0);
      nonzeros.rows[nonzeros.factor_count++] = list_.subscripts.data() + n;
      factor_bytes += this->factor(n).bytes();
    }
    nonzeros.values = list_.values.data();
    nonzeros.output = this->output().row(0);
    nonzeros.rank = this->rank();
    nonzeros.stride = this->stride();
    nonzeros.prefetch_rows = factor_bytes > prefetched_bytes(this->stride() * sizeof(T));
    task.targets = list_.subscripts.data() + mode;
    if (!list_.permutations.empty()) task.permutation = list_.permutations[mode].data();
    return task;
  }

  void add_to_copies(std::size_t mode) {
    const std::uint64_t numbers = this->length(mode) * this->stride();
    const CooTask<T> shared = task_of(mode);
    run_parts(this->executor(), private_.parts(), blocks(),
              [&](std::size_t part, std::uint64_t begin, std::uint64_t end) {
                CooTask<T> task = shared;
                task.nonzeros.output = private_.begin_part(part, shared.nonzeros.output, numbers);
                add_coo_blocks(task, list_.nnz, begin, end);
              });
    private_.merge(shared.nonzeros.output, numbers, this->executor());
  }

  RivalKind kind_;
  CooList<T> list_;
  PrivateOutputs<T> private_;
  std::vector<std::uint64_t> row_adds_;  // of coo_perm, per mode
};

}  // namespace

std::unique_ptr<Rival> make_coo_rival(RivalKind kind, const RivalTensor& tensor, const RivalOptions& options,
                                      Executor& executor) {
  if (options.precision == Precision::f32) return std::make_unique<CooRival<float>>(kind, tensor, options, executor);
  return std::make_unique<CooRival<double>>(kind, tensor, options, executor);
}

}  // namespace blco
