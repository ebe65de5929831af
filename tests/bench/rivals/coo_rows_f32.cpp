// The loops over lists of coordinates for float.
#include "kernels/highway_targets.hpp"
#include "tests/bench/rivals/coo_rows.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/bench/rivals/coo_rows_f32.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "tests/bench/rivals/coo_rows-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace blco::HWY_NAMESPACE {

void coo_blocks_f32(const CooTask<float>& task, std::uint64_t nnz, std::uint64_t begin, std::uint64_t end) {
  add_blocks(task, nnz, begin, end);
}

}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace blco {

HWY_EXPORT(coo_blocks_f32);

void add_coo_blocks(const CooTask<float>& task, std::uint64_t nnz, std::uint64_t begin, std::uint64_t end) {
  HWY_DYNAMIC_DISPATCH(coo_blocks_f32)(task, nnz, begin, end);
}

}  // namespace blco
#endif  // HWY_ONCE
