// Repeats the sweeps of a method until one is the last, writes checkpoints, and decides when a fit ends.
#pragma once

#include <blco/error.hpp>
#include <blco/sweep.hpp>
#include <blco/tensor.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include "engine/common/progress_meter.hpp"
#include "engine/fit/methods/fit_method.hpp"
#include "engine/fit/output_files.hpp"
#include "engine/work/worker_group.hpp"

namespace blco {

// What CpdOptions and TuckerOptions have alike.
struct SweepOptions {
  template <class Options>
  SweepOptions(const Options& options, int most_sweeps, OutputFiles* claimed)
      : max_sweeps(most_sweeps),
        checkpoint(options.checkpoint),
        checkpoint_sweeps(options.checkpoint_sweeps),
        files(claimed),
        on_sweep(options.on_sweep),
        on_checkpoint(options.on_checkpoint) {}

  int max_sweeps;
  std::filesystem::path checkpoint;
  int checkpoint_sweeps;
  OutputFiles* files;  // null: none is claimed
  std::function<bool(const SweepReport&)> on_sweep;
  std::function<void(const CheckpointReport&)> on_checkpoint;
};

// Writes into the model what it keeps of its tensor.
void describe_tensor(const Tensor& tensor, ModelHeader& model);

class SweepDriver {
 public:
  SweepDriver(const SweepDriver&) = delete;
  SweepDriver& operator=(const SweepDriver&) = delete;

 protected:
  // `meter` must outlive this.
  SweepDriver(SweepOptions options, ProgressMeter& meter);
  virtual ~SweepDriver() = default;

  // `model` has the histories of the sweeps that came before; leaves the reason to stop in it. `nonzeros`: of a sweep,
  // for its progress; 0: not known. Throws Error{cancelled} before the end of the first sweep.
  void run_sweeps(FitMethod& method, ModelHeader& model, const WorkerGroup& workers, std::uint64_t nonzeros);

 private:
  // Adds a sweep to the model's history, and completes its report.
  virtual void record(SweepReport& report) = 0;
  virtual void write_model(const std::filesystem::path& path, const OutputClaim* claim) = 0;

  // Returns nothing if another sweep is due.
  std::optional<StopReason> run_sweep(const WorkerGroup& workers, std::uint64_t nonzeros);
  std::optional<StopReason> reason_to_stop(const SweepReport& report) const;
  // `report` is that of the last step; null: the model was resumed.
  std::optional<StopReason> reason_to_end(const SweepReport* report) const;
  void write_checkpoint();

  SweepOptions options_;
  ProgressMeter* meter_;
  FitMethod* method_ = nullptr;
  ModelHeader* model_ = nullptr;
  std::uint64_t bytes_read_ = 0;  // before this sweep
};

}  // namespace blco
