// The kernel of slices without fibers, included once per instruction set by slice_kernel_f32.cpp and
// slice_kernel_f64.cpp.
#if defined(BLCO_SLICE_KERNEL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef BLCO_SLICE_KERNEL_INL
#undef BLCO_SLICE_KERNEL_INL
#else
#define BLCO_SLICE_KERNEL_INL
#endif

#include "tests/bench/rivals/csf/csf_kernel-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace blco::HWY_NAMESPACE {
namespace {

// `Compiled` makes no difference.
template <bool Compiled, class Columns>
struct SliceWalk {
  using Row = typename Columns::Row;

  template <std::size_t Order>
  static void run_order(const Columns& columns) {
    const std::size_t last = Order == 0 ? columns.last() : Order - 1;
    columns.add_to_roots([&](std::uint32_t slice, Row& sum) {
      const NodeRange nonzeros = columns.children(0, slice);
      for (std::uint32_t nonzero = nonzeros.begin; nonzero < nonzeros.end; ++nonzero) {
        Row product = Columns::set(columns.value(nonzero));
        for (std::size_t level = 1; level < last; ++level) {
          columns.template prefetch_after<leaves_ahead>(level, nonzero);
          product = Columns::multiply(product, columns.load(level, nonzero));
        }
        columns.template prefetch_after<leaves_ahead>(last, nonzero);
        Columns::add_product(product, columns.load(last, nonzero), sum);
      }
    });
  }

  static void run(const CsfTask<typename Columns::Number>& task, const CsfPart& part, std::size_t column) {
    const Columns columns(task, part, column);
    if (task.order == 3) return run_order<3>(columns);
    if (task.order == 4) return run_order<4>(columns);
    return run_order<0>(columns);
  }
};

}  // namespace
}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
