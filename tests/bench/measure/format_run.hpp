// A format loaded with the tensor and factors of a comparison, ours or another's.
#pragma once

#include <blco/cpd.hpp>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/work/make_plan.hpp"
#include "tests/bench/measure/format_benchmark.hpp"
#include "tests/bench/measure/natural_tensor.hpp"
#include "tests/bench/measure/pass_traffic.hpp"

namespace blco {

class FormatRun {
 public:
  virtual ~FormatRun() = default;

  // One MTTKRP of all nonzeros.
  virtual void pass(int mode) = 0;
  // The output of the last pass, which was of `mode`: I_n x R, row-major, rows numbered by the tensor's own indices.
  virtual void read_output(int mode, std::span<double> rows) = 0;
  virtual RivalWork work(int mode) const = 0;
  // Sets settings, bytes, copies and seconds to build.
  virtual void describe(MeasuredFormat& format) const = 0;
  virtual std::uint64_t host_bytes() const = 0;
};

// What all formats of a comparison share. Everything must outlive the runs.
struct FormatSetup {
  const Tensor* tensor = nullptr;
  const NaturalTensor* natural = nullptr;
  std::span<const std::vector<double>> factors;  // per mode I_n x R, the initial ones of options.seed
  CpdOptions options;
  KernelVariant variant = KernelVariant::usual;
  ConflictResolution conflict_resolution = ConflictResolution::automatic;
  bool on_device = false;
  Executor* executor = nullptr;
};

// What all runs compute of a mode.
struct ModeOfRuns {
  int mode = 0;
  std::size_t numbers = 0;  // of the output
  double nominal_flops = 0;
  std::function<double(std::span<const double>)> error_of;  // of an output
};

// Checks the output of each run, then lets their passes alternate, and adds to report.formats what was measured. A null
// run was refused. As in a sweep, a timed pass follows one of the mode before, which brings the format's own matrices
// into the caches.
void measure_mode(std::span<const std::unique_ptr<FormatRun>> runs, const ModeOfRuns& of, int repeats,
                  FormatReport& report);

// Of an MTTKRP of ours. Of each nonzero N - 1 products and an addition, also where a tree shares products. A frame adds
// at most once to a row, which is a load and a store.
RivalWork work_of_ours(const PassLoad& load, double stored_bytes);

// Our format with chunks no nearer to the kernels than `best_tier`; brings them there. Throws Error as fit_cpd does.
std::unique_ptr<FormatRun> make_our_run(const FormatSetup& setup, Tier best_tier);

// Builds the format with every setting to be tried, and keeps the fastest. `sibling`, if not null, made by this
// function too: on the CPU the new one uses its factors and output. Throws Error as make_rival does.
std::unique_ptr<FormatRun> make_rival_run(const FormatSetup& setup, RivalKind kind, bool tune, FormatRun* sibling);

// What make_rival takes for the setup, with the usual knobs.
RivalOptions rival_options(const FormatSetup& setup);

}  // namespace blco
