// A command's output: text, a live line on a terminal, or JSON, one object per line; and the wish to end it.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <blco/fields.hpp>
#include <blco/ingest.hpp>
#include <blco/model_summary.hpp>
#include <blco/progress.hpp>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tools/programs/cli.hpp"

namespace blco::cli {

// Keys keep the order in which they are set. tools/programs/JSON.md documents every object.
using Json = nlohmann::ordered_json;

// A value, or an object of all fields of a report. What is not known is null.
template <class Value>
Json as_json(const Value& value);
template <class Value>
Json as_json(const std::optional<Value>& value) {
  return value ? as_json(*value) : Json();
}
template <class Value>
Json as_json(const std::vector<Value>& values) {
  Json list = Json::array();
  for (const Value& value : values) list.push_back(as_json(value));
  return list;
}
template <class Value>
Json as_json(const Value& value) {
  if constexpr (HasFields<Value>) {
    Json json;
    for_each_field(value, [&](std::string name, const auto& part) {
      std::ranges::replace(name, '.', '/');
      json[Json::json_pointer('/' + name)] = as_json(part);
    });
    return json;
  } else if constexpr (std::is_enum_v<Value>) {
    return to_string(value);
  } else {
    return value;
  }
}

// Of a report these fields alone.
template <HasFields Report>
Json as_json(const Report& report, const std::vector<std::string_view>& names) {
  Json json;
  for_each_field(report, [&](const char* name, const auto& value) {
    if (std::ranges::find(names, name) != names.end()) json[name] = as_json(value);
  });
  return json;
}

// A list of objects, one per item.
template <class Items, class ItemJson>
Json list_json(const Items& items, ItemJson item_json) {
  Json list = Json::array();
  for (const auto& item : items) list.push_back(item_json(item));
  return list;
}

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
  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    print(fmt::format(format, std::forward<Args>(args)...));
  }
  // Prints a status line on stderr, if is_text().
  void note(const std::string& text);
  template <class... Args>
  void note(fmt::format_string<Args...> format, Args&&... args) {
    note(fmt::format(format, std::forward<Args>(args)...));
  }
  // Returns what prints each status line once, by whatever thread.
  std::function<void(const std::string&)> notes_of_threads() const;
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

// Whether a signal (SIGINT, SIGTERM, SIGHUP, SIGUSR1) has asked the job to end. Since Reporter::progress was called,
// the first such signal is recorded and answered, and the second ends the process at once; a signal that was ignored at
// the start of the process stays ignored.
bool is_interrupted();

// One sentence about components of `model` that cancel each other, with what to do about it.
std::string describe_cancellation(const Cancellation& found, const CpdModel& model);
// Null if there is none.
Json cancellation_json(const std::optional<Cancellation>& found);

// The rows of a table that were left out, by column.
Json skipped_json(const std::vector<SkippedRowCount>& skipped);

}  // namespace blco::cli
