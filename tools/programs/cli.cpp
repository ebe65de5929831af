// Command lines: options, help, and the mapping of errors to exit codes.
#include "tools/programs/cli.hpp"

#include <fmt/format.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <blco/version.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <system_error>

#include "tools/programs/launcher.hpp"

namespace blco::cli {
namespace {

constexpr std::size_t most_columns = 100;   // of a line that is easy to read
constexpr std::size_t fewest_columns = 60;  // below, a terminal breaks lines itself

// Of the help's lines: those of the terminal, if that is what it goes to.
std::size_t help_columns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return most_columns;
  return std::clamp<std::size_t>(size.ws_col, fewest_columns, most_columns);
}

// Breaks the lines of the text between words, so that none is longer than `columns`. New lines begin with `indent`
// spaces; the first one stands behind as many already.
std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent = 0) {
  std::string lines;
  std::size_t at = indent;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    const bool is_first = lines.empty() || lines.back() == '\n' || lines.back() == ' ';
    if (!is_first && at + 1 + end > columns) {
      lines += '\n' + std::string(indent, ' ');
      at = indent;
    } else if (!is_first) {
      lines += ' ';
      ++at;
    }
    lines += text.substr(0, end);
    at += end;
    if (end < text.size() && text[end] == '\n') {
      lines += '\n' + std::string(indent, ' ');
      at = indent;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Help with lines of the terminal's width, defaults after the descriptions, and a one-line usage that names the
// required arguments.
class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override {
    return wrapped(app->get_description(), columns_) + "\n\n";
  }

  // One empty line before each title.
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    std::string text = Formatter::make_help(app, std::move(name), mode);
    for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;) text.erase(at, 1);
    return text;
  }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    std::string text = "  " + make_option_name(option, is_positional) + make_option_opts(option);
    const std::size_t column = get_column_width();
    text += text.size() + 2 > column ? '\n' + std::string(column, ' ') : std::string(column - text.size(), ' ');
    return text + wrapped(make_option_desc(option), columns_, column) + "\n";
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string type = option->get_type_size() == 0 ? "" : option->get_type_name();
    return type.empty() ? "" : " " + type;
  }

  std::string make_option_desc(const CLI::Option* option) const override {
    const std::string text = option->get_description();
    if (option->get_required() && !option->get_positional()) return text + " (required)";
    return option->get_default_str().empty() ? text : text + " (default: " + option->get_default_str() + ")";
  }

  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = "Usage: " + name;
    for (const CLI::Option* option : app->get_options()) {
      if (!option->get_positional()) continue;
      const std::string argument = option->get_name(true) + (option->get_expected_max() > 1 ? "..." : "");
      usage += option->get_required() ? " " + argument : " [" + argument + "]";
    }
    for (const CLI::Option* option : app->get_options()) {
      if (option->get_required() && !option->get_positional()) {
        const std::string flag = option->get_snames().empty() ? option->get_name() : "-" + option->get_snames().front();
        usage += " " + flag + " " + option->get_type_name();
      }
    }
    return usage + " [OPTIONS]\n";
  }

 private:
  std::size_t columns_ = help_columns();
};

// By ErrorKind: the word in JSON, and the exit code.
constexpr std::array<std::pair<const char*, int>, 7> kinds{{{"invalid_argument", exit_usage},
                                                            {"io", exit_io},
                                                            {"corrupt", exit_corrupt},
                                                            {"out_of_memory", exit_out_of_memory},
                                                            {"cuda", exit_cuda},
                                                            {"not_built", exit_not_built},
                                                            {"cancelled", exit_cancelled}}};
static_assert(static_cast<std::size_t>(ErrorKind::cancelled) + 1 == kinds.size());

struct Failure {
  std::string kind;
  std::string message;
  int code = exit_unexpected;
};

// For an option without its value, or one that is given twice.
std::string describe_mismatch(const std::string& what) {
  const std::size_t colon = what.find(": ");
  if (colon == std::string::npos) return what;
  const bool is_repeated = what.find("At Most", colon) != std::string::npos;
  return what.substr(0, colon) + (is_repeated ? " is given more than once" : " requires a value");
}

std::string describe_extras(const std::string& what) {
  const char* const plural = what.starts_with("The following arguments") ? "s" : "";
  return fmt::format("unknown argument{}: {}", plural, what.substr(what.find(": ") + 2));
}

std::string with_flags_of(const CLI::App& app, const std::string& message) {
  return name_flags(message, [&](const std::string& flag) { return app.get_option_no_throw(flag) != nullptr; });
}

