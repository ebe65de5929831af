// Rows in pieces of up to two cache lines of columns, compiled once per instruction set.
#include "kernels/host/loss_rows.hpp"

#include "kernels/highway_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/host/loss_rows.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/host/row_columns-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace blco::HWY_NAMESPACE {
namespace {

// Nonzeros from a prefetch to its use.
constexpr std::size_t loss_prefetch_distance = 16;

// Rows of one factor.
template <class T, class Rows>
class FactorRows {
 public:
  FactorRows() = default;
  FactorRows(const std::uint64_t* lines, const IndexedRows<const T>& of, std::uint64_t stride)
      : matrix_(of.matrix), rows_(lines, of.rows, of.mask), stride_(stride) {}
  HWY_INLINE const T* row(std::size_t at) const { return matrix_ + rows_.row(at) * stride_; }
  HWY_INLINE const T* row_ahead(std::size_t at) const { return matrix_ + rows_.row_ahead(at) * stride_; }

 private:
  const T* matrix_ = nullptr;
  Rows rows_;
  std::uint64_t stride_ = 0;
};

template <class T>
HWY_INLINE void prefetch_row(const T* row, std::size_t columns) {
  for (std::size_t column = 0; column < columns; column += line_columns<T>) hwy::Prefetch(row + column);
}

// How many of `count` nonzeros can prefetch for the one at the distance.
HWY_INLINE std::size_t prefetching(bool prefetch, std::size_t count, std::size_t readable) {
  if (!prefetch || readable < loss_prefetch_distance) return 0;
  return std::min(count, readable - loss_prefetch_distance);
}

// Nonzeros whose partial sums are added up together.
constexpr std::size_t group_entries = 8;

#if HWY_TARGET != HWY_SCALAR
// Four lanes: two partial sums of `a`'s lanes and two of `b`'s in turn.
template <class Tag, class Vector>
HWY_INLINE auto sum_pair(Tag tag, Vector a, Vector b) {
  const auto both = hn::Add(hn::InterleaveLower(tag, a, b), hn::InterleaveUpper(tag, a, b));
  if constexpr (hn::MaxLanes(tag) == 4) {
    return both;
  } else {
    const hn::Half<Tag> half;
    return hn::Add(hn::LowerHalf(half, both), hn::UpperHalf(half, both));
  }
}

// The sums of the lanes of four vectors, written at once: half the work of one after the other.
template <class Tag, class Vector>
HWY_INLINE void store_four_sums(Tag tag, const Vector* sums, double* to) {
  const hn::CappedTag<double, 4> four;
  const auto first = sum_pair(tag, sums[0], sums[1]);
  const auto second = sum_pair(tag, sums[2], sums[3]);
  hn::StoreU(hn::Add(hn::ConcatLowerLower(four, second, first), hn::ConcatUpperUpper(four, second, first)), four, to);
}

template <class Tag>
constexpr bool sums_four = std::is_same_v<hn::TFromD<Tag>, double>&& hn::MaxLanes(Tag()) >= 4;
#else
template <class Tag, class Vector>
void store_four_sums(Tag, const Vector*, double*) {}

template <class Tag>
constexpr bool sums_four = false;
#endif

// Writes the sum of the lanes of each vector.
template <class Tag, class Vector>
HWY_INLINE void store_sums(Tag tag, const Vector (&sums)[group_entries], double* to) {
  for (std::size_t at = 0; at < group_entries; at += 4) {
    if constexpr (sums_four<Tag>) {
      store_four_sums(tag, sums + at, to + at);
    } else {
      for (std::size_t i = at; i < at + 4; ++i) to[i] = static_cast<double>(hn::GetLane(hn::SumOfLanes(tag, sums[i])));
    }
  }
}

// The factor rows of nonzeros. A row is `Width` columns; or, if not `WholeRow`, any number of such pieces.
template <class Task, std::size_t Width, bool WholeRow, int Count, class Rows>
class Models {
  using Factor = typename Task::FactorType;
  static constexpr std::size_t room = Count == any_count ? max_order : Count;
  static constexpr std::size_t line = line_columns<typename Task::SumType>;

