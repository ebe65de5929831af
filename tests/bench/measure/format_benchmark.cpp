// Builds the formats one after the other, then lets their passes of each mode alternate.
#include "tests/bench/measure/format_benchmark.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/common/memory.hpp"
#include "engine/common/thread_pool.hpp"
#include "engine/fit/check_options.hpp"
#include "engine/fit/initial_factors.hpp"
#include "engine/work/job.hpp"
#include "tests/bench/measure/format_run.hpp"
#include "tests/bench/measure/mttkrp_oracle.hpp"

namespace blco {
namespace {

const std::map<std::string, Tier> our_tiers{
    {"ours", Tier::device}, {"ours-packed", Tier::packed}, {"ours-streamed", Tier::streamed}};

std::optional<RivalKind> rival_of(const std::string& name) {
  for (const RivalKind kind : every_rival()) {
    if (name == name_of(kind)) return kind;
  }
  return std::nullopt;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

void check_formats(const FormatOptions& formats, const CpdOptions& options) {
  const std::vector<std::string> known = format_names();
  for (const std::string& name : formats.formats) {
    if (std::ranges::find(known, name) == known.end()) {
      refuse(option_name("formats") + ": there is no format '" + name + "'; the formats are " + listed(known));
    }
  }
  if (formats.repeats < 1) refuse(option_name("repeats") + " must be at least 1");
  if (options.compute.precision == Precision::mixed) {
    refuse("formats are compared in f64 or f32; give " + option_name("precision", "f64") + " or f32");
  }
}

// One comparison, from the loaded tensor to the report.
class Comparison {
 public:
  Comparison(const Tensor& tensor, const FormatOptions& formats, const CpdOptions& options)
      : formats_(formats), pool_(options.compute.threads) {
    setup_.tensor = &tensor;
    setup_.options = options;
    setup_.executor = &pool_;
    setup_.variant = formats.variant;
    setup_.conflict_resolution = formats.conflict_resolution;
    report_.threads = pool_.width();
    report_.rank = options.rank;
    report_.precision = options.compute.precision;
    report_.shape = tensor.summary().shape;
    report_.nnz = tensor.summary().nnz;
    report_.tolerance = options.compute.precision == Precision::f32 ? 1e-5 : 1e-12;
    check_limits();
    choose_device();
  }

  FormatReport run() {
    if (!list_formats()) return std::move(report_);
    natural_ = read_natural(*setup_.tensor, pool_);
    setup_.natural = &natural_;
    allow_for_rounding();
    make_factors();
    setup_.factors = factors_;
    build();
    const RivalTensor coordinates = natural_.view();
    MttkrpOracle oracle(coordinates, factors_, report_.rank, pool_);
    for (std::size_t mode = 0; mode < report_.shape.size(); ++mode) measure(static_cast<int>(mode), oracle);
    return std::move(report_);
  }

 private:
  // Coordinates and numbers of nonzeros have 32 bits here.
  void check_limits() const {
    if (report_.nnz < std::numeric_limits<std::uint32_t>::max() && std::ranges::max(report_.shape) <= std::uint64_t{1}
                                                                                                          << 32) {
      return;
    }
    refuse("formats are compared on tensors of fewer than 2^32 nonzeros and modes of up to 2^32; leave out " +
           option_name("formats"));
  }

  // A plain f32 sum of n products of one sign is off by some sqrt(n) times the rounding error of one addition.
  void allow_for_rounding() {
    if (report_.precision != Precision::f32) return;
    constexpr double epsilon = std::numeric_limits<float>::epsilon();
    std::uint32_t most = 0;
    for (std::size_t mode = 0; mode < natural_.shape.size(); ++mode) {
      std::vector<std::uint32_t> nnz_of_row(natural_.shape[mode]);
      for (const std::uint32_t row : natural_.coordinates[mode]) most = std::max(most, ++nnz_of_row[row]);
    }
    report_.tolerance = std::max(report_.tolerance, 2 * epsilon * std::sqrt(static_cast<double>(most)));
  }

  // Asks for a plan, which looks for the device.
  void choose_device() {
    const CpdPlan plan = plan_cpd(*setup_.tensor, setup_.options);
    setup_.on_device = plan.device_budget_bytes > 0;
    report_.device = plan.device;
    report_.device_note = plan.device_note;
  }

  // Refuses those that cannot be built. Returns false if nothing is left to measure.
  bool list_formats() {
    bool any = false;
    for (const std::string& name : formats_.formats.empty() ? format_names() : formats_.formats) {
      report_.formats.push_back({.name = name});
      if (const std::optional<RivalKind> kind = rival_of(name))
        report_.formats.back().refusal = why_no_rival(*kind, report_.shape, report_.nnz, rival_options(setup_));
      any = any || report_.formats.back().refusal.empty();
    }
    if (!any) return false;
    check_room(shared_bytes());
    take(shared_bytes());
    return true;
  }

  void check_room(std::uint64_t bytes) const {
    if (bytes <= room_) return;
    throw Error(ErrorKind::out_of_memory,
                "up to " + format_bytes(bytes) + " of memory are wanted, and " + format_bytes(room_) + " can be had");
  }

  void take(std::uint64_t bytes) { room_ -= std::min(room_, bytes); }

  // Coordinates; factors in f64, and those of all rivals; their output, the oracle's two and the one compared
  // with it.
  std::uint64_t shared_bytes() const {
    std::uint64_t rows = 4 * std::ranges::max(report_.shape);
    for (const std::uint64_t length : report_.shape) rows += 2 * length;
    return natural_bytes(report_.shape.size(), report_.nnz) +
           rows * static_cast<std::uint64_t>(report_.rank) * sizeof(double);
  }

  void make_factors() {
    for (std::size_t mode = 0; mode < report_.shape.size(); ++mode) {
      factors_.emplace_back(report_.shape[mode] * static_cast<std::uint64_t>(report_.rank));
      fill_initial_rows(setup_.options.seed, static_cast<int>(mode), 0, report_.rank, factors_.back());
    }
  }

  void build() {
    FormatRun* sibling = nullptr;
    runs_.resize(report_.formats.size());
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      MeasuredFormat& format = report_.formats[i];
      if (!format.refusal.empty()) continue;
      try {
        runs_[i] = make_run(format.name, sibling);
      } catch (const std::bad_alloc&) {
        format.refusal = "it does not fit: the system gives no more memory";
        continue;
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::out_of_memory) throw;
        format.refusal = std::string("it does not fit: ") + error.what();
        continue;
      }
      runs_[i]->describe(format);
      take(runs_[i]->host_bytes());
      if (rival_of(format.name) && sibling == nullptr) sibling = runs_[i].get();
    }
  }