// Describes the exception being handled.
Failure describe_failure(const CLI::App& app) {
  const auto usage = [&](const std::string& message) {
    return Failure{"usage", fmt::format("{}\nSee {} --help.", message, app.get_name()), exit_usage};
  };
  try {
    throw;
  } catch (const CLI::ArgumentMismatch& error) {
    return usage(describe_mismatch(error.what()));
  } catch (const CLI::ExtrasError& error) {
    return usage(describe_extras(error.what()));
  } catch (const CLI::ParseError& error) {
    return usage(error.what());
  } catch (const Error& error) {
    const auto& [word, code] = kinds[static_cast<std::size_t>(error.kind())];
    return {word, with_flags_of(app, error.what()), code};
  } catch (const std::bad_alloc&) {
    const bool has_budget = app.get_option_no_throw("--memory") != nullptr;
    return {"out_of_memory",
            fmt::format("the system has no more memory; {}",
                        has_budget ? "give a smaller --memory" : "free some, or use a machine that has more"),
            exit_out_of_memory};
  } catch (const std::system_error& error) {
    return {"io", error.what(), exit_io};
  } catch (const std::exception& error) {
    return {"unexpected", fmt::format("unexpected: {}", error.what()), exit_unexpected};
  } catch (...) {
    return {"unexpected", "unexpected failure", exit_unexpected};
  }
}

[[noreturn]] void refuse_launcher(const std::string& program, const Launcher& launcher) {
  refuse(
      fmt::format("a launcher has started {} processes, but {} does not share its work: each would do all of it; "
                  "start it without the launcher, or, from a job of several processes, once and without the "
                  "variable {}",
                  launcher.size, program, launcher.size_name));
}

// At exit, HDF5 1.10 complains on stderr about files that it could not decode; our error message is already printed.
// Registered after HDF5's own handler, this one runs before it.
void keep_hdf5_quiet_at_exit() {
  std::atexit([] { static_cast<void>(std::freopen("/dev/null", "w", stderr)); });
}

// Memory that a thread frees returns to the system or serves the next thread, so that a budget holds with any number of
// threads: malloc otherwise keeps what lies in up to eight arenas per processor, and below a threshold that it raises
// itself.
void keep_freed_memory_low() {
#ifdef __GLIBC__
  constexpr int arenas = 1;
  constexpr int map_from_bytes = 256 << 10;
  constexpr int trim_from_bytes = 1 << 20;
  mallopt(M_ARENA_MAX, arenas);
  mallopt(M_MMAP_THRESHOLD, map_from_bytes);
  mallopt(M_TRIM_THRESHOLD, trim_from_bytes);
#endif
}

}  // namespace

struct CommandLine::Impl {
  CLI::App app;
  std::function<void(const std::string& kind, const std::string& message, int code)> tell_failure;
  bool is_silent = false;
  bool shares_work = false;
  std::string group;  // of the options that are added next; empty: the first one
};

CommandLine::CommandLine(const std::string& name, const std::string& description, const std::string& examples)
    : impl_(std::make_unique<Impl>()) {
  const auto formatter = std::make_shared<HelpFormatter>();
  formatter->column_width(26);
  formatter->label("Positionals", "Arguments");
  CLI::App& app = impl_->app;
  app.name(name);
  app.description(description);
  app.formatter(formatter);
  app.footer("Examples:\n" + examples);
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.set_version_flag("--version", name + " " + version_string, "Print the version and exit");
}

CommandLine::~CommandLine() = default;

std::string CommandLine::name() const { return impl_->app.get_name(); }

std::string CommandLine::name_flags(const std::string& message) const { return with_flags_of(impl_->app, message); }

void CommandLine::add(const std::string& name, std::function<void(const std::string&)> assign, const OptionText& text,
                      Takes takes) {
  const auto assign_all = [name, assign = std::move(assign)](const std::vector<std::string>& words) {
    try {
      for (const std::string& word : words) assign(word);
    } catch (const Error& error) {
      throw CLI::ValidationError(name.substr(name.find(',') + 1), error.what());
    }
  };
  const auto assign_one = [assign_all](const std::string& word) { assign_all({word}); };
  CLI::App& app = impl_->app;
  CLI::Option* const option =
      takes == Takes::nothing ? app.add_flag_callback(
                                    name, [assign_one] { assign_one({}); }, text.description)
      : takes == Takes::words || takes == Takes::a_word_each_time
          ? app.add_option_function<std::vector<std::string>>(name, assign_all, text.description)
          : app.add_option_function<std::string>(name, assign_one, text.description);
  const bool is_required = text.fallback == required;
  if (!impl_->group.empty()) option->group(impl_->group);
  option->type_name(text.type)->default_str(is_required ? "" : text.fallback)->required(is_required);
  if (takes == Takes::one_word_or_none) option->expected(0, 1);
  // The next argument may be a positional one.
  if (takes == Takes::a_word_each_time) option->allow_extra_args(false);
}

void CommandLine::add_flag(const std::string& name, bool& value, const std::string& description) {
  CLI::Option* const option = impl_->app.add_flag(name, value, description);
  if (!impl_->group.empty()) option->group(impl_->group);
}

void CommandLine::begin_group(const std::string& title) { impl_->group = title; }

