// Shared parts of the command lines: parsing of arguments, mapping of errors to exit codes, numbers as text.
#include "tools/cli.hpp"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <blco/version.hpp>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <system_error>

namespace blco::cli {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorKind::invalid_argument, message); }

// Help with defaults behind the descriptions, and one line of usage that names what must be given.
class HelpFormatter final : public CLI::Formatter {
 public:
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
      if (option->get_positional())
        usage += " " + option->get_name(true) + (option->get_expected_max() > 1 ? "..." : "");
    }
    for (const CLI::Option* option : app->get_options()) {
      if (option->get_required() && !option->get_positional()) {
        const std::string flag = option->get_snames().empty() ? option->get_name() : "-" + option->get_snames().front();
        usage += " " + flag + " " + option->get_type_name();
      }
    }
    return usage + " [OPTIONS]\n";
  }
};

void describe(CLI::Option& option, const OptionText& text) {
  option.type_name(text.type)->default_str(text.fallback)->required(text.required);
}

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid_argument:
      return exit_usage;
    case ErrorKind::io:
      return exit_io;
    case ErrorKind::corrupt:
      return exit_corrupt;
    case ErrorKind::out_of_memory:
      return exit_out_of_memory;
    case ErrorKind::cuda:
      return exit_cuda;
    case ErrorKind::not_built:
      return exit_not_built;
    case ErrorKind::cancelled:
      return exit_cancelled;
  }
  return exit_unexpected;
}

// Reports the failure that is being handled and returns its exit code.
int report_failure(const std::string& program) {
  const auto report = [&program](const std::string& message, int code) {
    // Where standard error cannot be written, the exit code still tells.
    static_cast<void>(std::fputs(fmt::format("{}: {}\n", program, message).c_str(), stderr));
    return code;
  };
  try {
    throw;
  } catch (const CLI::ParseError& error) {
    return report(fmt::format("{}\nSee {} --help.", error.what(), program), exit_usage);
  } catch (const Error& error) {
    return report(error.what(), exit_code(error.kind()));
  } catch (const std::bad_alloc&) {
    return report("the system has no more memory to give; run it with a smaller memory budget", exit_out_of_memory);
  } catch (const std::system_error& error) {
    return report(error.what(), exit_io);
  } catch (const std::exception& error) {
    return report(fmt::format("unexpected: {}", error.what()), exit_unexpected);
  } catch (...) {
    return report("unexpected failure", exit_unexpected);
  }
}

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

}  // namespace

struct CommandLine::Impl {
  CLI::App app;
};

CommandLine::CommandLine(const std::string& name, const std::string& description, const std::string& examples)
    : impl_(std::make_unique<Impl>()) {
  const auto formatter = std::make_shared<HelpFormatter>();
  formatter->column_width(34);
  formatter->label("Positionals", "Arguments");
  CLI::App& app = impl_->app;
  app.name(name);
  app.description(description);
  app.formatter(formatter);
  app.footer("Examples:\n" + examples);
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.set_version_flag("--version", name + " " + version_string, "Print the version and exit");
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(name, std::make_shared<spdlog::sinks::stderr_sink_mt>()));
  spdlog::set_pattern("%n: %v");
}

CommandLine::~CommandLine() = default;

void CommandLine::add(const std::string& name, std::function<void(const std::string&)> assign, const OptionText& text) {
  const auto checked = [name, assign = std::move(assign)](const std::string& word) {
    try {
      assign(word);
    } catch (const Error& error) {
      throw CLI::ValidationError(name.substr(name.find(',') + 1), error.what());
    }
  };
  describe(*impl_->app.add_option_function<std::string>(name, checked, text.description), text);
}

void CommandLine::add_list(const std::string& name, std::function<void(const std::vector<std::string>&)> assign,
                           const OptionText& text) {
  describe(*impl_->app.add_option_function<std::vector<std::string>>(name, assign, text.description), text);
}

