// Prints plans, sweeps and models as text and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <blco/model_summary.hpp>
#include <blco/predict.hpp>
#include <cmath>
#include <random>

#include "tools/programs/cpd_program.hpp"

namespace blco::cli {
namespace {

// Where the chunks of a device stay.
void print_tiers(Reporter& reporter, const CpdPlan& plan) {
  const bool is_gpu = plan.device_budget_bytes > 0;
  reporter.print(
      "plan    {}, {}; {}: {} {}, {} packed in memory, {} streamed; {} read per pass", plan.device,
      format_count(static_cast<std::uint64_t>(plan.threads), "thread"), format_count(plan.chunk_count, "chunk"),
      format_count(is_gpu ? plan.device_chunks : plan.decoded_chunks), is_gpu ? "on the device" : "decoded in memory",
      format_count(plan.packed_chunks), format_count(plan.streamed_chunks), format_bytes(plan.disk_bytes_per_pass));
}

// By StopReason.
constexpr const char* end_words[] = {"converged", "the limit", "interrupted", "out of time", "unfinished"};
static_assert(static_cast<std::size_t>(StopReason::unfinished) + 1 == std::size(end_words));

// Of the components of a CP model, or of the modes of a Tucker model.
const std::vector<double>& part_matches(const StartReport& start) {
  return start.mode_matches.empty() ? start.component_matches : start.mode_matches;
}

// Which order of the nonzeros each mode's passes read.
void print_orders(Reporter& reporter, const CpdPlan& plan) {
  if (!plan.orders_note.empty()) reporter.print("orders  not read: {}", plan.orders_note);
  for (std::size_t mode = 0; mode < plan.reads.size(); ++mode) {
    const ModeRead& read = plan.reads[mode];
    reporter.print("orders  mode {}: {} order, {} read per pass", mode, read.own_order ? "its own" : "the natural",
                   format_bytes(read.disk_bytes));
  }
}

// The part of a plan that only a GPU has.
void print_device_plan(Reporter& reporter, const CpdPlan& plan) {
  if (plan.device_budget_bytes == 0) return;
  reporter.print("device  {} planned of a budget of {}, minimum {}; {} slots, {} of resident chunks",
                 format_bytes(plan.device_planned_bytes), format_bytes(plan.device_budget_bytes),
                 format_bytes(plan.device_minimum_bytes), plan.slots, format_bytes(plan.resident_bytes));
  reporter.print("link    {} sent per pass", format_bytes(plan.link_bytes_per_pass));
  if (plan.column_slabs > 1) {
    reporter.print(
        "slabs   factors stay in host memory; a pass goes through the chunks {} times, for a slab of columns each, and "
        "sends {} of rows",
        plan.column_slabs, format_bytes(plan.row_bytes_per_pass));
  }
}

// The rest of the first device's plan, and the plans of the others.
void print_other_devices(Reporter& reporter, const CpdPlan& plan) {
  print_device_plan(reporter, plan);
  bool is_idle = plan.chunk_count == 0;
  for (const CpdPlan& other : plan.others) {
    print_tiers(reporter, other);
    print_device_plan(reporter, other);
    is_idle = is_idle || other.chunk_count == 0;
  }
  reporter.print(
      "share   by default a GPU begins with 12 times as many chunks as the CPU; --devices takes other shares");
  if (!is_idle) return;
  reporter.print("share   a device without a chunk has nothing to do; ingest the tensor with a smaller --chunk-nnz");
}

std::string explain_tolerance(const CpdOptions& options) {
  const double tolerance = tolerance_of(options);
  if (std::holds_alternative<AprMethod>(options.method)) {
    return fmt::format("no number of a factor violates the optimality conditions by more than {}", tolerance);
  }
  if (has_fit(options.method)) {
    return fmt::format("{} by less than {}", has_momentum(options) ? "sweeps changed the fit" : "the fit changed",
                       tolerance);
  }
  if (const auto* completion = std::get_if<CompletionMethod>(&options.method)) {
    const std::string root = fmt::format("the root of the objective fell by less than {} of itself", tolerance);
    return completion->validation == nullptr ? root : root + ", or 20 sweeps found no smaller error over held-out entries";
  }
  return fmt::format("the objective changed by less than {} of the constant model's deviance, or no longer falls",
                     tolerance);
}

// Whether the fit held entries back to find its ridge.
bool has_held_back(const CpdModel& model, const CpdOptions& options) {
  const auto* completion = std::get_if<CompletionMethod>(&options.method);
  return completion != nullptr && completion->validation == nullptr && model.found_ridge.value_or(0) > 0;
}

std::string explain(StopReason reason, const CpdModel& model, const CpdOptions& options) {
  switch (reason) {
    case StopReason::tolerance:
      if (has_held_back(model, options)) return "the sweeps with the ridge that was found lower the objective no more";
      return explain_tolerance(options);
    case StopReason::sweeps:
      return fmt::format("reached the limit of {}",
                         format_count(static_cast<std::uint64_t>(max_sweeps_of(options)), "sweep"));
    case StopReason::cancelled:
      return "interrupted; the model is that of the last sweep above";
    case StopReason::time:
      return "reached the time limit; the model is that of the last sweep above";
    case StopReason::unfinished:
      break;
  }
  return to_string(reason);
}

// Whether nothing but few entries determines a completion.
bool is_loosely_determined(const CpdModel& model, const CpdOptions& options) {
  const auto* completion = std::get_if<CompletionMethod>(&options.method);
  if (completion == nullptr || completion->validation != nullptr || options.ridge > 0) return false;
  if (model.found_ridge.value_or(0) > 0) return false;
  constexpr double entries_of_number = 4;
  double rows = 0;
  for (const std::uint64_t length : model.shape) rows += static_cast<double>(length);
  return static_cast<double>(model.tensor_nnz) < entries_of_number * rows * model.rank;
}

// Of random cells, which no fit to a few entries has seen: larger than every value that was given.
double share_of_outsize_cells(const CpdModel& model) {
  constexpr std::size_t cells = 4096;
  if (model.method != "complete" || std::ranges::find(model.shape, 0) != model.shape.end()) return 0;
  std::mt19937_64 random;
  std::vector<std::vector<std::uint64_t>> indices;
  std::vector<IndexView> views;
  for (const std::uint64_t length : model.shape) {
    std::vector<std::uint64_t>& of_mode = indices.emplace_back(cells);
    for (std::uint64_t& index : of_mode) index = random() % length;
  }
  for (const std::vector<std::uint64_t>& of_mode : indices) views.emplace_back(of_mode);
  const double norm = std::sqrt(model.tensor_sum_of_squares);
  constexpr double rounding = 1.01;
  const auto outsize =
      std::ranges::count_if(predict(model, views, 1), [&](double m) { return !(std::abs(m) <= rounding * norm); });
  return static_cast<double>(outsize) / static_cast<double>(cells);
}

// A pass takes as long as the process with most chunks.
void print_share(Reporter& reporter, int processes, const TensorSummary& tensor) {
  reporter.print("share   the tensor's chunks are shared by {} processes; plan and memory are of this one", processes);
  const auto shares = static_cast<std::uint64_t>(processes);
  const auto are_even = [shares](std::uint64_t chunks) {
    const std::uint64_t most = (chunks + shares - 1) / shares;
    return 4 * most * shares <= 5 * chunks;
  };
  if (are_even(tensor.chunk_count)) return;
  constexpr std::uint64_t chunks_of_share = 16;
  constexpr std::uint64_t least_nnz = 4096;
  const std::uint64_t nnz = std::max(least_nnz, std::bit_floor(tensor.nnz / (chunks_of_share * shares)));
  const bool helps = are_even((tensor.nnz + nnz - 1) / nnz);
  reporter.print("share   {} cannot be shared evenly; {}", format_count(tensor.chunk_count, "chunk"),
                 helps ? fmt::format("blco-ingest --chunk-nnz {} makes a tensor that can", nnz)
                       : "the tensor is too small for so many processes");
}

}  // namespace

void report_plan(Reporter& reporter, const CpdPlan& plan, const TensorSummary& tensor) {
  reporter.event("plan", as_json(plan));
  if (!plan.device_note.empty()) {
    reporter.print("device  {}{}", plan.device_note, plan.device_budget_bytes == 0 ? "; computing on the CPU" : "");
  }
  print_tiers(reporter, plan);
  print_orders(reporter, plan);
  if (!plan.others.empty()) print_other_devices(reporter, plan);
  if (plan.processes > 1) print_share(reporter, plan.processes, tensor);
  reporter.print("memory  {} planned of a budget of {}, minimum {}", format_bytes(plan.planned_bytes),
                 format_bytes(plan.budget_bytes), format_bytes(plan.minimum_bytes));
  if (!plan.memory_note.empty()) reporter.print("memory  {}", plan.memory_note);
  if (plan.stops_after_pass) {
    reporter.print(
        "stop    an interrupt or a time limit takes effect after the pass in progress; the sweep counts as it is then, "
        "unless it is the first");
  } else if (!plan.stops_within_sweep) {
    reporter.print(
        "stop    an interrupt or a time limit takes effect at the end of a sweep: there is no copy of what the sweep "
        "overwrites");
  }
  if (plan.others.empty()) print_device_plan(reporter, plan);
}

void report_start(Reporter& reporter, const CpdPlan& plan, const TensorSummary& tensor,
                  const std::filesystem::path& initial, std::uint64_t seed) {
  for (std::size_t n = 0; n < plan.outside_box.size(); ++n) {
    if (plan.outside_box[n] == 0) continue;
    reporter.print("start   {} entries of {} in {} lie outside --box; the first sweep moves them into it",
                   format_count(plan.outside_box[n]), tensor.mode_names[n], initial.string());
  }
  std::string modes;
  for (std::size_t n = 0; n < plan.new_rows.size(); ++n) {
    if (plan.new_rows[n] == 0) continue;
    modes += fmt::format("{}{} of {} {}", modes.empty() ? "" : ", ", format_count(plan.new_rows[n]),
                         format_count(tensor.shape[n]), tensor.mode_names[n]);
  }
  if (modes.empty()) return;
  reporter.print("start   rows of {}; new and random (seed {}): {}", initial.string(), seed, modes);
}

void report_sweep(Reporter& reporter, const SweepReport& report, const CpdOptions& options) {
  Json json = as_json(report);
  const auto leave_out = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) json.erase(name);
  };
  std::string words;
  if (has_fit(options.method)) {
    words = fmt::format("fit {:.12f}  change {:+.1e}", report.fit, report.fit_change);
  } else {
    leave_out({"fit", "fit_change", "system_ranks"});
    words = fmt::format("objective {:.12e}", report.objective);
  }
  if (report.restarted) {
    words += "  restart";
  } else {
    leave_out({"restarted"});
  }
  if (report.explained) words += fmt::format("  explains {:.2f}%", *report.explained * 100);
  if (std::holds_alternative<AprMethod>(options.method)) {
    words += fmt::format("  violation {:.1e}  {} passes", report.kkt_violation, report.passes);
  } else {
    leave_out({"kkt_violation"});
  }
  if (report.validation_error) words += fmt::format("  held-out error {:.6g}", *report.validation_error);
  if (report.ridge.value_or(0) > 0) words += fmt::format("  ridge {:.3g}", *report.ridge);
  for (auto figure = json.begin(); figure != json.end();) figure = figure->is_null() ? json.erase(figure) : ++figure;
  reporter.event("sweep", json);
  reporter.print("sweep {:>3}  {}  {:.2f} s  read {}", report.sweep, words, report.seconds,
                 format_bytes(report.bytes_read));
}

