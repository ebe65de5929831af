// The value and the gradients of a loss for given factors, over a tensor that may be larger than memory.
#pragma once

#include <blco/compute.hpp>
#include <blco/cpd_method.hpp>
#include <blco/loss.hpp>
#include <blco/progress.hpp>
#include <blco/tensor.hpp>
#include <blco/views.hpp>
#include <cstdint>
#include <span>
#include <vector>

namespace blco {

struct LossValue {
  double value = 0;                            // the sum of the cells' losses
  std::vector<std::vector<double>> gradients;  // per mode, row-major I_n x R: the derivative by each factor entry
  std::uint64_t passes = 0;                    // over the chunks
};

// F = sum over cells i of f(x_i, m_i) with m_i = sum_r prod_n factors[n][i_n, r], and for each mode n
//   dF / d factors[n][j, r] = sum over cells i with i_n = j of f'(x_i, m_i) * prod_{k != n} factors[k][i_k, r]
// where f' is the derivative by m (Hong, Kolda & Duersch, Generalized Canonical Polyadic Tensor Decomposition, SIAM
// Review 2020, theorem 3). With `absent` unknown, the sums are over the entries alone. With zeros, which needs a
// loss of sums_over_zeros(), they are over all cells of the tensor. The zeros' part is then exact: with 1 for a vector
// of ones and * between matrices elementwise,
//   gaussian: sum of m^2 over all cells = 1^T (G_0 * G_1 * ...) 1 with the Grams G_n = A_n^T A_n, its gradients
//             2 A_n (product of the other Grams)
//   poisson:  sum of m over all cells = sum_r prod_n (column sum r of A_n), its gradients the same in all rows, the
//             products of the other modes' column sums
// and the entries add f(x, m) - f(0, m).
//
// factors[n] is I_n x rank and finite, in the tensor's own indices; weights belong into one of them. Reads
// the tensor once. Host memory stays under Compute::memory, which covers `factors` and the gradients. On one CPU thread
// and with Compute::deterministic the budget changes no bit of the result. Values that do not suit the loss are not
// looked for. Throws Error as fit_cpd does, invalid_argument for zeros with another loss, and cancelled where
// `on_progress` returns false.
LossValue evaluate(const Tensor& tensor, std::span<const MatrixView> factors, const Loss& loss,
                   AbsentCells absent = AbsentCells::zeros, const Compute& compute = {},
                   const ProgressCallback& on_progress = {});

}  // namespace blco
