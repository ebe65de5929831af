// One fit of a CP model, from its first sweep, or from a resumed model, to the final model.
#pragma once

#include <blco/cpd.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "engine/common/progress_meter.hpp"
#include "engine/fit/methods/fit_method.hpp"
#include "engine/fit/sweep_driver.hpp"
#include "engine/work/job.hpp"
#include "engine/work/original_rows.hpp"
#include "io/container/model_file.hpp"

namespace blco {

// The options of a fit, with rank and seed taken from a resumed model.
struct FitStart {
  // Reads the model file to resume, if any. Throws Error{invalid_argument} if it, or options.initial, does not match
  // the tensor or the options.
  FitStart(const TensorSummary& tensor, const CpdOptions& given);

  CpdOptions options;
  int value_exponent = 0;                    // of the fit: FitContext::value_exponent
  CpdOptions of_method;                      // the options in the unit of the fit
  std::unique_ptr<ModelFileReader> resumed;  // null: a new fit
  std::vector<std::vector<double>> sampled;  // with Start::nvecs, the initial factors, until they are loaded
};

// The memory that fit_cpd takes beyond its backend, `held` of the caller among it, and its demands on it.
JobNeeds fit_needs(const Tensor& tensor, const CpdOptions& options, const Account& held = {},
                   const DeclaredGpu* declared = nullptr);

class CpFit : SweepDriver {
 public:
  // `workers` are the job's, `constant` is that of check_entries. `start`, `job`, `meter` and `files` must outlive
  // this.
  CpFit(const Tensor& tensor, const FitStart& start, Job& job, std::unique_ptr<WorkerGroup> workers,
        ProgressMeter& meter, const ConstantModel& constant = {}, OutputFiles* files = nullptr);

  // Runs the sweeps, then takes the model out of the backend. Throws as fit_cpd does.
  CpdModel run();

 private:
  void record(SweepReport& report) override;
  void write_model(const std::filesystem::path& path, const OutputClaim* claim) override;
  // Makes the method, and loads what it starts from.
  void begin();
  // If the model has become worse than what a user gave the fit to start from, goes back to that.
  void return_to_better_start();
  // Of the factors and weights that the method has, in the unit of the values.
  std::vector<double> weights() const;
  void restore_method(const ModelFileReader& resumed);
  double objective_of_values(double of_fit) const;

  const Tensor* nonzeros_;
  const TensorSummary* tensor_;
  const FitStart* start_;
  const CpdOptions* options_;
  Job* job_;
  ProgressMeter* meter_;
  ConstantModel constant_;
  CpdModel model_;  // without factors until the end
  std::unique_ptr<WorkerGroup> workers_;
  OriginalRows rows_;
  std::unique_ptr<FitMethod> method_;
  double last_objective_ = 0;  // in the unit of the fit
};

// As fit_cpd, but `files` has the claims, and the caller saves the model. The budget also covers `held` of the
// caller.
CpdModel run_fit(const Tensor& tensor, const CpdOptions& options, const Account& held, OutputFiles& files);
// As plan_cpd.
CpdPlan plan_fit(const Tensor& tensor, const CpdOptions& options, const DeclaredGpu* declared, const Account& held);

// Throws Error{io} unless there is room for models of this rank at options.checkpoint and options.output: see
// check_output_room.
void check_model_room(const TensorSummary& tensor, const CpdOptions& options);

}  // namespace blco