void CommandLine::add_path(const std::string& name, std::filesystem::path& path, const OptionText& text) {
  const auto parse = [](const std::string& word) {
    if (word.empty()) refuse("a file name must not be empty");
    return word;
  };
  add(name, path, parse, text);
}

void CommandLine::add_size(const std::string& name, std::uint64_t& bytes, const std::string& description,
                           const std::string& fallback) {
  add(name, bytes, parse_size, {"SIZE", description, fallback});
}

void CommandLine::add_threads(int& threads) {
  const auto parse = [](const std::string& word) { return static_cast<int>(parse_whole(word, 1, 4096)); };
  add("--threads", threads, parse, {"N", "Number of threads", "one per processor"});
}

void CommandLine::add_real(const std::string& name, double& value, const std::string& description) {
  add(name, value, parse_real, {"X", description, fmt::format("{}", value)});
}

void CommandLine::needs(const std::string& option, const std::string& other) {
  impl_->app.get_option(option)->needs(impl_->app.get_option(other));
}

void CommandLine::excludes(const std::string& option, const std::vector<std::string>& others) {
  for (const std::string& other : others) impl_->app.get_option(option)->excludes(impl_->app.get_option(other));
}

bool CommandLine::has(const std::string& option) const { return impl_->app.count(option) > 0; }

void CommandLine::on_failure(std::function<void(const std::string& kind, const std::string& message, int code)> tell) {
  impl_->tell_failure = std::move(tell);
}

void CommandLine::stay_silent(bool is_silent) { impl_->is_silent = is_silent; }

void CommandLine::share_work() { impl_->shares_work = true; }

int CommandLine::run(int argc, char** argv, const std::function<void()>& job) {
  // Exceeding a file size limit is then an error like a full disk, and does not kill the process.
  std::signal(SIGXFSZ, SIG_IGN);
  keep_freed_memory_low();
  const Launcher launcher = impl_->shares_work ? Launcher{} : find_launcher();
  if (launcher.rank > 0) impl_->is_silent = true;
  try {
    try {
      impl_->app.parse(argc, argv);
    } catch (const CLI::Success& help_or_version) {
      impl_->app.exit(help_or_version);
      return exit_ok;
    }
    if (launcher.size > 1) refuse_launcher(name(), launcher);
    job();
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      throw Error(ErrorKind::io, "cannot write to standard output; files that the job writes are whole");
    }
    return exit_ok;
  } catch (...) {
    const Failure failure = describe_failure(impl_->app);
    if (launcher.rank > 0) wait_for_first();
    if (impl_->is_silent) return failure.code;
    if (impl_->tell_failure) impl_->tell_failure(failure.kind, failure.message, failure.code);
    // If stderr cannot be written, the exit code still tells.
    log_info(impl_->app.get_name(), failure.message);
    if (failure.code == exit_corrupt || failure.code == exit_usage) keep_hdf5_quiet_at_exit();
    return failure.code;
  }
}

void log_info(const std::string& program, const std::string& message) {
  const std::string text = printable(message, std::string::npos, /*lines=*/true);
  static_cast<void>(std::fputs(fmt::format("{}: {}\n", program, text).c_str(), stderr));
}

void write_to_stdout(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size()) return;
  throw Error(ErrorKind::io, fmt::format("cannot write to standard output: {}", std::strerror(errno)));
}

void check_output(const std::filesystem::path& output, std::span<const std::filesystem::path> inputs,
                  const std::string& option) {
  std::signal(SIGPIPE, SIG_IGN);
  if (output == "-") {
    refuse(fmt::format("{} - would be a file called -, not standard output; name a file, if need be ./-", option));
  }
  struct stat existing {};
  if (lstat(output.c_str(), &existing) != 0 && errno != ENOENT && errno != ENOTDIR) {
    throw Error(ErrorKind::io, fmt::format("cannot write {}: {}", output.string(), std::strerror(errno)));
  }
  std::error_code ignored;
  for (const std::filesystem::path& input : inputs) {
    if (std::filesystem::equivalent(input, output, ignored)) {
      refuse(fmt::format("the output {} is also an input; choose another name with {}", output.string(), option));
    }
  }
  // Renaming over a device or a pipe would replace it by a file.
  if (std::filesystem::exists(output, ignored) && !std::filesystem::is_regular_file(output, ignored)) {
    throw Error(ErrorKind::io,
                fmt::format("the output {} is a folder or a device; name a file with {}", output.string(), option));
  }
  const std::filesystem::path folder = output.has_parent_path() ? output.parent_path() : ".";
  if (!std::filesystem::is_directory(folder, ignored)) {
    throw Error(ErrorKind::io,
                fmt::format("cannot write {}: there is no folder {}; create it, or choose another with {}",
                            output.string(), folder.string(), option));
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    throw Error(ErrorKind::io, fmt::format("cannot write {}: the folder {} is not writable; choose another with {}",
                                           output.string(), folder.string(), option));
  }
}

}  // namespace blco::cli
