// How a command tells of its work: text, a live line on a terminal, or JSON, one object a line.
#pragma once

#include <blco/progress.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/programs/cli.hpp"

namespace blco::cli {

// Keys stay in the order in which they are set. tools/programs/JSON.md documents every object.
using Json = nlohmann::ordered_json;

class Reporter {
 public:
  // Adds --quiet and --json to `line`, which reports a failure through this too. The arguments are looked through for
  // --json, since a wrong one may end the command before the options are read.
  Reporter(CommandLine& line, int argc, char** argv);

  // Neither --quiet nor --json was given.
  bool is_text() const { return !quiet_ && !json_; }
  bool is_json() const { return json_; }

  // A line of results, on standard output, where is_text().
  void print(const std::string& text);
  // A line of what the command is doing, on standard error, where is_text().
  void note(const std::string& text);
  // With --json: {"event": name, ...fields} on standard output. In any case the live line is gone.
  void event(const char* name, const Json& fields);

  // Shows progress in the way that was asked for, and ends the job once it is interrupted: from here on a signal is
  // taken for a wish, and answered by "NAME: stopping" and `how`.
  ProgressCallback progress(const std::string& how = "; interrupt again to stop at once");

 private:
  using Clock = std::chrono::steady_clock;

  void show(const Progress& progress);
  void show_event(const Progress& progress);
  void clear_line();

  std::string name_;
  std::string interrupt_note_;
  bool quiet_ = false;
  bool json_ = false;
  bool terminal_ = false;
  bool line_shown_ = false;
  std::string last_stage_;
  int last_sweep_ = 0;
  Clock::time_point next_event_ = Clock::now();
};

// The live line: stage, share, nonzeros and bytes a second, time left; what is not known is left out.
std::string format_progress(const Progress& progress);

}  // namespace blco::cli