void report_held_out(Reporter& reporter, const HeldOutReport& means, const CpdOptions& options) {
  reporter.print("held out {}: error {:.6g}; of the mean {:.6g}, of means by mode {:.6g}",
                 format_count(means.entries, "cell"), means.model_error, means.mean_error, means.mode_means_error);
  if (means.cold_entries > 0) {
    reporter.print("held out {} of them in rows without entries of the tensor, which get the mean of the other rows",
                   format_count(means.cold_entries));
  }
  if (means.model_error > means.mean_error) {
    reporter.print("note    the mean of the values has a smaller error over held-out entries than the model; {}",
                   options.ridge >= 0 ? "leave out --ridge, or give another --rank" : "give another --rank");
  } else if (means.model_error > means.mode_means_error) {
    reporter.print("note    means by mode have a smaller error over held-out entries than the model");
  }
}

void CheckpointLog::report(Reporter& reporter, const CheckpointReport& report) {
  if (!report.failure) {
    if (lost_ > 0) {
      reporter.warn(fmt::format("the checkpoint of sweep {} is saved again; {} before it {} not", report.sweep,
                                format_count(lost_), lost_ == 1 ? "was" : "were"));
    }
    lost_ = 0;
    failure_.clear();
    return;
  }
  ++lost_;
  reporter.event("checkpoint", {{"sweep", report.sweep}, {"failure", report.failure->what()}});
  if (failure_ == report.failure->what()) return;
  failure_ = report.failure->what();
  reporter.warn(
      fmt::format("the checkpoint of sweep {} is not saved, and the fit goes on: {}", report.sweep, failure_));
}

