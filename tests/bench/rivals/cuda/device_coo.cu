#include <numeric>

#include "tests/bench/rivals/coo_list.hpp"
#include "tests/bench/rivals/cuda/coo_kernel.cuh"
#include "tests/bench/rivals/cuda/device_families.hpp"
#include "tests/bench/rivals/cuda/device_rival.hpp"

namespace blco::cuda {
namespace {

static_assert(coo_group_nonzeros == coo_block_nonzeros);

template <class T>
class DeviceCoo final : public DeviceRival<T> {
 public:
  DeviceCoo(RivalKind kind, const RivalTensor& tensor, const RivalOptions& options, Executor& executor)
      : DeviceRival<T>(tensor.shape, options), nnz_(tensor.nnz()) {
    const CooList<T> list = build_coo_list<T>(kind, tensor, executor);
    Uploader& uploader = this->uploader();
    subscripts_ = uploader.copy(list.subscripts, "subscripts");
    values_ = uploader.copy(list.values, "values");
    for (const auto& permutation : list.permutations) {
      permutations_.push_back(uploader.copy(permutation, "a permutation"));
      row_adds_.push_back(static_cast<double>(count_row_adds(list, permutations_.size() - 1, coo_block_nonzeros)));
    }
  }

  RivalStorage storage() const override {
    return {.index_bytes = nnz_ * this->order() * sizeof(std::uint32_t),
            .value_bytes = nnz_ * sizeof(T),
            .auxiliary_bytes = nnz_ * permutations_.size() * sizeof(std::uint32_t)};
  }

  std::vector<RivalPart> parts() const override {
    std::vector<int> modes(this->order());
    std::iota(modes.begin(), modes.end(), 0);
    return {{"coo", std::move(modes), {nnz_}}};
  }

  RivalWork work(int mode) const override {
    const ColumnShape shape = genten_columns(this->rank());
    const double rounds = (this->rank() - 1) / (shape.lanes * shape.columns) + 1;
    const auto nnz = static_cast<double>(nnz_);
    const auto order = static_cast<double>(this->order());
    const bool permuted = !permutations_.empty();
    const double row_adds = permuted ? row_adds_[static_cast<std::size_t>(mode)] : nnz;
    const double row_bytes = this->rank() * static_cast<double>(sizeof(T));
    const double list_bytes = (order + (permuted ? 1 : 0)) * sizeof(std::uint32_t) + sizeof(T);
    return {.flops = (nnz * order + (permuted ? row_adds : 0)) * this->rank(),
            .bytes = rounds * nnz * list_bytes + (nnz * (order - 1) + 2 * row_adds) * row_bytes};
  }

 protected:
  void add(std::size_t mode) override {
    CooArguments<T> arguments;
    arguments.subscripts = subscripts_.as<std::uint32_t>();
    if (!permutations_.empty()) arguments.permutation = permutations_[mode].template as<std::uint32_t>();
    arguments.values = values_.as<T>();
    arguments.place[0] = static_cast<int>(mode);
    std::size_t position = 1;
    for (std::size_t n = 0; n < this->order(); ++n) {
      if (n == mode) continue;
      arguments.place[position] = static_cast<int>(n);
      arguments.rows[position++] = this->factor(n);
    }
    arguments.output = this->output();
    arguments.nnz = nnz_;
    arguments.order = static_cast<int>(this->order());
    arguments.rank = this->rank();
    launch_coo(arguments, this->stream());
  }

 private:
  std::uint64_t nnz_;
  DeviceBuffer subscripts_;
  DeviceBuffer values_;
  std::vector<DeviceBuffer> permutations_;
  std::vector<double> row_adds_;  // of coo_perm, per mode
};

}  // namespace

template <class T>
std::unique_ptr<Rival> make_device_coo(RivalKind kind, const RivalTensor& tensor, const RivalOptions& options,
                                       Executor& executor) {
  return std::make_unique<DeviceCoo<T>>(kind, tensor, options, executor);
}

template std::unique_ptr<Rival> make_device_coo<double>(RivalKind, const RivalTensor&, const RivalOptions&, Executor&);
template std::unique_ptr<Rival> make_device_coo<float>(RivalKind, const RivalTensor&, const RivalOptions&, Executor&);

}  // namespace blco::cuda
