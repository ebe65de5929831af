// F-COO on the CPU: threads take neighbouring groups, sum segments in registers, and share no output row.
#include <algorithm>

#include "kernels/host/mttkrp_rows.hpp"
#include "kernels/part_ranges.hpp"
#include "tests/bench/rivals/fcoo_copies.hpp"
#include "tests/bench/rivals/fcoo_rows.hpp"
#include "tests/bench/rivals/host_rival.hpp"
#include "tests/bench/rivals/rival_families.hpp"

namespace blco {
namespace {

template <class T>
class FcooRival final : public HostRival<T> {
 public:
  FcooRival(const RivalTensor& tensor, const RivalOptions& options, Executor& executor)
      : HostRival<T>(tensor.shape, options, executor),
        carries_(static_cast<std::uint64_t>(executor.width()) * fcoo_parts_per_thread, options.rank) {
    const auto group = static_cast<std::uint64_t>(options.knobs.thread_nonzeros);
    for (int mode = 0; mode < tensor.order(); ++mode) {
      copies_.push_back(build_fcoo_copy<T>(tensor, mode, group, executor));
    }
  }

  RivalStorage storage() const override {
    const std::uint64_t nnz = copies_[0].nnz;
    RivalStorage storage;
    storage.index_bytes = fcoo_index_bytes(copies_.size(), nnz, copies_[0].group_nonzeros);
    storage.value_bytes = copies_.size() * nnz * sizeof(T);
    storage.auxiliary_bytes = carries_.bytes();
    for (const FcooCopy<T>& copy : copies_) {
      storage.auxiliary_bytes += (copy.rows.size() + copy.first_segments.size()) * sizeof(std::uint32_t);
    }
    storage.copies = static_cast<int>(copies_.size());
    return storage;
  }

  std::vector<RivalPart> parts() const override {
    std::vector<RivalPart> parts;
    for (const FcooCopy<T>& copy : copies_) {
      RivalPart part{"coo", {copy.mode}, {copy.nnz}};
      for (int n = 0; n < static_cast<int>(copies_.size()); ++n) {
        if (n != copy.mode) part.modes.push_back(n);
      }
      parts.push_back(std::move(part));
    }
    return parts;
  }

  RivalWork work(int mode) const override {
    const FcooCopy<T>& copy = copies_[static_cast<std::size_t>(mode)];
    const auto nnz = static_cast<double>(copy.nnz);
    const auto order = static_cast<double>(copies_.size());
    const auto segments = static_cast<double>(copy.rows.size());
    const double row_bytes = static_cast<double>(this->rank()) * sizeof(T);
    RivalWork work;
    work.flops = nnz * order * static_cast<double>(this->rank());
    work.bytes = static_cast<double>(fcoo_index_bytes(copies_.size(), copy.nnz, copy.group_nonzeros)) / order +
                 nnz * sizeof(T) + nnz * (order - 1) * row_bytes + segments * (sizeof(std::uint32_t) + 2 * row_bytes);
    return work;
  }

  void mttkrp(int mode) override {
    const auto n = static_cast<std::size_t>(mode);
    this->zero_output(n);
    const FcooCopy<T>& copy = copies_[n];
    const FcooTask<T> task = task_of(copy);
    const std::uint64_t parts = std::min(carries_.rows(), copy.groups());
    run_parts(this->executor(), parts, copy.groups(), [&](std::size_t part, std::uint64_t begin, std::uint64_t end) {
      FcooRange<T> range;
      range.begin = begin * copy.group_nonzeros;
      range.end = std::min(copy.nnz, end * copy.group_nonzeros);
      range.segment = copy.first_segments[begin];
      if (continues(copy, range.begin)) {
        range.carry = carries_.row(part);
        std::fill_n(range.carry, this->stride(), T{});
      }
      add_fcoo_segments(task, range);
    });
    add_carries(copy, parts);
  }

 private:
  // True if a nonzero is not the first of its segment.
  static bool continues(const FcooCopy<T>& copy, std::uint64_t nonzero) {
    if (nonzero == 0) return false;
    const std::uint64_t before = nonzero - 1;
    return (copy.bit_flags[before / 32] >> before % 32 & 1) != 0;
  }

  FcooTask<T> task_of(const FcooCopy<T>& copy) {
    FcooTask<T> task;
    CoordinateTask<T>& nonzeros = task.nonzeros;
    std::uint64_t factor_bytes = 0;
    for (std::size_t n = 0; n < this->order(); ++n) {
      if (static_cast<int>(n) == copy.mode) continue;
      nonzeros.factors[nonzeros.factor_count] = this->factor(n).row(0);
      nonzeros.rows[nonzeros.factor_count] = copy.indices[nonzeros.factor_count].data();
      ++nonzeros.factor_count;
      factor_bytes += this->factor(n).bytes();
    }
    nonzeros.values = copy.values.data();
    nonzeros.output = this->output().row(0);
    nonzeros.rank = this->rank();
    nonzeros.stride = this->stride();
    nonzeros.prefetch_rows = factor_bytes > prefetched_bytes(this->stride() * sizeof(T));
    task.bit_flags = copy.bit_flags.data();
    task.rows = copy.rows.data();
    return task;
  }

  // A part's carry belongs to a row that an earlier part has begun.
  void add_carries(const FcooCopy<T>& copy, std::uint64_t parts) {
    for (std::uint64_t part = 1; part < parts; ++part) {
      const std::uint64_t group = copy.groups() * part / parts;
      if (!continues(copy, group * copy.group_nonzeros)) continue;
      T* out = this->output().row(copy.rows[copy.first_segments[group]]);
      const T* carry = carries_.row(part);
      for (std::size_t r = 0; r < this->rank(); ++r) out[r] += carry[r];
    }
  }

  std::vector<FcooCopy<T>> copies_;  // per target mode
  RowMatrix<T> carries_;             // a row per part
};

}  // namespace

std::unique_ptr<Rival> make_fcoo_rival(const RivalTensor& tensor, const RivalOptions& options, Executor& executor) {
  if (options.precision == Precision::f32) return std::make_unique<FcooRival<float>>(tensor, options, executor);
  return std::make_unique<FcooRival<double>>(tensor, options, executor);
}

}  // namespace blco