void CommandLine::add_flag(const std::string& name, bool& value, const std::string& description) {
  impl_->app.add_flag(name, value, description);
}

void CommandLine::add_path(const std::string& name, std::filesystem::path& path, const OptionText& text) {
  const auto assign = [&path](const std::string& word) {
    if (word.empty()) refuse("the name of a file must not be empty");
    path = word;
  };
  add(name, assign, text);
}

void CommandLine::add_size(const std::string& name, std::uint64_t& bytes, const std::string& description,
                           const std::string& fallback) {
  add(name, [&bytes](const std::string& word) { bytes = parse_size(word); },
      {.type = "SIZE", .description = description, .fallback = fallback});
}

void CommandLine::add_threads(int& threads) {
  constexpr std::uint64_t most = 4096;
  add("--threads", [&threads](const std::string& word) { threads = static_cast<int>(parse_whole(word, 1, most)); },
      {.type = "N", .description = "Threads to use", .fallback = "one per processor"});
}

void CommandLine::add_compression(int& zstd_level) {
  add("--compression", [&zstd_level](const std::string& word) { zstd_level = parse_compression(word); },
      {.type = "CODEC",
       .description = "zstd:N (1 to 19) on top of the packing where it pays, or none",
       .fallback = fmt::format("zstd:{}", zstd_level)});
}

void CommandLine::add_chunk_nnz(std::uint64_t& chunk_nnz) {
  add_whole("--chunk-nnz", chunk_nnz, 1,
            {.type = "N",
             .description = "Advanced: nonzeros per chunk, the unit of disk I/O",
             .fallback = std::to_string(chunk_nnz)});
}

void CommandLine::add_real(const std::string& name, double& value, const std::string& description) {
  add(name, [&value](const std::string& word) { value = parse_real(word); },
      {.type = "X", .description = description, .fallback = fmt::format("{}", value)});
}

int CommandLine::run(int argc, char** argv, const std::function<void()>& job) {
  // A file size limit is then an error like a full disk, not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    try {
      impl_->app.parse(argc, argv);
    } catch (const CLI::Success& help_or_version) {
      impl_->app.exit(help_or_version);
      return exit_ok;
    }
    job();
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      throw Error(ErrorKind::io, "standard output cannot be written");
    }
    return exit_ok;
  } catch (...) {
    return report_failure(impl_->app.get_name());
  }
}

void log_info(const std::string& message) { spdlog::info("{}", message); }

std::uint64_t parse_size(const std::string& text) {
  static constexpr std::array<std::pair<const char*, double>, 14> units{{{"", 1},
                                                                         {"b", 1},
                                                                         {"k", 0x1p10},
                                                                         {"kib", 0x1p10},
                                                                         {"kb", 1e3},
                                                                         {"m", 0x1p20},
                                                                         {"mib", 0x1p20},
                                                                         {"mb", 1e6},
                                                                         {"g", 0x1p30},
                                                                         {"gib", 0x1p30},
                                                                         {"gb", 1e9},
                                                                         {"t", 0x1p40},
                                                                         {"tib", 0x1p40},
                                                                         {"tb", 1e12}}};
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  const bool digit_first = !text.empty() && text.front() >= '0' && text.front() <= '9';
  if (digit_first && failure == std::errc{}) {
    const std::string name = lower_case(std::string(rest, end));
    for (const auto& [unit, bytes] : units) {
      if (name != unit) continue;
      // Past 2^60 bytes nothing is a budget, and a double still holds every count below exactly enough.
      if (number * bytes >= 1 && number * bytes <= 0x1p60) return static_cast<std::uint64_t>(number * bytes);
      refuse(fmt::format("'{}' is not between one byte and 2^60 bytes", text));
    }
  }
  refuse(fmt::format("'{}' is not a size, such as 512MiB, 2GiB, 64M or 1048576", text));
}

