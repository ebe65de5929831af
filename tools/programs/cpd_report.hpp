// Prints blco-cpd's plan, sweeps and result, as text or JSON.
#pragma once

#include <blco/cpd.hpp>
#include <filesystem>

#include "tools/programs/reporter.hpp"

namespace blco::cli {

void report_plan(Reporter& reporter, const CpdPlan& plan);
void report_sweep(Reporter& reporter, const SweepReport& report);
// Prints a failure, also with --quiet; a checkpoint that was saved is not mentioned.
void report_checkpoint(Reporter& reporter, const CheckpointReport& report);
// `options` are those of the fit.
void report_model(Reporter& reporter, const CpdModel& model, const CpdOptions& options,
                  const std::filesystem::path& output);

}  // namespace blco::cli
