// A method of fit_cpd or fit_tucker: one step at a time. The driver (sweep_driver.hpp) does everything else.
#pragma once

#include <blco/cpd_options.hpp>
#include <blco/tensor.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/common/progress_meter.hpp"
#include "engine/fit/methods/constant_model.hpp"
#include "engine/model/resumed_state.hpp"
#include "engine/work/worker_group.hpp"
#include "kernels/account.hpp"
#include "kernels/lbfgs_numbers.hpp"

namespace blco {

// What a method works on. The workers hold the factors between steps.
struct FitContext {
  const Tensor& tensor;
  const CpdOptions& options;
  WorkerGroup& workers;
  StopPoll stop;  // true once the fit must stop; a long step may then end early, with its factors in order
  ConstantModel constant = {};  // AprMethod and both of generalised CP; of the values as the workers see them
  // The workers see values divided by 2 to the power of this. All that a method has is in that unit: options, weights,
  // objectives, errors and state. The driver translates.
  int value_exponent = 0;

  // Of the values as the workers see them.
  double sum_of_squares() const { return std::ldexp(tensor.summary().sum_of_squares, -2 * value_exponent); }
  double mean_square() const { return sum_of_squares() / static_cast<double>(tensor.nnz()); }
};

// What a method needs before it can be made.
struct MethodNeeds {
  std::uint64_t passes_of_step = 0;  // 0: not known before
  bool loss_passes = true;
  bool all_outputs = false;               // loss passes to all modes at once
  bool any_rows = false;                  // its passes over other cells than the tensor's take any
  bool passes_by_mode = false;            // each pass fills the output of one mode, or none
  ModeSet dual_modes = 0;                 // that update_rows solves by ADMM
  std::vector<VectorShape> vectors = {};  // that the backend keeps; those used most often come first
  bool undoes_steps = false;              // by the factors kept from before
  bool stops_after_pass = false;          // ends a step early by itself
  Account host = {};                      // of the method itself
  bool reads_chunks = false;              // by itself, one after the other
  std::uint64_t slot_bytes = 0;           // of the largest chunk of its passes over others than those of the tensor
  std::uint64_t state_matrices = 0;       // that a checkpoint keeps, each as large as all factors
  // That each worker keeps of the rows that it owns.
  LbfgsVectors lbfgs = LbfgsVectors::none;
};

// A method's state beside factors and weights, which a checkpoint keeps, so that a resumed fit goes on with the same
// numbers. Matrices have the shapes of the factors.
struct MethodState {
  std::vector<double> numbers;
  std::vector<std::string> matrices;  // their names
};

// Of what most of them keep, in words for messages.
inline constexpr const char* number_of_next_pass = "the number of the next pass";

// Whether the last sweep changed the fit by less than this.
bool has_settled(const ModelHeader& model, double tolerance);

class FitMethod {
 public:
  virtual ~FitMethod() = default;

  // Called once, after the initial factors are there. `weights` are those of the model they came from; empty:
  // the factors are random.
  virtual void start(std::span<const double> weights) = 0;
  // Runs step `report.sweep`, counted from 1 since the very first, also after a resume. Fills in what it finds out;
  // the driver fills in times and counts. Throws Error: cancelled only if undoes_steps; invalid_argument if numbers
  // leave the range of a double.
  virtual void run_step(SweepReport& report) = 0;
  // The objective of the factors that the first step of this object found; known after it, and by methods whose model
  // may become worse than that.
  virtual std::optional<double> first_objective() const { return std::nullopt; }
  // What an automatic ridge has come to, in the unit of CpdOptions::ridge: that of the model that finish() leaves.
  virtual std::optional<double> found_ridge() const { return std::nullopt; }
  // Rolls back a step that was cancelled. No steps may follow.
  virtual void undo_step() {}
  // True if the fit is done: after a step, by its `report`; before the first one of a resumed fit, by the model alone.
  virtual bool has_converged(const ModelHeader& so_far, const SweepReport* report) const;
  // Called once at the end: leaves the model's factors. Returns the sweep, from 1, whose model that is,
  // or 0: that of the last one.
  virtual std::size_t finish() { return 0; }