std::uint64_t parse_whole(const std::string& text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number);
  if (failure == std::errc::result_out_of_range || (failure == std::errc{} && rest == end && number > most)) {
    refuse(fmt::format("{} is above {}", text, most));
  }
  if (failure != std::errc{} || rest != end) refuse(fmt::format("'{}' is not a whole number from {} on", text, least));
  if (number < least) refuse(fmt::format("{} is below {}", number, least));
  return number;
}

double parse_real(const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc{} || rest != end || !std::isfinite(number) || std::signbit(number)) {
    refuse(fmt::format("'{}' is not a number from 0 on", text));
  }
  return number;
}

std::vector<std::uint64_t> parse_shape(const std::string& text) {
  std::vector<std::uint64_t> shape;
  for (const std::string& length : split(text, 'x')) {
    try {
      shape.push_back(parse_whole(length, 1, std::numeric_limits<std::uint64_t>::max()));
    } catch (const Error&) {
      refuse(fmt::format("'{}' is not a shape, such as 100x200x300: '{}' is no length of a mode", text, length));
    }
  }
  return shape;
}

std::vector<std::string> parse_names(const std::string& text) {
  std::vector<std::string> names = split(text, ',');
  if (std::ranges::find(names, "") != names.end()) {
    refuse(fmt::format("'{}' has an empty name; give one per mode, such as source,target,day", text));
  }
  return names;
}

int parse_compression(const std::string& text) {
  if (text == "none") return 0;
  const std::string prefix = "zstd:";
  try {
    if (text.starts_with(prefix)) return static_cast<int>(parse_whole(text.substr(prefix.size()), 1, 19));
  } catch (const Error&) {
  }
  refuse(fmt::format("'{}' is neither none nor zstd:N with N from 1 to 19", text));
}

void check_output(const std::filesystem::path& output, std::span<const std::filesystem::path> inputs) {
  struct stat existing {};
  if (lstat(output.c_str(), &existing) != 0 && errno != ENOENT && errno != ENOTDIR) {
    throw Error(ErrorKind::io, fmt::format("cannot write {}: {}", output.string(), std::strerror(errno)));
  }
  std::error_code ignored;
  for (const std::filesystem::path& input : inputs) {
    if (std::filesystem::equivalent(input, output, ignored)) {
      refuse(fmt::format("the output {} is also an input; choose another name with -o", output.string()));
    }
  }
  // Renaming over a device or a pipe would put a file in its place.
  if (std::filesystem::exists(output, ignored) && !std::filesystem::is_regular_file(output, ignored)) {
    throw Error(ErrorKind::io,
                fmt::format("the output {} is a folder or a device; name a file with -o", output.string()));
  }
  const std::filesystem::path folder = output.has_parent_path() ? output.parent_path() : ".";
  if (!std::filesystem::is_directory(folder, ignored)) {
    throw Error(ErrorKind::io,
                fmt::format("cannot write {}: there is no folder {}; create it, or choose another with -o",
                            output.string(), folder.string()));
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    throw Error(ErrorKind::io, fmt::format("cannot write {}: the folder {} is not writable; choose another with -o",
                                           output.string(), folder.string()));
  }
}

std::string format_bytes(std::uint64_t bytes) {
  static constexpr std::array<const char*, 5> units{"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double number = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  // What would print as 1024.0 goes to the next unit.
  while (number >= 1023.95 && unit + 1 < units.size()) {
    number /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", number, units[unit]);
}

std::string format_decimal_bytes(double bytes) {
  static constexpr std::array<const char*, 5> units{"B", "KB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < units.size()) {
    bytes /= 1000;
    ++unit;
  }
  return fmt::format("{:.3g}{}", bytes, units[unit]);
}

std::string format_count(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

std::string format_shape(std::span<const std::uint64_t> shape) { return fmt::format("{}", fmt::join(shape, "x")); }

std::string format_bits(std::uint64_t bytes, std::uint64_t nnz) {
  return fmt::format("{:.2f}", nnz == 0 ? 0.0 : 8 * static_cast<double>(bytes) / static_cast<double>(nnz));
}

}  // namespace blco::cli
