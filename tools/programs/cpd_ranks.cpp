// One rank: a line per start. Several: a table with a row per rank.
#include <fmt/format.h>

#include <algorithm>
#include <blco/core_consistency.hpp>
#include <blco/starts.hpp>
#include <chrono>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "tools/programs/cpd_program.hpp"

namespace blco::cli {
namespace {

constexpr std::string_view rank_mark = "{rank}";

std::vector<int> parse_ranks(const std::string& text) {
  std::vector<int> ranks;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, comma - at);
    if (word.empty()) refuse(fmt::format("'{}' is not a list of ranks, such as 4,8,16", text));
    const auto rank = static_cast<int>(parse_whole(word, 1, std::numeric_limits<int>::max()));
    if (std::ranges::count(ranks, rank) > 0) refuse(fmt::format("rank {} is given twice", rank));
    ranks.push_back(rank);
    at = comma + 1;
  }
  return ranks;
}

std::string or_dash(const std::optional<double>& number, const char* format) {
  return number ? fmt::format(fmt::runtime(format), *number) : "-";
}

// Without limit below.
std::string core_words(const std::optional<double>& core) {
  return or_dash(core, core > -1000.0 ? "{:.1f}" : "{:.2g}");
}

// By StopReason.
constexpr const char* end_words[] = {"converged", "the limit", "interrupted", "out of time", "unfinished"};
static_assert(static_cast<std::size_t>(StopReason::unfinished) + 1 == std::size(end_words));

class RankSearch {
 public:
  RankSearch(const CpdArguments& arguments, const Tensor& tensor, Reporter& reporter)
      : arguments_(arguments),
        options_(arguments.cpd),
        tensor_(tensor),
        reporter_(reporter),
        has_fit_(std::holds_alternative<AlsMethod>(options_.method)),
        has_core_(arguments.ranks.size() > 1 && has_core_consistency(options_.method)) {
    const auto* const completion = std::get_if<CompletionMethod>(&options_.method);
    is_validated_ = completion != nullptr && completion->validation != nullptr;
  }

  void run() {
    report_largest_plan();
    if (is_table()) print_head();
    Json ranks = Json::array();
    Json outputs = Json::array();
    for (const int rank : arguments_.ranks) {
      if (!ranks.empty() && seconds_left() <= 0) break;
      const std::optional<StartsReport> starts = fit(rank, ranks.empty());
      if (!starts) break;
      const std::filesystem::path output = output_of_rank(arguments_, rank);
      if (!output.empty()) save(starts->best, output, options_.claims);
      const std::optional<double> core = has_core_ ? measure_core(starts->best) : std::nullopt;
      reporter_.event("rank", as_json(*starts, core, output));
      if (is_table()) {
        print_row(*starts, core);
      } else {
        print_matches(*starts);
        report_model(reporter_, starts->best, options_, output);
        return;
      }
      ranks.push_back(rank);
      if (!output.empty()) outputs.push_back(output.string());
      if (is_interrupted()) break;
    }
    finish_table(ranks, outputs);
  }

 private:
  using Clock = std::chrono::steady_clock;

  bool is_table() const { return arguments_.ranks.size() > 1; }

  double seconds_left() const {
    if (options_.time_limit_seconds <= 0) return std::numeric_limits<double>::infinity();
    return options_.time_limit_seconds - std::chrono::duration<double>(Clock::now() - begin_).count();
  }

  CpdOptions options_of(int rank) const {
    CpdOptions options = options_;
    options.rank = rank;
    options.output = output_of_rank(arguments_, rank);
    // A limit of 0 would be none.
    if (options.time_limit_seconds > 0) options.time_limit_seconds = std::max(1e-9, seconds_left());
    return options;
  }

  // Finds out before the first fit whether the budget suffices for all, and what else the library refuses.
  void report_largest_plan() {
    if (arguments_.ranks.empty()) plan_starts(tensor_, arguments_.budget, options_, arguments_.starts);
    const int largest = arguments_.ranks.empty() ? 0 : std::ranges::max(arguments_.ranks);
    for (const int rank : arguments_.ranks) {
      const CpdPlan plan = plan_starts(tensor_, arguments_.budget, options_of(rank), arguments_.starts);
      if (rank == largest) report_plan(reporter_, plan);
    }
  }

