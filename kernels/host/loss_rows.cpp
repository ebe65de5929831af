// Rows in pieces of up to two cache lines of columns, compiled once per instruction set.
#include "kernels/host/loss_rows.hpp"

#include "kernels/highway_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/host/loss_rows.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/host/mttkrp_rows-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace blco::HWY_NAMESPACE {
namespace {

template <class Tag, class T>
HWY_INLINE hn::Vec<Tag> load_numbers(Tag tag, const T* from) {
  if constexpr (std::is_same_v<T, hn::TFromD<Tag>>) {
    return hn::Load(tag, from);
  } else {
    return hn::PromoteTo(tag, hn::Load(hn::Rebind<T, Tag>(), from));
  }
}

// Rows of one factor.
template <class T, class Rows>
class FactorRows {
 public:
  FactorRows() = default;
  FactorRows(const std::uint64_t* lines, const IndexedRows<const T>& of, std::uint64_t stride)
      : matrix_(of.matrix), rows_(lines, of.rows, of.mask), stride_(stride) {}
  HWY_INLINE const T* row(std::size_t at) const { return matrix_ + rows_.row(at) * stride_; }

 private:
  const T* matrix_ = nullptr;
  Rows rows_;
  std::uint64_t stride_ = 0;
};

// A row is `Width` columns; or, if not `WholeRow`, any number of such pieces.
template <class Task, std::size_t Width, bool WholeRow, int Count, class Rows>
void find_models(const Task& task, NonzeroRange range, double* models) {
  using Factor = typename Task::FactorType;
  constexpr std::size_t room = Count == any_count ? max_order : Count;
  constexpr std::size_t line = line_columns<typename Task::SumType>;
  const hn::CappedTag<typename Task::SumType, (Width < line ? Width : line)> tag;
  const std::size_t count = Count == any_count ? static_cast<std::size_t>(task.factor_count) : room;
  const std::size_t stride = WholeRow ? Width : static_cast<std::size_t>(task.stride);
  std::array<FactorRows<Factor, Rows>, room> factors;
  std::array<const Factor*, room> rows{};
  for (std::size_t k = 0; k < count; ++k) factors[k] = {task.lines, task.factors[k], stride};
  for (std::size_t i = 0; i < range.count; ++i) {
#pragma GCC unroll 4
    for (std::size_t k = 0; k < count; ++k) rows[k] = factors[k].row(range.begin + i);
    auto sum = hn::Zero(tag);
    for (std::size_t column = 0; column < stride; column += Width) {
#pragma GCC unroll 8
      for (std::size_t lane = 0; lane < Width; lane += hn::MaxLanes(tag)) {
        auto product = load_numbers(tag, rows[0] + column + lane);
#pragma GCC unroll 4
        for (std::size_t k = 1; k < count; ++k) product = hn::Mul(product, load_numbers(tag, rows[k] + column + lane));
        sum = hn::Add(sum, product);
      }
    }
    models[i] = static_cast<double>(hn::GetLane(hn::SumOfLanes(tag, sum)));
  }
}

template <class Task, std::size_t Width, bool WholeRow, class Rows>
void find_models_of_order(const Task& task, NonzeroRange range, double* models) {
  if (task.factor_count == 3) return find_models<Task, Width, WholeRow, 3, Rows>(task, range, models);
  if (task.factor_count == 4) return find_models<Task, Width, WholeRow, 4, Rows>(task, range, models);
  find_models<Task, Width, WholeRow, any_count, Rows>(task, range, models);
}

template <class Task, std::size_t Width, bool WholeRow = true>
void find_models_of_width(const Task& task, NonzeroRange range, double* models) {
  if (task.lines != nullptr) return find_models_of_order<Task, Width, WholeRow, LineRows>(task, range, models);
  find_models_of_order<Task, Width, WholeRow, RingRows>(task, range, models);
}

template <class Task>
void find_all_models(const Task& task, NonzeroRange range, double* models) {
  constexpr std::size_t line = line_columns<typename Task::SumType>;
  if (task.stride == 1) return find_models_of_width<Task, 1>(task, range, models);
  if (task.stride == 2) return find_models_of_width<Task, 2>(task, range, models);
  if (task.stride == 4) return find_models_of_width<Task, 4>(task, range, models);
  if constexpr (line > 8) {
    if (task.stride == 8) return find_models_of_width<Task, 8>(task, range, models);
  }
  if (task.stride == 2 * line) return find_models_of_width<Task, 2 * line>(task, range, models);
  find_models_of_width<Task, line, false>(task, range, models);
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
  for (std::size_t at = 0; at < count; ++at) {
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
  if (task.stride == line) return scatter_width<Task, line>(task, 0, count);
  if (task.stride == 2 * line) return scatter_width<Task, 2 * line>(task, 0, count);
  std::size_t column = 0;
  for (; column + 2 * line <= task.stride; column += 2 * line) {
    scatter_width<Task, 2 * line, false>(task, column, count);
  }
  if (column < task.stride) scatter_width<Task, line, false>(task, column, count);
}

}  // namespace

void model_values_f64(const RowsTask<double>& task, NonzeroRange range, double* models) {
  find_all_models(task, range, models);
}

void model_values_f32(const RowsTask<float>& task, NonzeroRange range, double* models) {
  find_all_models(task, range, models);
}

void model_values_mixed(const RowsTask<double, float>& task, NonzeroRange range, double* models) {
  find_all_models(task, range, models);
}

void scatter_rows_f64(const ScatterTask<double>& task, std::size_t count) { scatter_all(task, count); }
void scatter_rows_f32(const ScatterTask<float>& task, std::size_t count) { scatter_all(task, count); }
void scatter_rows_mixed(const ScatterTask<double, float>& task, std::size_t count) { scatter_all(task, count); }

}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace blco {

HWY_EXPORT(model_values_f64);
HWY_EXPORT(model_values_f32);
HWY_EXPORT(model_values_mixed);

void model_values(const RowsTask<double>& task, NonzeroRange range, double* models) {
  HWY_DYNAMIC_DISPATCH(model_values_f64)(task, range, models);
}

void model_values(const RowsTask<float>& task, NonzeroRange range, double* models) {
  HWY_DYNAMIC_DISPATCH(model_values_f32)(task, range, models);
}

void model_values(const RowsTask<double, float>& task, NonzeroRange range, double* models) {
  HWY_DYNAMIC_DISPATCH(model_values_mixed)(task, range, models);
}

HWY_EXPORT(scatter_rows_f64);
HWY_EXPORT(scatter_rows_f32);
HWY_EXPORT(scatter_rows_mixed);

void scatter_rows(const ScatterTask<double>& task, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(scatter_rows_f64)(task, count);
}

void scatter_rows(const ScatterTask<float>& task, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(scatter_rows_f32)(task, count);
}

void scatter_rows(const ScatterTask<double, float>& task, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(scatter_rows_mixed)(task, count);
}

}  // namespace blco
#endif  // HWY_ONCE