  // R, or the core of a Tucker model. With the factors they make the model after each step.
  virtual const std::vector<double>& weights() const = 0;
  // For methods that take momentum: other weights, of factors with normalised columns that have been loaded since the
  // last step.
  virtual void set_weights(std::span<const double>) {}
  // What the method minimises of the model, beyond the objective that it reports.
  virtual double penalty() const { return 0; }

  virtual MethodState state() const { return {}; }
  virtual void store_rows(std::size_t, int, std::uint64_t, std::span<double>) const {}
  // Takes the state of a checkpoint, after start(). Throws Error{corrupt} for one that state() does not return.
  virtual void restore(ResumedState& state) { state.require(0, {}); }
};

// What holds of a method whatever its options.
struct MethodTraits {
  const char* name;
  int usual_sweeps = 50;
  double usual_tolerance = 1e-5;
  bool has_fit = false;
  bool scales_columns = false;  // itself; those of others are normalised at the end
  bool takes_loss = false;
  bool takes_ridge = false;
  bool takes_validation = false;    // a checkpoint then holds the best model as its only matrix of state
  bool takes_any_start = false;     // others begin at 0 or above, or scale numbers of [0, 1)
  bool counts_absent_cells = true;  // as zeros
  bool takes_nonnegative = true;    // as a constraint
  bool takes_any_constraint = false;
  bool takes_momentum = false;  // a step depends on nothing but the model, and does not raise what is minimised
};

// What the table of methods has of each.
struct MethodEntry {
  MethodTraits traits;
  void (*check)(const TensorSummary&, const CpdOptions&);                                 // see check_method()
  ConstantModel (*check_entries)(const Tensor&, const CpdOptions&, int, ProgressMeter&);  // see below; null: any values
  MethodNeeds (*needs)(const TensorSummary&, const CpdOptions&);
  std::unique_ptr<FitMethod> (*make)(const FitContext&);
};
extern const MethodEntry als_method;
extern const MethodEntry apr_method;
extern const MethodEntry gcp_method;
extern const MethodEntry gcp_adam_method;
extern const MethodEntry completion_method;

template <class Method>
std::unique_ptr<FitMethod> make_of(const FitContext& context) {
  return std::make_unique<Method>(context);
}

// With its own defaults; nothing if the table of methods has none of that name.
std::optional<CpdMethod> find_method(std::string_view name);
// Of all in that table.
std::vector<std::string> method_names();
// Throws Error{invalid_argument} for constraints of another number of modes, and for held ones without a model to start
// from that has all their indices.
void check_held_modes(const TensorSummary& tensor, const std::vector<RowConstraint>& constraints,
                      const ModelHeader* initial, bool is_resumed);
// Throws Error{invalid_argument} for options that do not go together.
void check_method(const TensorSummary& tensor, const CpdOptions& options);
// Throws Error{invalid_argument} for values of the tensor that do not suit the method. Returns FitContext::constant;
// options and exponent are the context's too.
ConstantModel check_entries(const Tensor& tensor, const CpdOptions& options, int value_exponent, ProgressMeter& meter);
MethodNeeds method_needs(const TensorSummary& tensor, const CpdOptions& options);
std::unique_ptr<FitMethod> make_method(const FitContext& context);
// Per mode; empty: none.
const std::vector<RowConstraint>& constraints_of(const CpdMethod& method);
// Gaussian for methods without one.
Loss loss_of(const CpdMethod& method);
// Of methods that take one.
void set_loss(CpdMethod& method, const Loss& loss);
const MethodTraits& traits_of(const CpdMethod& method);
RowSet row_set(const CpdMethod& method, std::size_t mode);
int count_held(const CpdMethod& method);
// Whether held-out entries are given.
bool has_validation(const CpdMethod& method);
// Writes method, loss and constraints into the model, and makes a method of them.
void describe_method(const CpdOptions& options, CpdModel& model);
CpdMethod method_of(const CpdModel& model);

}  // namespace blco
