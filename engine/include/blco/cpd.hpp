// CP decomposition of a tensor that may be larger than memory.
#pragma once

#include <blco/compute.hpp>
#include <blco/cpd_options.hpp>
#include <blco/model.hpp>
#include <blco/plan.hpp>
#include <blco/progress.hpp>
#include <blco/tensor.hpp>
#include <blco/tensor_file.hpp>
#include <blco/views.hpp>
#include <filesystem>
#include <span>
#include <vector>

namespace blco {

// Fits a rank-R CP model by options.method, modes in order; cpd_method.hpp says what each minimises. A ridge is added
// to the diagonal of each mode's system; from the second sweep on this minimises the objective, because the columns of
// the other modes are then normalised.
//
// If the fit is cancelled or out of time, AlsMethod returns the model of the last finished sweep. The other methods
// finish the pass in progress, end the sweep there, and return its model. The objective of that model is no larger than
// the objective of the sweep before; AprMethod goes on until this holds, or until the sweep is whole. Before the first
// sweep is whole there is no model.
//
// The model's components are sorted by falling size. A component stays the same when an even number of its columns
// change sign. So as many columns as possible get a positive dominant entry (the one of largest magnitude). If one must
// stay negative, it is the column whose dominant entry has the smallest share of the column's squares.
//
// Every pass reads the chunks that do not stay in memory. Host memory stays under Compute::memory, which covers the
// initial and the returned model, but not what the CUDA driver allocates for itself. On one CPU thread the budget does
// not change a bit of the model; with Compute::deterministic, neither do the threads. Otherwise threads and budget
// change it by rounding. A GPU adds sums in no fixed order.
//
// Throws Error: invalid_argument (rank; values, options or an initial or resumed model that do not suit), out_of_memory
// (budget below the minimum, which the message names), corrupt (bad checksum, thrown after reads in flight have
// drained; a state in the resumed model that no fit has saved), io (trace, resumed model, a place without room for the
// model or that another job writes; a model that cannot be saved, and is then lost unless `checkpoint` holds
// it), cancelled (before the first sweep was finished), cuda and not_built (a GPU of Compute::devices).
CpdModel fit_cpd(const Tensor& tensor, const CpdOptions& options = {});

// What the file of a model, such as one to resume, says of the options of its fit: method with those of its own
// numbers that the table of options has, loss and constraints, rank, seed, ridge and precision; the others have their
// defaults. Throws Error as load_model does.
CpdOptions options_of_model(const std::filesystem::path& file);

// Returns the plan that fit_cpd would make, without fitting; `on_plan` is not called. With `declared`, plans for that
// GPU and estimates the times. Asks no peers: estimates which rows are this process's. Throws Error as fit_cpd does.
CpdPlan plan_cpd(const Tensor& tensor, const CpdOptions& options = {}, const DeclaredGpu* declared = nullptr);

// out[i_n, r] = sum over nonzeros of value * prod_{m != n} factors[m][i_m, r]. Returns a row-major I_n x rank matrix.
// factors[m] is I_m x rank and finite; of factors[mode] only the number of columns counts, and factors[mode] may be
// empty where other modes tell the rank. Host memory stays under Compute::memory, which covers the factors and the
// result. Errors are those of fit_cpd; false from `on_progress` throws Error{cancelled}.
std::vector<double> mttkrp(const Tensor& tensor, std::span<const MatrixView> factors, int mode,
                           const Compute& compute = {}, const ProgressCallback& on_progress = {});

}  // namespace blco
