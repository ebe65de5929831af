// Prints blco-cpd's plan, sweeps and result, as text or JSON.
#pragma once

#include <blco/cpd.hpp>
#include <filesystem>

#include "tools/programs/reporter.hpp"

namespace blco::cli {

void report_plan(Reporter& reporter, const CpdPlan& plan);
// Says which rows the initial model lacks, if any.
void report_start(Reporter& reporter, const CpdPlan& plan, const TensorSummary& tensor,
                  const std::filesystem::path& initial, std::uint64_t seed);
void report_sweep(Reporter& reporter, const SweepReport& report, const CpdOptions& options);
// Prints a failure, also with --quiet; a checkpoint that was saved is not mentioned.
void report_checkpoint(Reporter& reporter, const CheckpointReport& report);
// `options` are those of the fit.
void report_model(Reporter& reporter, const CpdModel& model, const CpdOptions& options,
                  const std::filesystem::path& output);

}  // namespace blco::cli