 public:
  using Tag = hn::CappedTag<typename Task::SumType, (Width < line ? Width : line)>;
  using Vector = hn::Vec<Tag>;

  explicit Models(const Task& task)
      : count_(Count == any_count ? static_cast<std::size_t>(task.factor_count) : room),
        stride_(WholeRow ? Width : static_cast<std::size_t>(task.stride)) {
    for (std::size_t k = 0; k < count_; ++k) factors_[k] = {task.lines, task.factors[k], stride_};
  }

  HWY_INLINE void prefetch(std::size_t at) const {
    for (std::size_t k = 0; k < count_; ++k) prefetch_row(factors_[k].row_ahead(at), stride_);
  }

  // A vector whose lanes add up to the model's value.
  HWY_INLINE Vector partial_sums(std::size_t at) const {
    const Tag tag;
    std::array<const Factor*, room> rows{};
#pragma GCC unroll 4
    for (std::size_t k = 0; k < count_; ++k) rows[k] = factors_[k].row(at);
    Vector sum = hn::Zero(tag);
    for (std::size_t column = 0; column < stride_; column += Width) {
#pragma GCC unroll 8
      for (std::size_t lane = 0; lane < Width; lane += hn::MaxLanes(tag)) {
        Vector product = load_numbers(tag, rows[0] + column + lane);
#pragma GCC unroll 4
        for (std::size_t k = 1; k < count_; ++k) product = hn::Mul(product, load_numbers(tag, rows[k] + column + lane));
        sum = hn::Add(sum, product);
      }
    }
    return sum;
  }

