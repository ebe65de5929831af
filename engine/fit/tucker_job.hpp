// The job of a Tucker fit: which method the budget holds, and how unfoldings are made.
#pragma once

#include <blco/tucker.hpp>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/fit/column_slabs.hpp"
#include "engine/fit/output_files.hpp"

namespace blco {

// Whether the mode keeps the matrix of the initial model.
bool is_held(const TuckerOptions& options, std::size_t mode);

struct TuckerJob {
  // HOQRI takes several times the passes and sweeps: only where there is no room for Y beside whole slabs. The budget
  // also covers `held` of the caller.
  TuckerJob(const Tensor& tensor, const TuckerOptions& options, const std::vector<int>& ranks, const StopPoll& stop,
            const Account& held = {});

  // The initial matrices are sampled from unfoldings.
  static bool samples(const TuckerOptions& options);
  // The job that samples them for a job without slabs.
  static SlabJob sampling(const Tensor& tensor, const TuckerOptions& options, const std::vector<int>& ranks,
                          const StopPoll& stop, const Account& held);
  TuckerPlan describe() const;

  TuckerMethod method;
  Account held_memory;
  std::optional<SlabJob> slabs;
  std::uint64_t passes_per_sweep = 0;
  std::uint64_t minimum_bytes = 0;
  std::uint64_t device_minimum_bytes = 0;

 private:
  void make(const Tensor& tensor, const TuckerOptions& options, const std::vector<int>& ranks, const StopPoll& stop,
            bool is_fixed);
  void find_minimums(const Tensor& tensor, TuckerOptions options, const std::vector<int>& ranks);
};

// As fit_tucker, but `files` has the claims, and the caller saves the model. The budget also covers `held` of the
// caller.
TuckerModel run_tucker(const Tensor& tensor, const TuckerOptions& options, const Account& held, OutputFiles& files);
// As plan_tucker.
TuckerPlan plan_run(const Tensor& tensor, const TuckerOptions& options, const Account& held);

}  // namespace blco
