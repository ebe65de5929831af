// One vector of partial sums per nonzero, compiled once per instruction set.
#include "kernels/host/model_values.hpp"

#include "kernels/highway_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/host/model_values.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/host/mttkrp_rows-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace blco::HWY_NAMESPACE {
namespace {

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

template <class Tag, class T>
HWY_INLINE hn::Vec<Tag> load_factor(Tag tag, const T* from) {
  if constexpr (std::is_same_v<T, hn::TFromD<Tag>>) {
    return hn::Load(tag, from);
  } else {
    return hn::PromoteTo(tag, hn::Load(hn::Rebind<T, Tag>(), from));
  }
}

// A row is `Width` columns, or whole cache lines if that is a line.
template <class Task, std::size_t Width, int Count, class Rows>
void find_models(const Task& task, NonzeroRange range, double* models) {
  using Factor = typename Task::FactorType;
  constexpr std::size_t room = Count == any_count ? max_order : Count;
  const hn::CappedTag<typename Task::SumType, Width> tag;
  const std::size_t count = Count == any_count ? static_cast<std::size_t>(task.factor_count) : room;
  const std::size_t stride = task.stride;
  std::array<FactorRows<Factor, Rows>, room> factors;
  std::array<const Factor*, room> rows;
  for (std::size_t k = 0; k < count; ++k) factors[k] = {task.lines, task.factors[k], stride};
  for (std::size_t i = 0; i < range.count; ++i) {
    for (std::size_t k = 0; k < count; ++k) rows[k] = factors[k].row(range.begin + i);
    auto sum = hn::Zero(tag);
    for (std::size_t column = 0; column < stride; column += hn::Lanes(tag)) {
      auto product = load_factor(tag, rows[0] + column);
      for (std::size_t k = 1; k + 1 < count; ++k) product = hn::Mul(product, load_factor(tag, rows[k] + column));
      sum = count == 1 ? hn::Add(sum, product) : hn::MulAdd(product, load_factor(tag, rows[count - 1] + column), sum);
    }
    models[i] = static_cast<double>(hn::GetLane(hn::SumOfLanes(tag, sum)));
  }
}

template <class Task, std::size_t Width, class Rows>
void find_models_of_order(const Task& task, NonzeroRange range, double* models) {
  if (task.factor_count == 3) return find_models<Task, Width, 3, Rows>(task, range, models);
  if (task.factor_count == 4) return find_models<Task, Width, 4, Rows>(task, range, models);
  return find_models<Task, Width, any_count, Rows>(task, range, models);
}

template <class Task, std::size_t Width>
void find_models_of_width(const Task& task, NonzeroRange range, double* models) {
  if (task.lines != nullptr) return find_models_of_order<Task, Width, LineRows>(task, range, models);
  return find_models_of_order<Task, Width, RingRows>(task, range, models);
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
  find_models_of_width<Task, line>(task, range, models);
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

}  // namespace blco
#endif  // HWY_ONCE