void note_old_checkpoint(Reporter& reporter, const std::filesystem::path& checkpoint) {
  if (checkpoint.empty() || !std::filesystem::exists(checkpoint)) return;
  reporter.note("the checkpoint {0} will be replaced; to continue from it, give --resume {0}", checkpoint.string());
}

void CheckpointLog::check_last(const std::filesystem::path& output) const {
  if (lost_ == 0) return;
  const std::string which = lost_ == 1 ? "checkpoint is" : fmt::format("{} checkpoints are", format_count(lost_));
  throw Error(ErrorKind::io,
              fmt::format("the model is whole in {}, but the last {} not saved: {}", output.string(), which, failure_));
}

void report_system_ranks(Reporter& reporter, const std::vector<std::vector<int>>& system_ranks, const CpdModel& model) {
  const int rank = model.rank;
  const std::size_t modes = system_ranks.empty() ? 0 : system_ranks.front().size();
  for (std::size_t n = 0; n < modes; ++n) {
    int min = rank;
    int sweeps = 0;
    for (const std::vector<int>& ranks : system_ranks) {
      min = std::min(min, ranks[n]);
      sweeps += ranks[n] < rank ? 1 : 0;
    }
    if (sweeps == 0) continue;
    reporter.print(
        "note    the normal equations of mode {} were rank-deficient (rank {} instead of {}) in {} "
        "sweep{}: a smaller --rank would fit as well{}",
        n, min, rank, sweeps, sweeps == 1 ? "" : "s",
        model.precision == Precision::f64 ? "" : ", and --precision f64 maybe better");
  }
}

