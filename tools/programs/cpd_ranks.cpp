// One rank: a line per start. Several: a table with a row per rank.
#include <fmt/format.h>

#include <algorithm>
#include <blco/rank_choice.hpp>
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

// "best.h5" gives "best-start-2.h5".
std::filesystem::path output_of_start(const CpdArguments& arguments, int rank, int start) {
  const std::filesystem::path output = output_of_rank(arguments, rank);
  const std::string name = fmt::format("{}-start-{}{}", output.stem().string(), start, output.extension().string());
  return output.parent_path() / name;
}

std::string or_dash(const std::optional<double>& number, const char* format) {
  return number ? fmt::format(fmt::runtime(format), *number) : "-";
}

// Without limit below.
std::string core_words(const std::optional<double>& core) {
  return or_dash(core, core > -1000.0 ? "{:.1f}" : "{:.2g}");
}

// Tells what happens to the ranks.
class RankLog {
 public:
  RankLog(const CpdArguments& arguments, Reporter& reporter)
      : arguments_(arguments),
        reporter_(reporter),
        has_fit_(has_fit(arguments.cpd.method)),
        has_core_(is_table() && has_core_consistency(arguments.cpd.method)) {
    const auto* const completion = std::get_if<CompletionMethod>(&arguments.cpd.method);
    is_validated_ = completion != nullptr && completion->validation != nullptr;
  }

  void run(const Tensor& tensor) {
    CpdOptions options = arguments_.cpd;
    options.on_plan = [this, &tensor](const CpdPlan& plan) {
      report_plan(reporter_, plan, tensor.summary());
      if (is_table()) print_head();
    };
    options.on_sweep = [](const SweepReport&) { return !is_interrupted(); };
    RankSearch search{.starts = arguments_.starts, .measures_core = is_table()};
    search.output = [this](int rank) { return output_of_rank(arguments_, rank); };
    search.on_begin = [this](int rank, int start) { begin(rank, start); };
    search.on_start = [this](const StartReport& report, const CpdModel& model) {
      if (arguments_.keep_starts) save(model, output_of_start(arguments_, model.rank, report.start));
      report_one(report, model.rank);
    };
    search.on_rank = [this](const RankReport& report) {
      report_rank(report);
      return !is_interrupted();
    };
    // Where --rank is absent, --init or --resume is given: the library refuses these with several starts.
    const std::vector<int> ranks = arguments_.ranks.empty() ? std::vector{options.rank} : arguments_.ranks;
    const std::optional<int> choice = blco::fit_ranks(tensor, options, ranks, search);
    if (is_table()) finish_table(choice);
  }

 private:
  bool is_table() const { return arguments_.ranks.size() > 1; }

  void begin(int rank, int start) {
    std::string words;
    if (is_table()) words = fmt::format("rank {}", rank);
    if (start == 0) return reporter_.set_part(words, {{"rank", rank}, {"start", nullptr}});
    if (is_table() && start == 1) {
      reporter_.note("fitting rank {}{}", rank,
                     arguments_.starts > 1 ? fmt::format(" from {} starts", arguments_.starts) : "");
    }
    if (arguments_.starts > 1)
      words += fmt::format("{}start {} of {}", words.empty() ? "" : ", ", start, arguments_.starts);
    reporter_.set_part(words, {{"rank", rank}, {"start", start}});
  }

  void report_rank(const RankReport& report) {
    const StartsReport& starts = report.starts;
    const std::filesystem::path output = output_of_rank(arguments_, starts.best.rank);
    note_gap(starts.best.rank, report.core_gap);
    reporter_.event("rank", rank_json(starts, report.core_consistency, output));
    if (arguments_.starts > 1) {
      for (const std::string& words : match_lines(starts, "components", "factor match score"))
        tell(starts.best.rank, words);
    }
    if (is_table()) {
      print_row(starts, report.core_consistency);
    } else {
      if (least_held_out_) report_held_out(reporter_, *least_held_out_, arguments_.cpd);
      report_model(reporter_, starts.best, arguments_.cpd, output);
    }
    ranks_.push_back(starts.best.rank);
    if (!output.empty()) outputs_.push_back(output.string());
  }

  // Told below the table.
  void note_gap(int rank, CoreGap gap) {
    std::string reason;
    if (gap == CoreGap::size) {
      reason = fmt::format("the core has more than {} columns, or the rank is above {}", format_count(max_core_columns),
                           max_core_rank);
    }
    if (gap == CoreGap::memory) reason = "it requires more memory; raise --memory";
    if (gap == CoreGap::stopped) reason = "the job was stopped";
    if (!reason.empty()) notes_.push_back(fmt::format("the core consistency of rank {} is left out: {}", rank, reason));
  }

  void report_one(const StartReport& report, int rank) {
    const auto& found = report.held_out;
    if (found && (!least_held_out_ || found->model_error < least_held_out_->model_error)) least_held_out_ = found;
    Json json = {{"rank", rank}};
    json.update(start_json(report, has_fit_, is_validated_));
    std::string words = start_words(report, has_fit_);
    if (arguments_.keep_starts) {
      const std::string output = output_of_start(arguments_, rank, report.start).string();
      json["output"] = output;
      words += "  " + output;
    }
    reporter_.event("start", json);
    tell(rank, words);
  }

