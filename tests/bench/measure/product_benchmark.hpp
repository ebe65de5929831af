// Measures a tensor's products with matrices beside each other: with that of one mode (TTM), and with those of all
// others (TTMc), on the CPU.
#pragma once

#include <blco/cpd.hpp>
#include <blco/tensor.hpp>

#include "tests/bench/measure/format_benchmark.hpp"

namespace blco {

// ttm: "ours" and "ours-fibers", which sort the tensor anew each time (<blco/ttm.hpp>: ttm(), and for_each_fiber() into
// memory that is there already), and "csf-element" and "csf-fiber", the variants of Borralho's thesis
// (rivals/csf/ttm_tree.hpp) on a tree for each mode, also into memory that is there. ttmc: of each mode the unfolding
// that HOOI takes, by one pass of Kronecker products ("ours") and by MTTKRPs of up to 64 columns each ("slabs").
// Outputs are compared with loops over coordinates, and repeats alternate, as those of benchmark_formats(). Nominal
// flops: 2 for each nonzero and column of the output. Flops and bytes of ttm: "ours" moves each nonzero a dozen times
// and the sort within buckets is left out; the others as ttm_work() has it. Of ttmc "ours" as if up to four nonzeros of
// a row were added at once, as they are where arranged. Uses these options: rank (cut for ttmc to what a mode can
// have), seed, compute, whose memory is for ours and slabs. Throws Error as fit_cpd does, and invalid_argument for a
// product of MTTKRP, repeats below 1, another precision than f64, CUDA, fewer than two modes (ttmc: three), or 2^32
// nonzeros and more.
FormatReport benchmark_product(const Tensor& tensor, TensorProduct product, int repeats, const CpdOptions& options);

}  // namespace blco