  std::optional<StartsReport> fit(int rank, bool is_first) {
    CpdOptions options = options_of(rank);
    options.on_sweep = [](const SweepReport&) { return !is_interrupted(); };
    if (is_table()) {
      reporter_.note("fitting rank {}{}", rank,
                     arguments_.starts > 1 ? fmt::format(" from {} starts", arguments_.starts) : "");
    }
    begin(rank, 1);
    try {
      return fit_starts(tensor_, arguments_.budget, options, arguments_.starts, [&](const StartReport& report) {
        report_one(report, rank);
        if (report.start < arguments_.starts) begin(rank, report.start + 1);
      });
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::cancelled || is_first) throw;
      return std::nullopt;
    }
  }

  void begin(int rank, int start) {
    std::string words;
    if (is_table()) words = fmt::format("rank {}", rank);
    if (arguments_.starts > 1)
      words += fmt::format("{}start {} of {}", words.empty() ? "" : ", ", start, arguments_.starts);
    reporter_.set_part(words, {{"rank", rank}, {"start", start}});
  }

  std::string value_words(double fit, double objective) const {
    return has_fit_ ? fmt::format("{:.6f}", fit) : fmt::format("{:.6e}", objective);
  }

  void report_one(const StartReport& report, int rank) {
    Json json = {{"rank", rank}, {"start", report.start}, {"seed", report.seed}, {"sweeps", report.sweeps}};
    json[has_fit_ ? "fit" : "objective"] = has_fit_ ? report.fit : report.objective;
    if (is_validated_) json["validation_error"] = or_null(report.validation_error);
    json["match"] = or_null(report.match);
    json["is_best"] = report.is_best;
    json["stop_reason"] = to_string(report.stop_reason);
    json["seconds"] = report.seconds;
    reporter_.event("start", json);
    std::string words =
        fmt::format("start {:>3}  seed {}  {}, {}  {} {}", report.start, report.seed,
                    format_count(report.sweeps, "sweep"), end_words[static_cast<std::size_t>(report.stop_reason)],
                    has_fit_ ? "fit" : "objective", value_words(report.fit, report.objective));
    if (report.validation_error) words += fmt::format("  held-out error {:.6g}", *report.validation_error);
    if (report.match) words += fmt::format("  match {:.4f}", *report.match);
    if (report.is_best && report.start > 1) words += "  best so far";
    if (!is_table()) {
      reporter_.print(words);
    } else {
      reporter_.note("rank {}, {}", rank, words);
    }
  }

  void print_matches(const StartsReport& starts) {
    std::string words = fmt::format("starts  the best is start {}, seed {}", starts.best_start, starts.best.seed);
    if (starts.lowest_match) {
      words += fmt::format("; factor match score of each with the best before it: lowest {:.4f}, mean {:.4f}",
                           *starts.lowest_match, *starts.mean_match);
    }
    reporter_.print(words);
  }

  std::optional<double> measure_core(const CpdModel& model) {
    if (core_columns(model.shape.size(), model.rank) > max_core_columns) {
      notes_.push_back(
          fmt::format("the core consistency of rank {} is left out: the core has more than {} columns, or the "
                      "rank is above {}",
                      model.rank, format_count(max_core_columns), max_core_rank));
      return std::nullopt;
    }
    reporter_.set_part(fmt::format("rank {}", model.rank), {{"rank", model.rank}, {"start", nullptr}});
    try {
      return core_consistency(tensor_, model, arguments_.budget, options_of(model.rank));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::out_of_memory && error.kind() != ErrorKind::cancelled) throw;
      const bool stopped = error.kind() == ErrorKind::cancelled;
      notes_.push_back(fmt::format("the core consistency of rank {} is left out: {}", model.rank,
                                   stopped ? "the job was stopped" : "it requires more memory; raise --memory"));
      return std::nullopt;
    }
  }

  static const StartReport& best_of(const StartsReport& starts) {
    return starts.starts[static_cast<std::size_t>(starts.best_start - 1)];
  }

  Json as_json(const StartsReport& starts, const std::optional<double>& core,
               const std::filesystem::path& output) const {
    const StartReport& best = best_of(starts);
    Json json = {
        {"rank", starts.best.rank}, {"starts", starts.starts.size()}, {"seed", best.seed}, {"sweeps", best.sweeps}};
    json[has_fit_ ? "fit" : "objective"] = has_fit_ ? best.fit : best.objective;
    if (is_validated_) json["validation_error"] = or_null(best.validation_error);
    json["lowest_match"] = or_null(starts.lowest_match);
    json["mean_match"] = or_null(starts.mean_match);
    json["core_consistency"] = or_null(core);
    json["stop_reason"] = to_string(best.stop_reason);
    json["output"] = output.empty() ? Json(nullptr) : Json(output.string());
    return json;
  }

  void print_head() {
    std::string words = fmt::format("{:>6}  {:>14}", "rank", has_fit_ ? "fit" : "objective");
    if (is_validated_) words += fmt::format("  {:>14}", "held-out error");
    if (arguments_.starts > 1) words += fmt::format("  {:>10}  {:>12}", "mean match", "lowest match");
    if (has_core_) words += fmt::format("  {:>16}", "core consistency");
    reporter_.print(words + fmt::format("  {:>6}", "sweeps"));
  }

  void print_row(const StartsReport& starts, const std::optional<double>& core) {
    const StartReport& best = best_of(starts);
    std::string words = fmt::format("{:>6}  {:>14}", starts.best.rank, value_words(best.fit, best.objective));
    if (is_validated_) words += fmt::format("  {:>14}", or_dash(best.validation_error, "{:.6g}"));
    if (arguments_.starts > 1) {
      words +=
          fmt::format("  {:>10}  {:>12}", or_dash(starts.mean_match, "{:.4f}"), or_dash(starts.lowest_match, "{:.4f}"));
    }
    if (has_core_) words += fmt::format("  {:>16}", core_words(core));
    reporter_.print(words + fmt::format("  {:>6}", best.sweeps));
  }

  void finish_table(const Json& ranks, const Json& outputs) {
    reporter_.event("result", {{"ranks", ranks}, {"outputs", outputs}});
    for (const std::string& note : notes_) reporter_.print("note    " + note);
    if (ranks.size() < arguments_.ranks.size()) {
      reporter_.print("stopped: {} of {} ranks were fitted", ranks.size(), arguments_.ranks.size());
    }
    for (const Json& output : outputs) reporter_.print("model   {}", output.get<std::string>());
  }

  const CpdArguments& arguments_;
  const CpdOptions& options_;
  const Tensor& tensor_;
  Reporter& reporter_;
  bool has_fit_;
  bool has_core_;
  bool is_validated_ = false;
  std::vector<std::string> notes_;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace

