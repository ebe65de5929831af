// Shared by the command lines: exit codes, options, parsing of what they take, formatting of numbers.
#pragma once

#include <blco/error.hpp>
#include <blco/loss.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace blco::cli {

// The exit codes are part of the commands' interface.
inline constexpr int exit_ok = 0;
inline constexpr int exit_unexpected = 1;
inline constexpr int exit_usage = 2;  // wrong options, and ErrorKind::invalid_argument
inline constexpr int exit_io = 3;
inline constexpr int exit_corrupt = 4;
inline constexpr int exit_out_of_memory = 5;
inline constexpr int exit_cuda = 6;
inline constexpr int exit_not_built = 7;
inline constexpr int exit_cancelled = 8;  // stopped before there was a result

// Throws Error{invalid_argument}.
[[noreturn]] inline void refuse(const std::string& message) { throw Error(ErrorKind::invalid_argument, message); }

// Parsers throw Error{invalid_argument} that says what is accepted. They are stricter than those of CLI11, which take
// -1 for 2^64 - 1, 010 for 8, and no size such as 1.5GiB.

// Bytes: 1048576, 64M, 512MiB, 1.5GiB; K, M, G, T are binary like KiB, and KB, MB, GB, TB are decimal.
std::uint64_t parse_size(const std::string& text);
// Mode lengths: 1x2x3.
std::vector<std::uint64_t> parse_shape(const std::string& text);
// Names separated by commas, none empty. A name that starts with a quote ends with its closing quote, as a field of CSV
// does; blanks around names do not count outside of quotes.
std::vector<std::string> parse_names(const std::string& text);
// none, auto (the default of IngestOptions), fast, small, or zstd:N with the level N from 1 to 19: zstd_level and
// zstd_saving_percent of IngestOptions.
std::pair<int, int> parse_compression(const std::string& text);
std::uint64_t parse_whole(const std::string& text, std::uint64_t min, std::uint64_t max);
double parse_real(const std::string& text);  // 0 or above
Loss parse_loss_name(const std::string& text);
std::string loss_choices();  // all names, for --help: "gaussian, poisson, ..."
double parse_signed(const std::string& text);
// Seconds, above 0: 90, 90s, 1.5m, 2h, 5us, 20ms.
double parse_duration(const std::string& text);
// "-" is standard input.
std::filesystem::path parse_input(const std::string& text);

// The library names the options of a call in backticks (blco/option_name.hpp): "`memory_bytes = 24MiB`". Puts the flag
// in their place, "--memory 24MiB", where `is_flag` knows it.
std::string name_flags(const std::string& message, const std::function<bool(const std::string& flag)>& is_flag);

// In place of a default: there is none, and the option must be given.
inline constexpr const char* required = "required";

// The help text of an option.
struct OptionText {
  std::string type;  // "SIZE", or empty
  std::string description;
  std::string fallback = {};  // the default, in words; empty: none, or the number that the variable has
};

enum class Takes { nothing, one_word, one_word_or_none, words, a_word_each_time };

// The arguments of one command, parsed into variables that the caller keeps alive. It hides CLI11, which takes each
// file that includes it ten seconds to compile.
class CommandLine {
 public:
  // Adds --help and --version; `examples` end the help.
  CommandLine(const std::string& name, const std::string& description, const std::string& examples);
  ~CommandLine();

  std::string name() const;
  // As cli::name_flags has it, of the flags of this command.
  std::string name_flags(const std::string& message) const;

  // Options that are added from here on stand under this title of the help.
  void begin_group(const std::string& title);

  // Adds an option "-o,--output" or a positional argument "INPUT". `assign` receives each of its words, an empty one
  // where there is none; an Error that it throws becomes a usage error naming the option.
  void add(const std::string& name, std::function<void(const std::string&)> assign, const OptionText& text,
           Takes takes = Takes::one_word);
  // Adds an option whose word `parse` turns into the value.
  template <class Value, class Parse>
  void add(const std::string& name, Value& value, Parse parse, const OptionText& text) {
    add(
        name, [&value, parse](const std::string& word) { value = parse(word); }, text);
  }
  void add_flag(const std::string& name, bool& value, const std::string& description);
  void add_path(const std::string& name, std::filesystem::path& path, const OptionText& text);
  void add_size(const std::string& name, std::uint64_t& bytes, const std::string& description,
                const std::string& fallback = "80% of what is available");
  void add_threads(int& threads);
  void add_real(const std::string& name, double& value, const std::string& description);

