// The methods of fit_cpd: what each minimises, and its options.
//
// X is the tensor, M the model sum_r weights[r] * a_0r o a_1r o ..., x and m what they say of a cell. A cell is a
// place of the tensor; an entry is a cell that is listed.
//
// Values are fitted in a unit of their own, so that the same values times a power of 2 get the same model, in any
// precision: divided by the first power of 2 that is at least their root mean square q, which the weights get back. It
// is 1 where m is a logarithm or odds. Numbers given in options apply to values so divided: l1, boxes, floors, the e of
// losses, the tolerance of CP-APR's violation. huber's D alone is in the unit of the values, as are objectives, errors
// and models, given or returned.
#pragma once

#include <blco/loss.hpp>
#include <blco/row_constraint.hpp>
#include <cstdint>
#include <variant>
#include <vector>

namespace blco {

class Tensor;
struct TensorSummary;

// |X - M|^2, by alternating least squares (Kolda & Bader 2009, figure 3.3), and with constraints by HALS (Cichocki &
// Phan 2009) and AO-ADMM (Huang, Sidiropoulos & Liavas 2016). Absent cells are zeros. A sweep is N passes.
// Columns are normalised where the constraint allows it. A mode with an l1 penalty, a box or a simplex keeps the scale
// of its columns; while it is updated, the shortest normalised mode, if there is one, carries the weights.
struct AlsMethod {
  // Per mode; empty: none. A held mode, of any method, keeps the factor of CpdOptions::initial, to the bit in f64, and
  // the components keep their order. With all modes but one held, and no constraint on that one, the second sweep
  // changes nothing more: the rows of new data in an old model (fold-in).
  std::vector<RowConstraint> constraints = {};
};

// sum over all cells of m - x log m, for counts x >= 0 and factors >= 0: CP-APR by multiplicative updates (Chi &
// Kolda, On Tensors, Sparsity, and Nonnegative Factorizations, SIAM J. Matrix Anal. Appl. 2012, algorithm 3). Absent
// cells are zeros. Negative values, and negative entries of an initial model, are refused. The values are read once
// before the fit, unless all are 1.
// A sweep updates the modes in order. For mode n, B = A_n diag(weights), and up to `inner` times: one pass
// gives Phi = (X_(n) / max(B Pi, floor)) Pi^T, where Pi is the Khatri-Rao product of the other factors, whose columns
// have the sum 1; the KKT violation is the largest |min(b, 1 - phi)| of its numbers; unless
// it is below CpdOptions::tolerance, B = B * Phi, entry by entry. The quotients are computed as the pass goes: no
// memory per nonzero. Zeros never grow by multiplication. So in the first of these iterations those of A_n below
// kappa_tolerance whose phi is above 1 + tolerance get kappa added, and Phi is computed anew, by one more pass. (The
// paper takes an older Phi for that, which would have to be kept.) One pass more ends a sweep, for the objective,
// unless the last mode needed no update. The fit stops once no mode needs one. A fit that is cancelled or out of time
// ends its sweep after the pass in progress, once the model is no worse than that of the sweep before; if it is
// resumed, that sweep counts, so that the numbers differ from those of a fit that never stopped. It needs no memory
// beyond factors and output.
struct AprMethod {
  int inner = 10;                  // of a mode, at most
  double kappa = 0.01;             // added to inadmissible zeros: those that the KKT conditions ask to grow
  double kappa_tolerance = 1e-10;  // entries below this count as zeros for that
  double floor = 1e-10;            // smallest m in x / m; at most a millionth of the mean rate
  std::vector<RowConstraint> constraints = {};  // per mode, none or held; empty: none
};

// What cells that are not listed stand for: zeros, or nothing.
enum class AbsentCells { zeros, unknown };

// True for gaussian and poisson: for them the loss of all absent cells has a closed form, whatever their number.
bool sums_over_zeros(const Loss& loss);

// sum over all cells of loss(x, m): generalised CP (Hong, Kolda & Duersch 2020). Absent cells are zeros. The model
// has no weights of its own during the fit; the columns are normalised at the end. It starts from the best model that
// says the same of every cell: random factors are scaled so that their model has its mean; for poisson-log and
// bernoulli-logit the first component says it, and the others are noise; for gaussian, or a mean below 0, the model
// gets the tensor's 2-norm; huber on sampled cells starts with five sweeps of ALS. A fit has to beat the constant
// model: what a sweep gains counts beside its deviance, and a fit that explains no more of it than `tolerance` does not
// converge.
//
// The sum is exact, and is minimised by L-BFGS with bounds (Byrd, Lu, Nocedal & Zhu 1995): of gaussian and poisson that
// over all zeros in closed form (evaluate.hpp); of the other losses where all cells are listed, or where there are at
// most 2^18, by visiting each cell. Elsewhere fit_cpd takes GcpAdamMethod (fitted_method). Host memory beside the
// backend: about 250 bytes per number of the rows that a process owns, of one process all. poisson starts with five
// sweeps of CP-APR, unless the factors have no more numbers than a sweep has evaluations or come from a model, and goes
// on in scales in which a step along the gradient is CP-APR's; the first sweep from a model has no scales. Where the
// mean rate is below 1e-4, a millionth of it takes the place of 1e-10 within the logarithm, which would exceed it in a
// very sparse tensor.
struct GcpMethod {
  Loss loss = {};
  // Of a sweep, at most, each one pass. The approximation of the Hessian starts anew with each sweep, so that short
  // sweeps make slow progress: on counts of very different sizes the same number of passes went much further in sweeps
  // of 100 than of 20. Not used where fit_cpd takes GcpAdamMethod instead.
  int evaluations = 100;
  // Per mode, none, nonnegative or held; empty: none. Negative numbers to start from become 0. Refused where the model
  // is a logarithm.
  std::vector<RowConstraint> constraints = {};
};

// The same sum by Adam on sampled cells, for the other losses than gaussian and poisson. Samples are semi-stratified
// (Kolda & Hong, Stochastic Gradients for Large-Scale Tensor Decomposition, 2020, section 5). Half of a sample's
// coordinates are uniform, the others as frequent as among the nonzeros, and each cell is weighed by how much rarer
// uniform draws have it. The objective is an estimate: all entries, and a sample of the absent cells, which `seed`
// fixes. A sweep takes every chunk once, in random order, up to four a step; or several times, until it has 100 steps.
// A sweep that does not lower the estimate by more than `tolerance` divides the learning rate by 4, and leaves no trace
// if the estimate has risen; three such in a row end the fit. Before the first sweep the tensor is read once to find
// which sampled cells it lists. Host memory beside the backend: 40 bytes per number of the factors, about 120 per
// sampled zero, and a chunk.
struct GcpAdamMethod {
  Loss loss = {};
  // The step of a number at the start, as a share of its column's root mean square; where the model is a logarithm, at
  // most what changes it by that. The first 100 steps are smaller.
  double learning_rate = 0.05;
  std::uint64_t samples = 0;                    // zeros of a step; 0: as many as it has nonzeros, up to 2^16
  std::vector<RowConstraint> constraints = {};  // as in GcpMethod
};

// sum over the entries of (x - m)^2 + ridge * sum over the modes of |A_n|^2, where the weights are 1: absent cells are
// unknown, explicit zeros are zeros. The ridge applies to the squares of all numbers of all factors. It is
// CpdOptions::ridge * q^(2 - 2 / N), where q is the root mean square of the entries. The fit scales no columns, except
// at its end. Alternating least squares: row i of mode n solves
// (sum h^T h + ridge I) a = sum x h over its entries, where h is the elementwise product of the other modes' rows. It
// takes cg_steps steps of conjugate gradients (Hestenes & Stiefel 1952) from the old row, so no matrix of a row is
// formed, and no step raises the sum. A row without entries is outside the sum, and in the model it is the mean of the
// mode's rows that have some, unless the mode is held. A sweep is N * (cg_steps + 1) passes, and one for the objective.
// Random initial factors are scaled such that the model's mean square is that of the given values. A fit that is
// cancelled or out of time ends its sweep after the pass in progress, as AprMethod does. Memory beyond factors and
// output: 2 * R numbers per row of the longest mode, and up to 28 bytes per row of every mode. With held-out entries
// and a negative CpdOptions::ridge, the fit finds one. It begins at 6, falls by 0.7 whenever the root of the sum has
// settled or after ten sweeps, and below 6e-5 is none; the fit ends once the held-out error has risen at two of these
// falls in a row. What it adds is then ridge * (|c|^2 + sum |a - c|^2) per mode over its rows a, where c is their sum
// divided by one more than their number: rows with few entries come near the others' mean, not 0. Without held-out
// entries a negative one is none if every row has at least 8 R entries. Else the fit holds back every twentieth entry,
// by a hash of its coordinates (of few, up to a fifth; at most about 2^16), which each pass then takes out of its sums,
// and finds the ridge by these. It ends with up to ten sweeps over all entries with the best one; with none, if the
// error fell to the last. Of fewer than 100 entries it holds none back: the ridge is 1, towards the mean row, if a
// row has fewer than 2 R. CpdModel::found_ridge says what it was. Before the first sweep the tensor is read once or
// twice, with held-out entries once more per mode. In a nonnegative mode the directions leave out numbers of 0 that
// would fall, and a step ends where the first number reaches 0 (Polyak, The Conjugate Gradient Method in Extremal
// Problems, 1969).
struct CompletionMethod {
  int cg_steps = 2;
  // Held-out entries, of the same shape; it must outlive the fit. Labels, where both have them, must agree, and so
  // must the stored indices: reorder neither. Each sweep then reads them once, to tell the root mean square of x - m
  // over them. The fit stops once 20 sweeps with the last ridge have found no smaller error, and it returns the model
  // of the sweep with the least, whatever stops it; a checkpoint holds the last model and the best. Further memory: two
  // chunks of these entries, and a copy of all factors.
  const Tensor* validation = nullptr;
  std::vector<RowConstraint> constraints = {};  // as in GcpMethod
};

using CpdMethod = std::variant<AlsMethod, AprMethod, GcpMethod, GcpAdamMethod, CompletionMethod>;

// "als", "apr", "gcp", "gcp-adam" or "complete".
const char* name_of(const CpdMethod& method);

// The method that a fit of this tensor takes: GcpAdamMethod with its defaults in place of a GcpMethod whose sum over
// all cells cannot be had; any other as it is.
CpdMethod fitted_method(const TensorSummary& tensor, const CpdMethod& method);

// Whether SweepReport::fit and CpdModel::fit_history tell how good its models are; otherwise the objective does.
bool has_fit(const CpdMethod& method);

}  // namespace blco