void add_rank_options(CommandLine& line, CpdArguments& arguments) {
  line.add("--rank",
           [&](const std::string& word) {
             arguments.ranks = parse_ranks(word);
             arguments.cpd.rank = arguments.ranks.front();
           },
           {"R[,R...]",
            "Number of components, 1 to 4096; required unless --init or --resume is given. Several are fitted one "
            "after the other and compared in a table. Its core consistency is 100 where each component stands for "
            "itself, and far less, also below 0, where there are more components than the tensor has"});
  line.add_whole("--starts", arguments.starts, 1,
                 {"K",
                  "Fit K times, from the seeds N, N + 1, ... of --seed, and keep the best model; the factor match "
                  "scores between the models, 1 for the same components, say whether the answer is stable"});
}

void check_ranks(const CommandLine& line, const CpdArguments& arguments,
                 std::span<const std::filesystem::path> inputs) {
  if (arguments.ranks.size() < 2) return;
  for (const char* option : {"--init", "--resume", "--checkpoint", "--trace", "--dry-run"}) {
    if (line.has(option)) refuse(fmt::format("{} is about one fit, but --rank names several; give one rank", option));
  }
  if (arguments.output.empty()) return;
  if (arguments.output.string().find(rank_mark) == std::string::npos) {
    refuse(
        "-o: with several ranks the name must contain {rank}, such as model-{rank}.h5; without -o the models are not "
        "kept");
  }
  for (const int rank : arguments.ranks) check_output(output_of_rank(arguments, rank), inputs);
}

std::filesystem::path output_of_rank(const CpdArguments& arguments, int rank) {
  if (arguments.ranks.size() < 2) return arguments.output;
  std::string name = arguments.output.string();
  if (const std::size_t at = name.find(rank_mark); at != std::string::npos) {
    name.replace(at, rank_mark.size(), std::to_string(rank));
  }
  return name;
}

void fit_ranks(const CpdArguments& arguments, const Tensor& tensor, Reporter& reporter) {
  RankSearch(arguments, tensor, reporter).run();
}

}  // namespace blco::cli
