// Who makes which rival.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "tests/bench/rivals/rival.hpp"

namespace blco {

// On the CPU. The kind is one of the family's, and why_no_rival has nothing to say.
std::unique_ptr<Rival> make_coo_rival(RivalKind kind, const RivalTensor& tensor, const RivalOptions& options,
                                      Executor& executor);
std::unique_ptr<Rival> make_fcoo_rival(const RivalTensor& tensor, const RivalOptions& options, Executor& executor);
std::unique_ptr<Rival> make_csf_rival(RivalKind kind, const RivalTensor& tensor, const RivalOptions& options,
                                      Executor& executor);
std::unique_ptr<Rival> make_alto_rival(const RivalTensor& tensor, const RivalOptions& options, Executor& executor);

// On the current CUDA device: coo_atomic, coo_line, coo_perm, fcoo and the CSF family. Also throws Error{not_built}.
std::unique_ptr<Rival> make_device_rival(RivalKind kind, const RivalTensor& tensor, const RivalOptions& options,
                                         Executor& executor);

}  // namespace blco
