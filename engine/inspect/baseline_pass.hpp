// Makes the baseline of a benchmark from a tensor.
#pragma once

#include <blco/tensor.hpp>
#include <cstdint>
#include <memory>

#include "kernels/rivals/alto_baseline.hpp"

namespace blco {

// Reads the whole tensor; the factors are the initial ones of `seed`. Returns null if there is no baseline for this
// order, rank or CPU. `executor` must outlive it.
std::unique_ptr<AltoBaseline> make_baseline(const Tensor& tensor, int rank, std::uint64_t seed, Executor& executor);

}  // namespace blco