  std::unique_ptr<FormatRun> make_run(const std::string& name, FormatRun* sibling) {
    if (const std::optional<RivalKind> kind = rival_of(name)) {
      check_room(most_rival_bytes(report_.shape, report_.nnz, report_.rank, report_.threads));
      return make_rival_run(setup_, *kind, formats_.tune, sibling);
    }
    FormatSetup setup = setup_;
    if (setup.options.compute.memory.host_bytes == 0) setup.options.compute.memory.host_bytes = room_;
    return make_our_run(setup, our_tiers.at(name));
  }

  void measure(int mode, MttkrpOracle& oracle) {
    oracle.compute(mode);
    const std::size_t numbers =
        report_.shape[static_cast<std::size_t>(mode)] * static_cast<std::uint64_t>(report_.rank);
    const double nominal_flops =
        static_cast<double>(report_.shape.size()) * static_cast<double>(report_.nnz) * report_.rank;
    measure_mode(runs_,
                 {mode, numbers, nominal_flops, [&](std::span<const double> rows) { return oracle.error_of(rows); }},
                 formats_.repeats, report_);
  }

  const FormatOptions& formats_;
  std::uint64_t room_ = default_host_bytes();  // not taken yet
  ThreadPool pool_;
  FormatSetup setup_;
  FormatReport report_;
  NaturalTensor natural_;
  std::vector<std::vector<double>> factors_;
  std::vector<std::unique_ptr<FormatRun>> runs_;  // per format; null: refused
};

}  // namespace

std::vector<std::string> format_names() {
  std::vector<std::string> names{"ours", "ours-packed", "ours-streamed"};
  for (const RivalKind kind : every_rival()) names.emplace_back(name_of(kind));
  return names;
}

double MeasuredFormat::sweep_seconds() const {
  double sum = 0;
  for (const FormatPass& pass : passes) sum += pass.min_seconds;
  return sum;
}
double MeasuredFormat::build_sweeps() const { return sweep_seconds() > 0 ? build_seconds / sweep_seconds() : 0; }
double MeasuredFormat::largest_error() const {
  double largest = 0;
  for (const FormatPass& pass : passes) largest = std::max(largest, pass.error);
  return largest;
}

FormatReport benchmark_formats(const Tensor& tensor, const FormatOptions& formats, const CpdOptions& options) {
  check_formats(formats, options);
  check_options(tensor.summary(), options);
  return Comparison(tensor, formats, options).run();
}

}  // namespace blco
