#include "tools/programs/option_flags.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace blco::cli {
namespace {

BoxChoice parse_box(const std::string& text) {
  const std::size_t first = text.find(':');
  if (first == std::string::npos) refuse("'" + text + "' is not LO:HI, such as 0:1");
  const std::size_t second = std::min(text.find(':', first + 1), text.size());
  BoxChoice box = {.lower = parse_signed(text.substr(0, first)),
                   .upper = parse_signed(text.substr(first + 1, second - first - 1))};
  if (second < text.size()) box.modes = parse_modes(text.substr(second + 1));
  return box;
}

std::string parse_choice(const std::string& word, const std::vector<std::string>& choices) {
  if (std::ranges::count(choices, word) > 0) return word;
  refuse(fmt::format("'{}' is not one of {}", word, fmt::join(choices, "|")));
}

std::vector<std::string> choices_of(const OptionRow& option) {
  return option.kind == OptionKind::on_off ? std::vector<std::string>{"on", "off"} : option.choices;
}

OptionValue parse_value(const OptionRow& option, const std::string& word) {
  switch (option.kind) {
    case OptionKind::flag:
      return true;
    case OptionKind::on_off:
      return parse_choice(word, choices_of(option)) == "on";
    case OptionKind::choice:
      return parse_choice(word, choices_of(option));
    case OptionKind::whole:
      return parse_whole(word, option.least, option.most);
    case OptionKind::bytes:
      return parse_size(word);
    case OptionKind::seconds:
      return parse_duration(word);
    case OptionKind::loss:
      return to_string(parse_loss_name(word));
    case OptionKind::words:
      return parse_names(word);
    case OptionKind::modes:
      return parse_modes(word);
    case OptionKind::box:
      return parse_box(word);
    case OptionKind::real: {
      const double number = parse_real(word);
      if (option.is_above_least && !(number > 0)) refuse("must be above 0");
      return number;
    }
    case OptionKind::path:
    case OptionKind::model:
    case OptionKind::tensor:
      break;
  }
  if (word.empty()) refuse("a file name must not be empty");
  return word;
}

// The names of a text for people, in backticks, as flags.
std::string with_flags(const std::string& text) {
  return name_flags(text, [](const std::string&) { return true; });
}

}  // namespace

ModeChoice parse_modes(const std::string& text) {
  ModeChoice chosen = {.all = text.empty()};
  if (chosen.all) return chosen;
  for (std::string& name : parse_names(text)) chosen.modes.push_back({std::move(name)});
  return chosen;
}

void add_option(CommandLine& line, const OptionRow& option, const std::string& usual,
                std::function<void(const OptionValue&)> take) {
  line.begin_group(with_flags(option.group));
  const std::vector<std::string> choices = choices_of(option);
  const std::string type = choices.empty() ? option.word : fmt::format("{}", fmt::join(choices, "|"));
  const Takes takes = option.kind == OptionKind::flag ? Takes::nothing
                      : type.starts_with('[')         ? Takes::one_word_or_none
                                                      : Takes::one_word;
  const std::string help = option.syntax.empty() ? option.help : option.help + ". " + option.syntax;
  line.add(
      with_flags("`" + option.name + "`"),
      [option, take = std::move(take)](const std::string& word) { take(parse_value(option, word)); },
      {type, with_flags(help), with_flags(usual)}, takes);
}

void add_compute_options(CommandLine& line, Compute& compute) {
  for (const Option<Compute>& row : compute_option_table()) {
    add_option(line, row, words_of_default(row), [&](const OptionValue& value) { row.set(compute, value); });
  }
}

void add_long_job_options(CommandLine& line, double& seconds, std::filesystem::path& checkpoint, int& sweeps) {
  const auto add = [&](const char* name, std::function<void(const OptionValue&)> take) {
    const Option<CpdOptions>& row = *find_option(cpd_option_table(), name);
    add_option(line, row, words_of_default(row), std::move(take));
  };
  add("time_limit", [&](const OptionValue& value) { seconds = std::get<double>(value); });
  add("checkpoint", [&](const OptionValue& value) { checkpoint = std::get<std::string>(value); });
  add("every", [&](const OptionValue& value) { sweeps = static_cast<int>(std::get<std::uint64_t>(value)); });
  line.needs("--every", "--checkpoint");
}

}  // namespace blco::cli
