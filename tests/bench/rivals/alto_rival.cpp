// ALTO on the CPU, kept as simple as in its paper (Helal et al., ICS 2021): line indices in order, coordinates
// extracted by pext, an output per thread, merged at the end.
#include <algorithm>
#include <numeric>

#include "kernels/part_ranges.hpp"
#include "tests/bench/rivals/alto_lines.hpp"
#include "tests/bench/rivals/host_rival.hpp"
#include "tests/bench/rivals/private_outputs.hpp"
#include "tests/bench/rivals/rival_families.hpp"
#include "tests/bench/rivals/sorted_lines.hpp"

namespace blco {
namespace {

template <class T>
class AltoRival final : public HostRival<T> {
 public:
  AltoRival(const RivalTensor& tensor, const RivalOptions& options, Executor& executor)
      : HostRival<T>(tensor.shape, options, executor),
        layout_(tensor.shape),
        values_(tensor.nnz()),
        private_(std::ranges::max(tensor.shape), options.rank, executor.width()) {
    SortedLines lines = sort_lines(tensor, executor);
    run_shares(executor, tensor.nnz(), [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) {
        values_.data()[i] = static_cast<T>(tensor.values[lines.nonzeros.data()[i]]);
      }
    });
    lows_ = std::move(lines.lows);
    keys_ = std::move(lines.keys);
  }

  RivalStorage storage() const override {
    RivalStorage storage;
    storage.index_bytes = (lows_.size() + keys_.size()) * sizeof(std::uint64_t);
    storage.value_bytes = values_.size() * sizeof(T);
    storage.auxiliary_bytes = private_.bytes();
    return storage;
  }

  std::vector<RivalPart> parts() const override {
    std::vector<int> modes(this->order());
    std::iota(modes.begin(), modes.end(), 0);
    return {{"alto", std::move(modes), {values_.size()}}};
  }

  RivalWork work(int mode) const override {
    const auto nnz = static_cast<double>(values_.size());
    const auto order = static_cast<double>(this->order());
    const double row_bytes = static_cast<double>(this->rank()) * sizeof(T);
    const double merged = static_cast<double>((private_.parts() - 1) * this->length(static_cast<std::size_t>(mode)));
    RivalWork work;
    work.flops = (nnz * order + merged) * static_cast<double>(this->rank());
    work.bytes = static_cast<double>((lows_.size() + keys_.size()) * sizeof(std::uint64_t)) +
                 nnz * (sizeof(T) + (order + 1) * row_bytes) + 3 * merged * row_bytes;
    return work;
  }

  void mttkrp(int mode) override {
    const std::uint64_t numbers = this->length(static_cast<std::size_t>(mode)) * this->stride();
    T* output = this->output().row(0);
    const AltoLines<T> shared = task_of(mode);
    run_parts(this->executor(), private_.parts(), values_.size(),
              [&](std::size_t part, std::uint64_t begin, std::uint64_t end) {
                AltoLines<T> task = shared;
                task.output = private_.begin_part(part, output, numbers);
                task.begin = begin;
                task.end = end;
                add_alto_lines(task);
              });
    private_.merge(output, numbers, this->executor());
  }

 private:
  AltoLines<T> task_of(int mode) const {
    AltoLines<T> task;
    task.lows = lows_.data();
    task.keys = keys_.data();
    task.values = values_.data();
    task.order = this->order();
    task.stride = this->stride();
    std::size_t k = 0;
    for (int n = 0; n < layout_.order(); ++n) {
      const std::size_t to = n == mode ? task.order - 1 : k++;
      task.modes[to] = layout_.mode(n);
      if (n != mode) task.factors[to] = this->factor(static_cast<std::size_t>(n)).row(0);
    }
    return task;
  }

  TensorLayout layout_;
  AlignedBuffer<std::uint64_t> lows_;
  AlignedBuffer<std::uint64_t> keys_;  // empty if lines have at most 64 bits
  AlignedBuffer<T> values_;
  PrivateOutputs<T> private_;
};

}  // namespace

std::unique_ptr<Rival> make_alto_rival(const RivalTensor& tensor, const RivalOptions& options, Executor& executor) {
  if (options.precision == Precision::f32) return std::make_unique<AltoRival<float>>(tensor, options, executor);
  return std::make_unique<AltoRival<double>>(tensor, options, executor);
}

}  // namespace blco
