// The baseline's loop, with order, rank and line index width compiled in, once per instruction set.
#include "kernels/rivals/alto_baseline.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "blco/bits.hpp"
#include "blco/error.hpp"
#include "kernels/aligned_buffer.hpp"
#include "kernels/highway_targets.hpp"
#include "kernels/rivals/alto_task.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rivals/alto_baseline.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#if HWY_ARCH_X86_64
#include <immintrin.h>
#endif

HWY_BEFORE_NAMESPACE();
namespace blco::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE std::uint64_t extract(std::uint64_t word, std::uint64_t mask) {
#if HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86_64
  return _pext_u64(word, mask);
#else
  return pext_portable(word, mask);
#endif
}

template <std::size_t Order, std::size_t Rank, bool HasKey>
void alto_loop(const AltoTask& given) {
  const hn::CappedTag<double, 8> tag;
  const AltoTask task = given;
  for (std::uint64_t i = task.begin; i < task.end; ++i) {
    std::array<double*, Order> rows;
    for (std::size_t k = 0; k < Order; ++k) {
      std::uint64_t row = extract(task.lows[i], task.modes[k].low_mask);
      if constexpr (HasKey) row |= extract(task.keys[i], task.modes[k].key_mask) << task.modes[k].low_bits;
      rows[k] = task.matrices[k] + row * Rank;
    }
    for (std::size_t r = 0; r < Rank; r += hn::Lanes(tag)) {
      auto product = hn::Set(tag, task.values[i]);
      for (std::size_t k = 0; k + 2 < Order; ++k) product = hn::Mul(product, hn::Load(tag, rows[k] + r));
      double* out = rows[Order - 1] + r;
      hn::Store(hn::MulAdd(product, hn::Load(tag, rows[Order - 2] + r), hn::Load(tag, out)), tag, out);
    }
  }
}

template <std::size_t Order, std::size_t Rank>
void alto_of_rank(const AltoTask& task) {
  task.keys != nullptr ? alto_loop<Order, Rank, true>(task) : alto_loop<Order, Rank, false>(task);
}

template <std::size_t Order>
void alto_of_order(const AltoTask& task) {
  if (task.rank == 16) return alto_of_rank<Order, 16>(task);
  if (task.rank == 32) return alto_of_rank<Order, 32>(task);
  return alto_of_rank<Order, 64>(task);
}

}  // namespace

void run_alto(const AltoTask& task) {
  if (task.order == 3) return alto_of_order<3>(task);
  if (task.order == 4) return alto_of_order<4>(task);
  return alto_of_order<5>(task);
}

}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace blco {

HWY_EXPORT(run_alto);

namespace {

class PextBaseline final : public AltoBaseline {
 public:
  PextBaseline(const TensorLayout& layout, int rank, std::uint64_t nnz, Executor& executor)
      : layout_(layout),
        rank_(static_cast<std::uint64_t>(rank)),
        executor_(executor),
        lows_(nnz),
        keys_(layout.has_key() ? nnz : 0),
        values_(nnz) {
    const std::uint64_t longest = *std::max_element(layout.shape().begin(), layout.shape().end());
    for (const std::uint64_t length : layout.shape()) factors_.emplace_back(length * rank_);
    for (int part = 0; part < executor.width(); ++part) outputs_.emplace_back(longest * rank_);
  }

  void add(std::span<const LineIndex> lines, std::span<const double> values) override {
    if (lines.size() != values.size() || lines.size() > lows_.size() - nnz_) {
      throw Error(ErrorKind::invalid_argument, "the baseline was made for another number of nonzeros");
    }
    for (std::size_t i = 0; i < lines.size(); ++i) {
      lows_.data()[nnz_ + i] = lines[i].low;
      if (keys_.size() > 0) keys_.data()[nnz_ + i] = lines[i].key;
      values_.data()[nnz_ + i] = values[i];
    }
    nnz_ += lines.size();
  }

  void run(int mode) override {
    const std::size_t parts = outputs_.size();
    const std::uint64_t elements = layout_.mode(mode).length * rank_;
    executor_.run(parts, [&](std::size_t part) {
      std::memset(outputs_[part].data(), 0, elements * sizeof(double));
      AltoTask task = task_of(mode, part);
      task.begin = nnz_ * part / parts;
      task.end = nnz_ * (part + 1) / parts;
      HWY_DYNAMIC_DISPATCH(run_alto)(task);
    });
    executor_.run(parts, [&](std::size_t slice) {
      const std::uint64_t end = elements * (slice + 1) / parts;
      double* out = outputs_[0].data();
      for (std::size_t part = 1; part < parts; ++part) {
        const double* from = outputs_[part].data();
        for (std::uint64_t i = elements * slice / parts; i < end; ++i) out[i] += from[i];
      }
    });
  }

  std::span<const double> output_row(std::uint64_t row) const override {
    return {outputs_[0].data() + row * rank_, static_cast<std::size_t>(rank_)};
  }
  std::span<double> factor(int mode) override { return factors_[static_cast<std::size_t>(mode)].span(); }

 private:
  AltoTask task_of(int mode, std::size_t part) {
    AltoTask task;
    task.lows = lows_.data();
    task.keys = keys_.data();
    task.values = values_.data();
    task.order = factors_.size();
    task.rank = rank_;
    std::size_t k = 0;
    for (int n = 0; n < layout_.order(); ++n) {
      const bool target = n == mode;
      const std::size_t to = target ? task.order - 1 : k++;
      task.modes[to] = layout_.mode(n);
      task.matrices[to] = target ? outputs_[part].data() : factors_[static_cast<std::size_t>(n)].data();
    }
    return task;
  }

  TensorLayout layout_;
  std::uint64_t rank_;
  Executor& executor_;
  AlignedBuffer<std::uint64_t> lows_;
  AlignedBuffer<std::uint64_t> keys_;
  AlignedBuffer<double> values_;
  std::uint64_t nnz_ = 0;
  std::vector<AlignedBuffer<double>> factors_;
  std::vector<AlignedBuffer<double>> outputs_;  // per part
};

}  // namespace

bool has_alto_baseline(const TensorLayout& layout, int rank) {
  const bool compiled = layout.order() >= 3 && layout.order() <= static_cast<int>(alto_modes);
  return compiled && (rank == 16 || rank == 32 || rank == 64) && has_fast_pext();
}

std::unique_ptr<AltoBaseline> make_alto_baseline(const TensorLayout& layout, int rank, std::uint64_t nnz,
                                                 Executor& executor) {
  if (!has_alto_baseline(layout, rank)) {
    throw Error(ErrorKind::invalid_argument,
                "the baseline supports orders 3 to 5 and ranks 16, 32 and 64, and requires a CPU with a fast pext");
  }
  return std::make_unique<PextBaseline>(layout, rank, nnz, executor);
}

}  // namespace blco
#endif  // HWY_ONCE
