// What blco-cpd prints of a plan, of sweeps and of the end of a fit, as text or JSON.
#pragma once

#include <blco/cpd.hpp>
#include <filesystem>

#include "tools/programs/reporter.hpp"

namespace blco::cli {

void report_plan(Reporter& reporter, const CpdPlan& plan);
void report_sweep(Reporter& reporter, const SweepReport& report);
// `options`: those of the fit, for the words.
void report_model(Reporter& reporter, const CpdModel& model, const CpdOptions& options,
                  const std::filesystem::path& output);

}  // namespace blco::cli
