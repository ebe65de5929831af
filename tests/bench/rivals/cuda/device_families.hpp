// Who makes which rival on a CUDA device. T: double or float.
#pragma once

#include <memory>

#include "tests/bench/rivals/rival.hpp"

namespace blco::cuda {

// coo_atomic, coo_line or coo_perm.
template <class T>
std::unique_ptr<Rival> make_device_coo(RivalKind kind, const RivalTensor& tensor, const RivalOptions& options,
                                       Executor& executor);
template <class T>
std::unique_ptr<Rival> make_device_fcoo(const RivalTensor& tensor, const RivalOptions& options, Executor& executor);
// csf_one, csf_all, b_csf, hb_csf or mm_csf.
template <class T>
std::unique_ptr<Rival> make_device_csf(RivalKind kind, const RivalTensor& tensor, const RivalOptions& options,
                                       Executor& executor);

}  // namespace blco::cuda