std::string value_words(bool is_fit, double fit, double objective) {
  return is_fit ? fmt::format("{:.6f}", fit) : fmt::format("{:.6e}", objective);
}

Json start_json(const StartReport& report, bool is_fit, bool is_validated) {
  std::vector<std::string_view> names = {"start",   "seed",        "sweeps", is_fit ? "fit" : "objective",
                                         "is_best", "stop_reason", "seconds"};
  if (is_validated) names.insert(names.end(), {"validation_error", "held_out"});
  return as_json(report, names);
}

std::string start_words(const StartReport& report, bool is_fit) {
  std::string words =
      fmt::format("start {:>3}  seed {}  {}, {}  {} {}", report.start, report.seed,
                  format_count(report.sweeps, "sweep"), end_words[static_cast<std::size_t>(report.stop_reason)],
                  is_fit ? "fit" : "objective", value_words(is_fit, report.fit, report.objective));
  if (report.validation_error) words += fmt::format("  held-out error {:.6g}", *report.validation_error);
  if (report.is_best && report.start > 1) words += "  best so far";
  return words;
}

const StartReport& best_of(const StartsSummary& starts) {
  return starts.starts[static_cast<std::size_t>(starts.best_start - 1)];
}

Json matches_json(const StartsSummary& starts, const char* parts) {
  Json json = as_json(starts, {"reaching"});
  json["matches"] = list_json(starts.starts, [parts](const StartReport& start) {
    Json match = as_json(start, {"start", "reaches_best", "match"});
    match[parts] = part_matches(start);
    return match;
  });
  json.update(as_json(starts, {"lowest_match", "mean_match"}));
  return json;
}