  template <class Whole>
  void add_whole(const std::string& name, Whole& value, std::uint64_t min, OptionText text) {
    constexpr auto max = static_cast<std::uint64_t>(std::numeric_limits<Whole>::max());
    if (text.fallback.empty() && static_cast<std::uint64_t>(value) >= min) text.fallback = std::to_string(value);
    add(
        name, value, [min](const std::string& word) { return static_cast<Whole>(parse_whole(word, min, max)); }, text);
  }

  // Adds an option with a fixed set of words; --help and messages list them.
  template <class Value>
  void add_choice(const std::string& name, Value& value, const std::vector<std::pair<std::string, Value>>& words,
                  const std::string& description) {
    OptionText text{"", description};
    for (const auto& [word, meaning] : words) {
      text.type += (text.type.empty() ? "" : "|") + word;
      if (meaning == value) text.fallback = word;
    }
    const auto parse = [words, list = text.type](const std::string& given) -> Value {
      for (const auto& [word, meaning] : words) {
        if (word == given) return meaning;
      }
      refuse("'" + given + "' is not one of " + list);
    };
    add(name, value, parse, text);
  }

  // An option that wants another, and one that does not go with others.
  void needs(const std::string& option, const std::string& other);
  void excludes(const std::string& option, const std::vector<std::string>& others);

  // Whether the option is among the arguments, once they are parsed.
  bool has(const std::string& option) const;

  // `tell` gets the kind, message and exit code of a failure before the message is printed.
  void on_failure(std::function<void(const std::string& kind, const std::string& message, int code)> tell);

  // Without it, `run` refuses a job of which a launcher has started several processes, each of which would do all of
  // it.
  void share_work();

  // Parses, runs `job`, and returns the exit code. A failure prints one message "name: what" on stderr.
  int run(int argc, char** argv, const std::function<void()>& job);
  // Failures are told by the exit code alone.
  void stay_silent(bool is_silent);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Prints a line on stderr, after the program's name. A failed write is ignored.
void log_info(const std::string& program, const std::string& message);

// Writes to standard output, for results of any size. Throws Error{io}.
void write_to_stdout(std::string_view text);

// Checks an output before the work: throws Error{invalid_argument} if `output` is one of `inputs` or "-", Error{io} if
// it is a folder or its folder is not writable. `option` is the option that named it. From here on the process outlives
// a reader of its standard output, so that the output is written.
void check_output(const std::filesystem::path& output, std::span<const std::filesystem::path> inputs,
                  const std::string& option = "-o");

std::string format_bytes(std::uint64_t bytes);                    // "120.0 MiB"
std::string format_count(std::uint64_t count);                    // "2,153,323"
std::string format_count(std::uint64_t count, const char* noun);  // "1 chunk", "2,000 chunks"
std::string format_shape(std::span<const std::uint64_t> shape);   // "1x2x3", as parse_shape takes it
// "all modes", "mode 1", "modes 0, 2"; `order` is the number of modes.
std::string format_modes(std::span<const std::uint64_t> modes, std::size_t order);
inline constexpr std::size_t longest_name = 60;  // that is shown in full
// Text of files or names for a terminal: what controls it or turns text round (Unicode's bidirectional controls) as
// \u202e, bytes that are not UTF-8 as \x80, and what lies beyond `longest` characters as "...". '\n' stays if `lines`.
std::string printable(std::string_view text, std::size_t longest = std::string_view::npos, bool lines = false);
// Bits per nonzero, with two decimals.
std::string format_bits(std::uint64_t bytes, std::uint64_t nnz);

}  // namespace blco::cli
