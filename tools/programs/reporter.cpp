// Prints text, the live line and JSON, and catches signals.
#include "tools/programs/reporter.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>

namespace blco::cli {
namespace {

// Often enough for a program that follows a job by JSON.
constexpr std::chrono::seconds between_events{1};

// At the very beginning, rates and remaining times mean nothing.
constexpr double min_seconds = 0.5;

std::string format_duration(double seconds) {
  const auto whole = static_cast<long>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02} min", whole / 60, whole % 60);
  return fmt::format("{}:{:02} h", whole / 3600, whole / 60 % 60);
}

// Negative if unknown.
double seconds_left(const Progress& progress) {
  if (progress.share <= 0 || progress.seconds < min_seconds) return -1;
  return progress.seconds * (1 - progress.share) / progress.share;
}

double per_second(std::uint64_t count, const Progress& progress) {
  return progress.seconds > 0 ? static_cast<double>(count) / progress.seconds : 0;
}

// Null if negative.
Json known(double value) { return value < 0 ? Json() : Json(value); }

// The live line: stage, share, nonzeros and bytes per second, time left; unknown parts are omitted.
std::string format_progress(const Progress& progress) {
  std::string text = progress.stage;
  if (progress.sweep > 0) text += fmt::format(" {}", progress.sweep);
  if (progress.share >= 0) text += fmt::format("  {:.0f}%", 100 * progress.share);
  if (progress.seconds >= min_seconds) {
    if (progress.nonzeros > 0)
      text += fmt::format("  {:.1f}M nonzeros/s", per_second(progress.nonzeros, progress) / 1e6);
    if (progress.bytes > 0) {
      text += "  " + format_bytes(static_cast<std::uint64_t>(per_second(progress.bytes, progress))) + "/s";
    }
  }
  const double left = seconds_left(progress);
  if (left >= 0) text += "  " + format_duration(left) + " left";
  return text;
}

// Whether standard error is a terminal that clears a line when told to.
bool is_terminal() {
  const char* const kind = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

// A line that reaches the last column would move on to the next line.
std::size_t max_line_width() {
  constexpr std::size_t usual = 80;
  struct winsize window {};
  const bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0;
  return (is_known ? window.ws_col : usual) - 1;
}

// CommandLine::run tells at the end whether a write failed; the job goes on.
void put_line(const std::string& text) {
  static_cast<void>(std::fputs((text + '\n').c_str(), stdout));
  static_cast<void>(std::fflush(stdout));
}

// Launchers of clusters send SIGUSR1 some time before the limit of a job.
constexpr std::array caught_signals{SIGINT, SIGTERM, SIGHUP, SIGUSR1};

// The handler may run on any thread.
std::atomic<bool> interrupted = false;
std::atomic<const char*> interrupt_note = "";
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<const char*>::is_always_lock_free);

void remember(int) {
  const int errno_before = errno;
  interrupted = true;
  const char* const note = interrupt_note;
  static_cast<void>(!write(STDERR_FILENO, note, std::strlen(note)));
  for (const int caught : caught_signals) std::signal(caught, SIG_DFL);
  errno = errno_before;
}

// From here on the first signal prints `note`, a string that must stay valid, on stderr.
void catch_interrupts(const char* note) {
  interrupt_note = note;
  for (const int caught : caught_signals) {
    struct sigaction action {};
    sigaction(caught, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;  // as under nohup
    action = {};
    action.sa_handler = remember;
    action.sa_flags = SA_RESTART;
    sigaction(caught, &action, nullptr);
  }
}

}  // namespace

bool is_interrupted() { return interrupted; }

std::string describe_cancellation(const Cancellation& found, const CpdModel& model) {
  return fmt::format(
      "components cancel each other, most of all {} and {} (congruence {:.3f}): the largest has {:.3g} times the norm "
      "of the tensor, so a component by itself means little; fit again with a smaller rank{}",
      found.first, found.second, found.congruence, found.excess,
      model.method == "als" ? ", or with a ridge (--ridge)" : "");
}

Json cancellation_json(const std::optional<Cancellation>& found) {
  if (!found) return nullptr;
  return {{"components", {found->first, found->second}}, {"congruence", found->congruence}, {"excess", found->excess}};
}

Json skipped_json(const std::vector<SkippedRowCount>& skipped) {
  return list_json(skipped, [](const SkippedRowCount& rows) {
    return Json{{"column", rows.column}, {"rows", rows.rows}};
  });
}

Reporter::Reporter(CommandLine& line, int argc, char** argv)
    : name_(line.name()),
      json_(std::find(argv, argv + argc, std::string_view("--json")) != argv + argc),
      terminal_(is_terminal()) {
  line.add_flag("--quiet", quiet_, "Print errors only, and with --json its objects");
  line.add_flag("--json", json_,
                "Print plan, progress, results and errors as JSON, one object per line (see tools/programs/JSON.md)");
  line.on_failure([this](const std::string& kind, const std::string& message, int code) {
    clear_line();
    event("error", {{"kind", kind}, {"message", message}, {"exit_code", code}});
  });
}

void Reporter::print(const std::string& text) {
  clear_line();
  if (!is_text()) return;
  put_line(printable(text));
}

void Reporter::note(const std::string& text) {
  clear_line();
  if (is_text()) log_info(name_, text);
}

// The live line is the main thread's.
std::function<void(const std::string&)> Reporter::notes_of_threads() const {
  struct Told {
    std::mutex mutex;
    std::set<std::string> lines;
  };
  return [this, told = std::make_shared<Told>()](const std::string& text) {
    const std::lock_guard lock(told->mutex);
    if (told->lines.insert(text).second && is_text()) log_info(name_, text);
  };
}

void Reporter::warn(const std::string& text) {
  clear_line();
  log_info(name_, text);
}

void Reporter::event(const char* name, const Json& fields) {
  clear_line();
  if (!json_) return;
  Json object = {{"event", name}};
  object.update(fields);
  // Names of files and modes may not be valid UTF-8.
  put_line(object.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void Reporter::set_part(const std::string& words, const Json& fields) {
  part_words_ = words.empty() ? words : words + "  ";
  part_fields_ = fields;
  last_stage_.clear();  // the next event begins it
}

ProgressCallback Reporter::progress(const std::string& how) {
  // A live line has no line end, so the note starts with one.
  interrupt_note_ = (terminal_ ? "\n" : "") + name_ + ": stopping" + how + "\n";
  catch_interrupts(is_text() ? interrupt_note_.c_str() : "");
  return [this](const Progress& progress) {
    if (json_) {
      show_event(progress);
    } else if (terminal_ && is_text()) {
      show(progress);
    }
    return !is_interrupted();
  };
}

void Reporter::show(const Progress& progress) {
  std::string line = part_words_ + format_progress(progress);
  line.resize(std::min(line.size(), max_line_width()));
  // One write; the escape code clears the rest of the line.
  static_cast<void>(std::fputs(fmt::format("\r{}\x1b[K", line).c_str(), stderr));
  line_shown_ = true;
}

void Reporter::show_event(const Progress& progress) {
  const bool fresh = progress.stage != last_stage_ || progress.sweep != last_sweep_;
  if (!fresh && Clock::now() < next_event_) return;
  next_event_ = Clock::now() + between_events;
  last_stage_ = progress.stage;
  last_sweep_ = progress.sweep;
  Json fields = part_fields_;
  fields.update({{"stage", progress.stage},
                 {"sweep", progress.sweep > 0 ? Json(progress.sweep) : Json()},
                 {"share", known(progress.share)},
                 {"nonzeros", progress.nonzeros},
                 {"bytes", progress.bytes},
                 {"seconds", progress.seconds},
                 {"seconds_left", known(seconds_left(progress))}});
  event("progress", fields);
}

void Reporter::clear_line() {
  if (!line_shown_) return;
  static_cast<void>(std::fputs("\r\x1b[K", stderr));
  line_shown_ = false;
}

}  // namespace blco::cli
