// Tells whether a CP model has too many components.
#pragma once

#include <blco/compute.hpp>
#include <blco/cpd_method.hpp>
#include <blco/model.hpp>
#include <blco/progress.hpp>
#include <blco/tensor.hpp>
#include <cstdint>
#include <optional>

namespace blco {

// Columns of the core, R^(N-1), and components, up to which it is computed.
inline constexpr std::uint64_t max_core_columns = 4096;
inline constexpr int max_core_rank = 256;

// R^(N-1), or a number above max_core_columns, also where R is above max_core_rank.
std::uint64_t core_columns(std::size_t order, int rank);

// True where it says something of a model that this method fits: the model is of x itself, not of logarithms or odds,
// and absent cells are zeros, not unknown.
bool has_core_consistency(const CpdMethod& method);

// Core consistency (CORCONDIA: Bro & Kiers, A new efficient method for determining the number of components in PARAFAC
// models, J. Chemometrics 2003): 100 (1 - sum (g - t)^2 / R), where G = X x_1 A_1^+ x_2 A_2^+ ... is the core that fits
// X best with the model's factors, and T, with ones on its superdiagonal, is the core that the model has. The weights
// are part of the factors, such that all columns of a component have the same norm: so neither the order of the modes
// nor their scale matters. 100: each component stands for itself. Much less, even below 0: components mix, as they do
// where the model has more components than the tensor. Core consistency is about least squares: it says less for other
// losses, and nothing where has_core_consistency() is false.
//
// G is not kept: an MTTKRP with columns of the pseudo-inverses gives up to 64 of its columns. So there are R^(N-1) / 64
// passes over the chunks, and more where the budget asks for fewer columns at a time. Returns nothing beyond
// max_core_columns or max_core_rank. In f64; the pseudo-inverse drops singular values that are zero to working
// precision. Compute::precision and trace have no effect. Beside the model, which the budget covers too, it
// takes as much memory again, and that of an MTTKRP. Throws Error: invalid_argument (a model of another shape),
// cancelled (by `progress`; stage "core"; or after `time_limit_seconds`, unless 0), and as fit_cpd does.
std::optional<double> core_consistency(const Tensor& tensor, const CpdModel& model, const Compute& compute = {},
                                       const ProgressCallback& progress = {}, double time_limit_seconds = 0);

}  // namespace blco