  // In a table, rows alone are results.
  void tell(int rank, const std::string& words) {
    is_table() ? reporter_.note("rank {}, {}", rank, words) : reporter_.print(words);
  }

  Json rank_json(const StartsReport& starts, const std::optional<double>& core,
                 const std::filesystem::path& output) const {
    Json json = {{"rank", starts.best.rank}, {"starts", starts.starts.size()}};
    std::vector<std::string_view> names = {"seed", "sweeps", has_fit_ ? "fit" : "objective"};
    if (is_validated_) names.insert(names.end(), {"validation_error", "held_out"});
    json.update(as_json(best_of(starts), names));
    json.update(matches_json(starts, "components"));
    json["core_consistency"] = as_json(core);
    json["stop_reason"] = to_string(best_of(starts).stop_reason);
    json["output"] = output.empty() ? Json(nullptr) : Json(output.string());
    return json;
  }

  void print_head() {
    std::string words = fmt::format("{:>6}  {:>14}", "rank", has_fit_ ? "fit" : "objective");
    if (is_validated_) words += fmt::format("  {:>14}", "held-out error");
    if (arguments_.starts > 1) words += fmt::format("  {:>10}  {:>12}", "mean match", "lowest match");
    if (has_core_) words += fmt::format("  {:>16}", "core consistency");
    words += fmt::format("  {:>6}", "sweeps");
    reporter_.print(words + (arguments_.starts > 1 ? fmt::format("  {:>14}", "reach the best") : ""));
  }

  void print_row(const StartsReport& starts, const std::optional<double>& core) {
    const StartReport& best = best_of(starts);
    std::string words = fmt::format("{:>6}  {:>14}", starts.best.rank, value_words(has_fit_, best.fit, best.objective));
    if (is_validated_) words += fmt::format("  {:>14}", or_dash(best.validation_error, "{:.6g}"));
    if (arguments_.starts > 1) {
      words +=
          fmt::format("  {:>10}  {:>12}", or_dash(starts.mean_match, "{:.4f}"), or_dash(starts.lowest_match, "{:.4f}"));
    }
    if (has_core_) words += fmt::format("  {:>16}", core_words(core));
    words += fmt::format("  {:>6}", best.sweeps);
    if (arguments_.starts > 1) words += fmt::format("  {:>7} of {:>3}", starts.reaching, starts.starts.size());
    reporter_.print(words);
  }

  void finish_table(const std::optional<int>& choice) {
    reporter_.event("result", {{"ranks", ranks_}, {"outputs", outputs_}, {"choice", as_json(choice)}});
    if (least_held_out_) report_held_out(reporter_, *least_held_out_, arguments_.cpd);
    for (const std::string& note : notes_) reporter_.print("note    " + note);
    if (choice) {
      reporter_.print("choice  rank {}, by fit and core consistency{}; look whether its components make sense", *choice,
                      arguments_.starts > 1 ? ", and how well the starts agree" : "");
    }
    if (ranks_.size() < arguments_.ranks.size()) {
      reporter_.print("stopped: {} of {} ranks were fitted", ranks_.size(), arguments_.ranks.size());
    }
    for (const std::string& output : outputs_) reporter_.print("model   {}", output);
  }

  const CpdArguments& arguments_;
  Reporter& reporter_;
  bool has_fit_;
  bool has_core_;
  bool is_validated_ = false;
  std::optional<HeldOutReport> least_held_out_;  // of all fits
  std::vector<int> ranks_;
  std::vector<std::string> outputs_;
  std::vector<std::string> notes_;
};

}  // namespace

void add_rank_options(CommandLine& line, CpdArguments& arguments) {
  line.add("--rank",
           [&](const std::string& word) {
             arguments.ranks = parse_ranks(word);
             arguments.cpd.rank = arguments.ranks.front();
             arguments.given.push_back({"rank", static_cast<std::uint64_t>(arguments.cpd.rank)});
           },
           {"R[,R...]",
            "Number of components, 1 to 4096; required unless --init or --resume is given. Several are fitted one "
            "after the other and compared in a table. Its core consistency is 100 where each component stands for "
            "itself, and far less, also below 0, where there are more components than the tensor has"});
  line.add_whole("--starts", arguments.starts, 1,
                 {"K",
                  "Fit K times, from the seeds N, N + 1, ... of --seed, and keep the best model; the factor match "
                  "scores with the best, 1 for the same components, say whether the answer is stable"});
  line.add_flag("--keep-starts", arguments.keep_starts,
                "With --starts: save the model of every start too, beside that of -o, as NAME-start-1.h5 and so on");
  line.needs("--keep-starts", "--starts");
}

void check_ranks(const CommandLine& line, const CpdArguments& arguments,
                 std::span<const std::filesystem::path> inputs) {
  if (arguments.keep_starts && arguments.output.empty()) refuse("--keep-starts requires -o");
  for (int start = 1; start <= (arguments.keep_starts ? arguments.starts : 0); ++start) {
    for (const int rank : arguments.ranks) check_output(output_of_start(arguments, rank, start), inputs);
  }
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
  RankLog(arguments, reporter).run(tensor);
}

}  // namespace blco::cli