std::vector<std::string> match_lines(const StartsSummary& starts, const char* parts, const char* score) {
  constexpr std::size_t most = 16;  // that a line has room for
  std::vector<std::string> lines;
  for (const StartReport& start : starts.starts) {
    if (!start.match) continue;
    const std::vector<double>& matches = part_matches(start);
    std::string words = fmt::format("match {:>3}  {:.4f} with the best, by its {}:", start.start, *start.match, parts);
    for (std::size_t r = 0; r < std::min(most, matches.size()); ++r) words += fmt::format(" {:.2f}", matches[r]);
    lines.push_back(words + (matches.size() > most ? " ..." : ""));
  }
  std::string words =
      fmt::format("starts  {} of {} starts reach{} the best fit; the best is start {}, seed {}", starts.reaching,
                  starts.starts.size(), starts.reaching == 1 ? "es" : "", starts.best_start, best_of(starts).seed);
  if (starts.lowest_match) {
    words += fmt::format("; {} with it: lowest {:.4f}, mean {:.4f}", score, *starts.lowest_match, *starts.mean_match);
  }
  lines.push_back(words);
  return lines;
}

void report_model(Reporter& reporter, const CpdModel& model, const CpdOptions& options,
                  const std::filesystem::path& output) {
  const std::optional<Cancellation> cancellation = find_cancellation(model);
  const bool is_fit = has_fit(options.method);
  Json json = {{"output", output.string()},
               {"method", model.method},
               {"loss", to_string(model.loss)},
               {"rank", model.rank},
               {"sweeps", model.sweeps()},
               {"stop_reason", to_string(model.stop_reason)},
               {"cancellation", cancellation_json(cancellation)}};
  json[is_fit ? "fit" : "objective"] = is_fit ? model.fit() : model.objective();
  if (model.explained) json["explained"] = *model.explained;
  if (model.found_ridge) json["ridge"] = *model.found_ridge;
  reporter.event("result", json);
  if (model.found_ridge.value_or(0) > 0) {
    reporter.print("ridge   {:.4g}, found by the fit; it draws rows to the mean row of their mode", *model.found_ridge);
  } else if (model.found_ridge) {
    reporter.print("ridge   none");
  }
  if (cancellation) reporter.print("note    {}", describe_cancellation(*cancellation, model));
  constexpr double next_to_nothing = 1e-6;  // of the tensor's norm
  if (options.ridge > 0 && std::abs(model.weights[0]) <= next_to_nothing * std::sqrt(model.tensor_sum_of_squares)) {
    reporter.print("note    the model is nearly zero; lower --ridge");
  }
  const bool is_apr = std::holds_alternative<AprMethod>(options.method);  // whose tolerance is of something else
  if (model.explained && *model.explained <= (is_apr ? 1e-5 : tolerance_of(options))) {
    constexpr double small = 1e-11;  // norms from which L-BFGS-B's first step is none
    reporter.print(
        "note    the model says no more than one number for all cells does; {}",
        std::sqrt(model.tensor_sum_of_squares) < small ? "scale the values up" : "give another --rank or --loss");
  }
  if (const double share = share_of_outsize_cells(model); share > 0) {
    reporter.print(
        "note    of random cells of the model, {:.3g}% exceed in size the norm of all values given, so unknown cells "
        "mean nothing; give a {}--ridge such as 0.1, or a smaller --rank",
        100 * share, options.ridge > 0 ? "larger " : "");
  } else if (is_loosely_determined(model, options)) {
    reporter.print(
        "note    the entries are few for so many components, so unknown cells may mean little; give held-out entries "
        "by --validate, or --ridge 0.1, or a smaller --rank");
  }
  reporter.print("stopped: {}", explain(model.stop_reason, model, options));
  std::string value =
      is_fit ? fmt::format("fit {:.6f}", model.fit()) : fmt::format("objective {:.6e}", model.objective());
  if (model.explained) {
    value += fmt::format(", explains {:.2f}% of the constant model's deviance", *model.explained * 100);
  }
  reporter.print("model   {} (rank {}, {})", output.string(), model.rank, value);
}

}  // namespace blco::cli
