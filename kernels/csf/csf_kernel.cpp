// The kernel of trees, compiled once per precision and instruction set.
#include "kernels/csf/csf_kernel.hpp"

#include "kernels/highway_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/csf/csf_kernel.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/csf/csf_kernel-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace blco::HWY_NAMESPACE {

void walk_part(const CsfTask<BLCO_SUM>& task, const CsfPart& part) { walk<TreeWalk>(task, part); }

}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace blco {

HWY_EXPORT(walk_part);

template <class T>
void mttkrp_csf(const CsfTask<T>& task, const CsfPart& part) {
  HWY_DYNAMIC_DISPATCH(walk_part)(task, part);
}

template void mttkrp_csf(const CsfTask<BLCO_SUM>&, const CsfPart&);

}  // namespace blco
#endif  // HWY_ONCE
