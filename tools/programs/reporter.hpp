// A command's output: text, a live line on a terminal, or JSON, one object per line.
#pragma once

#include <blco/progress.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/programs/cli.hpp"

namespace blco::cli {

// Keys keep the order in which they are set. tools/programs/JSON.md documents every object.
using Json = nlohmann::ordered_json;

class Reporter {
 public:
  // Adds --quiet and --json to `line`, whose failures are then reported here too. Searches the arguments for --json,
  // because a wrong one may end the command before the options are read.
  Reporter(CommandLine& line, int argc, char** argv);

  // True if neither --quiet nor --json was given.
  bool is_text() const { return !quiet_ && !json_; }
  bool is_json() const { return json_; }

  // Prints a result line on stdout, if is_text().
  void print(const std::string& text);
  // Prints a status line on stderr, if is_text().
  void note(const std::string& text);
  // Prints a line on stderr, also with --quiet and --json.
  void warn(const std::string& text);
  // With --json, prints {"event": name, ...fields} on stdout. Always clears the live line.
  void event(const char* name, const Json& fields);

  // Names the part of the job that runs from here on: in words at the head of the live line, and by the `fields` of a
  // progress event.
  void set_part(const std::string& words, const Json& fields);

  // Returns a callback that shows progress in the chosen way and ends the job once it is interrupted. From here on a
  // signal is a request to stop, answered by "NAME: stopping" and `how`.
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
  std::string part_words_;
  Json part_fields_ = Json::object();
  std::string last_stage_;
  int last_sweep_ = 0;
  Clock::time_point next_event_ = Clock::now();
};

// The live line: stage, share, nonzeros and bytes per second, time left; unknown parts are omitted.
std::string format_progress(const Progress& progress);

}  // namespace blco::cli
