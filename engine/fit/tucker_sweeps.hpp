// The sweeps of HOOI and HOQRI over the modes: for each mode a pass makes the unfolding, or a round of slabs.
#pragma once

#include <blco/tucker.hpp>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "engine/common/progress_meter.hpp"
#include "engine/fit/column_slabs.hpp"
#include "engine/fit/core_shape.hpp"
#include "engine/fit/methods/fit_method.hpp"
#include "engine/fit/tucker_job.hpp"

namespace blco {

// The weights of this method are the core. The workers have the matrices; beside both there are those of before the
// sweep in progress, to undo it.
class TuckerSweeps final : public FitMethod {
 public:
  // The matrices are to be loaded before the first step: I_n x R_n with orthonormal columns. All arguments must outlive
  // this.
  TuckerSweeps(const Tensor& tensor, const std::vector<int>& ranks, const TuckerOptions& options, TuckerJob& job,
               ProgressMeter& meter);

  SharedMatrices& matrices() { return slabs_.matrices(); }
  // Makes the matrices of samples of the unfoldings. Needs slabs.
  void sample_matrices();
  // With the core of a model to resume, or none.
  void start(std::span<const double> core) override;
  void run_step(SweepReport& report) override;
  void undo_step() override;
  bool has_converged(const ModelHeader& so_far, const SweepReport* report) const override;
  const std::vector<double>& weights() const override { return core_; }

  const WorkerGroup& workers() { return slabs_.workers(); }

 private:
  std::size_t last_update() const;
  void update_by_vectors(std::size_t mode, bool makes_core);
  void update_by_core(std::size_t mode);
  void refresh_core(std::size_t mode);
  // Calls visit(first choice, how many) with a slab of Y as the output.
  template <class Visit>
  void for_each_slab(std::size_t mode, const Visit& visit);
  Executor& pool() const { return job_->slabs->job->pool(); }

  const TensorSummary* tensor_;
  const std::vector<int>* ranks_;
  const TuckerOptions* options_;
  TuckerJob* job_;
  ProgressMeter* meter_;
  CoreShape shape_;
  std::vector<double> core_;
  bool has_core_ = false;
  std::vector<double> core_before_;
  ColumnSlabs slabs_;
};

}  // namespace blco