 private:
  std::array<FactorRows<Factor, Rows>, room> factors_;
  std::size_t count_;
  std::size_t stride_;
};

template <class Task, std::size_t Width, bool WholeRow, int Count, class Rows>
void find_models(const Task& task, NonzeroRange range, std::size_t readable, double* models) {
  using Found = Models<Task, Width, WholeRow, Count, Rows>;
  const typename Found::Tag tag;
  const Found found(task);
  const std::size_t prefetched = prefetching(task.prefetch, range.count, readable);
  std::size_t i = 0;
  for (; i + group_entries <= range.count; i += group_entries) {
    typename Found::Vector sums[group_entries];
#pragma GCC unroll 8
    for (std::size_t j = 0; j < group_entries; ++j) {
      if (i < prefetched) found.prefetch(range.begin + i + j + loss_prefetch_distance);
      sums[j] = found.partial_sums(range.begin + i + j);
    }
    store_sums(tag, sums, models + i);
  }
  if (i == range.count) return;
  typename Found::Vector sums[group_entries];
  for (std::size_t j = 0; j < group_entries; ++j) {
    sums[j] = i + j < range.count ? found.partial_sums(range.begin + i + j) : hn::Zero(tag);
  }
  std::array<double, group_entries> last;
  store_sums(tag, sums, last.data());
  std::copy_n(last.data(), range.count - i, models + i);
}

template <class Task, std::size_t Width, bool WholeRow, class Rows>
void find_models_of_order(const Task& task, NonzeroRange range, std::size_t readable, double* models) {
  if constexpr (has_vectors) {
    if (task.factor_count == 3) return find_models<Task, Width, WholeRow, 3, Rows>(task, range, readable, models);
  }
  if constexpr (unrolls_all) {
    if (task.factor_count == 4) return find_models<Task, Width, WholeRow, 4, Rows>(task, range, readable, models);
  }
  find_models<Task, Width, WholeRow, any_count, Rows>(task, range, readable, models);
}

template <class Task, std::size_t Width, bool WholeRow = true>
void find_models_of_width(const Task& task, NonzeroRange range, std::size_t readable, double* models) {
  if (task.lines != nullptr)
    return find_models_of_order<Task, Width, WholeRow, LineRows>(task, range, readable, models);
  find_models_of_order<Task, Width, WholeRow, RingRows>(task, range, readable, models);
}

template <class Task>
void find_all_models(const Task& task, NonzeroRange range, std::size_t readable, double* models) {
  constexpr std::size_t line = line_columns<typename Task::SumType>;
  if (task.stride == 1) return find_models_of_width<Task, 1>(task, range, readable, models);
  if (task.stride == 2) return find_models_of_width<Task, 2>(task, range, readable, models);
  if (task.stride == 4) return find_models_of_width<Task, 4>(task, range, readable, models);
  if constexpr (line > 8) {
    if (task.stride == 8) return find_models_of_width<Task, 8>(task, range, readable, models);
  }
  if constexpr (unrolls_all) {
    if (task.stride == 2 * line) return find_models_of_width<Task, 2 * line>(task, range, readable, models);
  }
  find_models_of_width<Task, line, false>(task, range, readable, models);
}

// The rows of one nonzero in each mode: those of the factors, and where it adds to.
template <class Sum, class Factor, int Order>
struct ModeRows {
  std::array<const Factor*, Order> factors;
  std::array<Sum*, Order> outputs;
};

template <class Tag, class Sum>
HWY_INLINE void add_to(Tag tag, Sum* out, hn::Vec<Tag> product, hn::Vec<Tag> last) {
  hn::Store(hn::MulAdd(product, last, hn::Load(tag, out)), tag, out);
}

// Adds one vector of each row to each output. A product is that of the weight and the rows in the order of modes, as in
// mttkrp_rows; the modes share its beginning.
template <class Tag, class Sum, class Factor>
HWY_INLINE void scatter_vector(Tag tag, hn::Vec<Tag> weight, const ModeRows<Sum, Factor, 3>& rows, std::size_t column) {
  const auto a = load_numbers(tag, rows.factors[0] + column);
  const auto b = load_numbers(tag, rows.factors[1] + column);
  const auto c = load_numbers(tag, rows.factors[2] + column);
  const auto wa = hn::Mul(weight, a);
  add_to(tag, rows.outputs[0] + column, hn::Mul(weight, b), c);
  add_to(tag, rows.outputs[1] + column, wa, c);
  add_to(tag, rows.outputs[2] + column, wa, b);
}

template <class Tag, class Sum, class Factor>
HWY_INLINE void scatter_vector(Tag tag, hn::Vec<Tag> weight, const ModeRows<Sum, Factor, 4>& rows, std::size_t column) {
  const auto a = load_numbers(tag, rows.factors[0] + column);
  const auto b = load_numbers(tag, rows.factors[1] + column);
  const auto c = load_numbers(tag, rows.factors[2] + column);
  const auto d = load_numbers(tag, rows.factors[3] + column);
  const auto wa = hn::Mul(weight, a);
  const auto wab = hn::Mul(wa, b);
  add_to(tag, rows.outputs[0] + column, hn::Mul(hn::Mul(weight, b), c), d);
  add_to(tag, rows.outputs[1] + column, hn::Mul(wa, c), d);
  add_to(tag, rows.outputs[2] + column, wab, d);
  add_to(tag, rows.outputs[3] + column, wab, c);
}

// `Width` columns from `column` on. `WholeRow`: there are no others, so that the stride is a constant.
template <class Task, std::size_t Width, bool WholeRow, int Order>
void scatter_tile(const Task& task, std::size_t column, std::size_t count) {
  using Sum = typename Task::SumType;
  using Factor = typename Task::FactorType;
  constexpr std::size_t line = line_columns<Sum>;
  const hn::CappedTag<Sum, (Width < line ? Width : line)> tag;
  const std::size_t stride = WholeRow ? Width : static_cast<std::size_t>(task.stride);
  const std::uint64_t* lines = task.lines;
  const double* weights = task.weights;
  std::array<std::uint64_t, Order> masks;
  ModeRows<Sum, Factor, Order> first;  // rows 0
  for (std::size_t n = 0; n < Order; ++n) {
    masks[n] = task.factors[n].mask;
    first.factors[n] = task.factors[n].matrix + column;
    // An integer, since the row before the first of a block may lie outside of any matrix.
    first.outputs[n] = reinterpret_cast<Sum*>(reinterpret_cast<std::uintptr_t>(task.outputs[n].matrix + column) -
                                              task.outputs[n].first_row * stride * sizeof(Sum));
  }
  const std::size_t prefetched = prefetching(task.prefetch, count, task.readable);
  for (std::size_t at = 0; at < count; ++at) {
    if (at < prefetched) {
      for (std::size_t n = 0; n < Order; ++n) {
        const std::uint64_t row = LineRows(lines, nullptr, masks[n]).row(at + loss_prefetch_distance);
        prefetch_row(first.outputs[n] + row * stride, Width);
      }
    }
    ModeRows<Sum, Factor, Order> rows;
#pragma GCC unroll 4
    for (std::size_t n = 0; n < Order; ++n) {
      const std::uint64_t offset = LineRows(lines, nullptr, masks[n]).row(at) * stride;
      rows.factors[n] = first.factors[n] + offset;
      rows.outputs[n] = first.outputs[n] + offset;
    }
    const auto weight = hn::Set(tag, static_cast<Sum>(weights[at]));
#pragma GCC unroll 8
    for (std::size_t lane = 0; lane < Width; lane += hn::MaxLanes(tag)) scatter_vector(tag, weight, rows, lane);
  }
}

template <class Task, std::size_t Width, bool WholeRow = true>
void scatter_width(const Task& task, std::size_t column, std::size_t count) {
  if (task.order == 3) return scatter_tile<Task, Width, WholeRow, 3>(task, column, count);
  scatter_tile<Task, Width, WholeRow, 4>(task, column, count);
}

template <class Task>
void scatter_all(const Task& task, std::size_t count) {
  constexpr std::size_t line = line_columns<typename Task::SumType>;
  if (task.stride == 1) return scatter_width<Task, 1>(task, 0, count);
  if (task.stride == 2) return scatter_width<Task, 2>(task, 0, count);
  if (task.stride == 4) return scatter_width<Task, 4>(task, 0, count);
  if constexpr (line > 8) {
    if (task.stride == 8) return scatter_width<Task, 8>(task, 0, count);
  }
  std::size_t column = 0;
  if constexpr (unrolls_all) {
    if (task.stride == line) return scatter_width<Task, line>(task, 0, count);
    if (task.stride == 2 * line) return scatter_width<Task, 2 * line>(task, 0, count);
    for (; column + 2 * line <= task.stride; column += 2 * line) {
      scatter_width<Task, 2 * line, false>(task, column, count);
    }
  }
  for (; column < task.stride; column += line) scatter_width<Task, line, false>(task, column, count);
}

}  // namespace

void find_values(const RowsTask<BLCO_SUM, BLCO_FACTOR>& task, NonzeroRange range, std::size_t readable,
                 double* models) {
  find_all_models(task, range, readable, models);
}

void scatter_nonzeros(const ScatterTask<BLCO_SUM, BLCO_FACTOR>& task, std::size_t count) { scatter_all(task, count); }

}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace blco {

HWY_EXPORT(find_values);
HWY_EXPORT(scatter_nonzeros);

template <class Sum, class Factor>
void model_values(const RowsTask<Sum, Factor>& task, NonzeroRange range, std::size_t readable, double* models) {
  HWY_DYNAMIC_DISPATCH(find_values)(task, range, readable, models);
}

template <class Sum, class Factor>
void scatter_rows(const ScatterTask<Sum, Factor>& task, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(scatter_nonzeros)(task, count);
}

template void model_values(const RowsTask<BLCO_SUM, BLCO_FACTOR>&, NonzeroRange, std::size_t, double*);
template void scatter_rows(const ScatterTask<BLCO_SUM, BLCO_FACTOR>&, std::size_t);

}  // namespace blco
#endif  // HWY_ONCE
