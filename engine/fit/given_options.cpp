// Puts what a user gives into the options of a CP fit, by the table.
#include <algorithm>
#include <blco/cpd.hpp>
#include <blco/option_table.hpp>
#include <charconv>
#include <cmath>

#include "blco/error.hpp"
#include "blco/in_full.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/fit/methods/fit_method.hpp"
#include "io/text/quoted_text.hpp"

namespace blco {
namespace {

double number_in(const OptionValue& value) {
  if (const auto* const whole = std::get_if<std::uint64_t>(&value)) return static_cast<double>(*whole);
  const auto* const real = std::get_if<double>(&value);
  return real != nullptr ? *real : std::nan("");
}

bool is_number(const OptionValue& value) {
  return std::holds_alternative<std::uint64_t>(value) || std::holds_alternative<double>(value);
}

std::string joined(const std::vector<std::string>& words, const std::string& between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

// What a value of the option is in words, if the value is of another kind; else empty.
std::string missing_kind(OptionKind kind, const OptionValue& value) {
  const auto unless = [](bool is_right, const char* words) { return is_right ? "" : words; };
  switch (kind) {
    case OptionKind::flag:
    case OptionKind::on_off:
      return unless(std::holds_alternative<bool>(value), "true or false");
    case OptionKind::whole:
    case OptionKind::bytes:
      // A negative one is out of range.
      return unless(std::holds_alternative<std::uint64_t>(value) || number_in(value) < 0,
                    "a whole number, in std::uint64_t");
    case OptionKind::real:
    case OptionKind::seconds:
      return unless(std::holds_alternative<double>(value), "a number, in double");
    case OptionKind::choice:
    case OptionKind::loss:
    case OptionKind::path:
      return unless(std::holds_alternative<std::string>(value), "a text");
    case OptionKind::words:
      return unless(std::holds_alternative<std::vector<std::string>>(value), "texts");
    case OptionKind::modes:
      return unless(std::holds_alternative<ModeChoice>(value), "modes");
    case OptionKind::box:
      return unless(std::holds_alternative<BoxChoice>(value), "bounds and modes");
    case OptionKind::model:
      return unless(std::holds_alternative<const CpdModel*>(value), "a model");
    case OptionKind::tensor:
      return unless(std::holds_alternative<const Tensor*>(value), "a tensor");
  }
  return {};
}

void check_kind(const OptionRow& row, const OptionValue& value) {
  const std::string kind = missing_kind(row.kind, value);
  if (!kind.empty()) refuse(option_name(row.name) + " takes " + kind);
}

// Such as no modes, or a ridge of 0: what every method has without the option.
bool asks_for_nothing(const OptionRow& row, bool is_of_method, const OptionValue& value) {
  if (const auto* const is_on = std::get_if<bool>(&value)) return !*is_on;
  if (const auto* const chosen = std::get_if<ModeChoice>(&value)) return !chosen->all && chosen->modes.empty();
  return row.kind == OptionKind::real && !is_of_method && number_in(value) == 0;
}

// `wanted` is the method that was asked for, `fitted` what it comes to for this tensor.
void check_owner(const OptionRow& row, const CpdMethod& wanted, const CpdMethod& fitted) {
  const std::string name = option_name(row.name);
  const auto is_owner = [&](const CpdMethod& method) {
    return row.methods.empty() || std::ranges::count(row.methods, name_of(method)) > 0;
  };
  if (is_owner(fitted)) return;
  if (is_owner(wanted)) {
    refuse(name + " does not apply: loss " + to_string(loss_of(fitted)) + " is fitted to this tensor by " +
           name_of(fitted) + ", over sampled cells; leave " + name + " out");
  }
  std::vector<std::string> owners;
  for (const std::string& method : row.methods) owners.push_back(option_name("method", method));
  refuse(name + " belongs to " + joined(owners, " and ") + ", not to " + name_of(fitted) +
         "; leave it out, or use another method");
}

const Option<CpdOptions>& row_of(const std::string& name) {
  const Option<CpdOptions>* const row = find_option(cpd_option_table(), name);
  if (row == nullptr) refuse("there is no option " + quoted_for_message(name));
  return *row;
}

// The value that is given last, or null.
const OptionValue* find_given(const std::vector<GivenOption>& given, std::string_view name) {
  const auto found = std::find_if(given.rbegin(), given.rend(), [&](const GivenOption& of) { return of.name == name; });
  return found == given.rend() ? nullptr : &found->value;
}

void take_from_model(CpdOptions& options, const std::filesystem::path& file) {
  const CpdOptions kept = options_of_model(file);
  options.method = kept.method;
  for (const Option<CpdOptions>& row : cpd_option_table()) {
    if (row.is_kept && row.set) row.set(options, row.get(kept));
  }
}

void set_constraints(CpdOptions& options, const std::vector<GivenOption>& given, const TensorSummary& tensor) {
  std::vector<RowConstraint> constraints;
  bool is_any = false;
  const auto take = [&](const char* name, const auto& add) {
    const OptionValue* const value = find_given(given, name);
    if (value == nullptr) return;
    is_any = true;
    add(*value);
  };
  const auto take_modes = [&](const char* name, RowSet set) {
    take(name, [&](const OptionValue& value) {
      constrain(name, std::get<ModeChoice>(value), tensor, {.set = set}, constraints);
    });
  };
  take_modes("hold", RowSet::held);
  take_modes("nonnegative", RowSet::nonnegative);
  take_modes("simplex", RowSet::simplex);
  take("box", [&](const OptionValue& value) {
    const BoxChoice& box = std::get<BoxChoice>(value);
    constrain("box", box.modes, tensor, {.set = RowSet::box, .lower = box.lower, .upper = box.upper}, constraints);
  });
  take("l1", [&](const OptionValue& value) {
    constraints.resize(tensor.shape.size());
    for (RowConstraint& constraint : constraints) constraint.l1 = constraint.is_held() ? 0 : std::get<double>(value);
  });
  if (!is_any) return;
  const OptionValue* const nonnegative = find_given(given, "nonnegative");
  if (std::holds_alternative<AprMethod>(options.method) && nonnegative != nullptr &&
      !asks_for_nothing(row_of("nonnegative"), false, *nonnegative)) {
    refuse(option_name("nonnegative") + " does not go with " + option_name("method", "apr") +
           ", whose factors are never negative; leave it out");
  }
  std::visit([&](auto& method) { method.constraints = constraints; }, options.method);
}

}  // namespace

void check_value(const OptionRow& row, const OptionValue& value, const OptionValue& usual) {
  if (std::holds_alternative<std::monostate>(value)) return;
  check_kind(row, value);
  const std::string name = option_name(row.field_name());
  if (row.kind == OptionKind::choice && std::ranges::count(row.choices, std::get<std::string>(value)) == 0) {
    refuse(option_name(row.name) + ": " + quoted_for_message(std::get<std::string>(value)) + " is none of " +
           joined(row.choices, ", "));
  }
  if (row.kind == OptionKind::loss && !parse_loss(std::get<std::string>(value))) {
    refuse(option_name(row.name) + ": " + quoted_for_message(std::get<std::string>(value)) + " is none of " +
           joined(loss_names(), ", ") + "; " + loss_parameter_ranges());
  }
  if (!is_number(value) || value == usual) return;
  const double number = number_in(value);
  if (!std::isfinite(number) && row.kind != OptionKind::seconds) refuse(name + " must be a finite number");
  const auto least = static_cast<double>(row.least);
  if (std::isnan(number) || number < least || (row.is_above_least && number == least)) {
    refuse(name + " must be " + (row.is_above_least ? "above " : "at least ") + std::to_string(row.least));
  }
  if (std::holds_alternative<std::uint64_t>(value) && std::get<std::uint64_t>(value) > row.most) {
    refuse(name + " must be at most " + std::to_string(row.most));
  }
}

void check_ranges(const CpdOptions& options) {
  static const CpdOptions usual;
  for (const Option<CpdOptions>& row : cpd_option_table()) {
    const bool is_of_compute = find_option(compute_option_table(), row.name) != nullptr;  // every job checks these
    if (row.get && !is_of_compute) check_value(row, row.get(options), row.get(usual));
  }
}

std::string words_of_default(const OptionRow& row, const OptionValue& usual) {
  if (!row.usual.empty() || row.name == "rank") return row.usual;
  if (const auto* const word = std::get_if<std::string>(&usual)) return *word;
  if (!is_number(usual) || number_in(usual) < static_cast<double>(row.least)) return {};
  return row.kind == OptionKind::seconds ? "" : in_full(number_in(usual));
}

void set_options(CpdOptions& options, const std::vector<GivenOption>& given, const TensorSummary& tensor) {
  static const CpdOptions usual;
  const auto set = [&](const std::string& name) {
    const OptionValue* const value = find_given(given, name);
    if (value != nullptr) row_of(name).set(options, *value);
  };
  for (const auto& [name, value] : given) {
    const Option<CpdOptions>& row = row_of(name);
    check_kind(row, value);
    check_value(row, value, row.get ? row.get(usual) : OptionValue());
  }
  if (const OptionValue* const file = find_given(given, "resume")) {
    take_from_model(options, std::get<std::string>(*file));
  }
  set("method");
  set("loss");
  const CpdMethod wanted = options.method;
  options.method = fitted_method(tensor, wanted);
  for (const auto& [name, value] : given) {
    const Option<CpdOptions>& row = row_of(name);
    if (!asks_for_nothing(row, row.is_of_method, value)) check_owner(row, wanted, options.method);
  }
  for (const auto& [name, value] : given) {
    if (name != "method" && row_of(name).set) set(name);
  }
  set_constraints(options, given, tensor);
}

void constrain(const std::string& option, const ModeChoice& chosen, const TensorSummary& tensor,
               const RowConstraint& wanted, std::vector<RowConstraint>& constraints) {
  constraints.resize(tensor.shape.size());
  TensorSummary unnamed = tensor;
  unnamed.mode_names.clear();
  const auto add = [&](std::size_t mode) {
    RowConstraint& constraint = constraints[mode];
    if (constraint != RowConstraint{} && constraint != wanted) {
      refuse(option_name(option) + ": mode " + std::to_string(mode) +
             " has another constraint already; give each mode one of " + option_name("hold") + ", " +
             option_name("nonnegative") + ", " + option_name("box") + " and " + option_name("simplex"));
    }
    constraint = wanted;
  };
  for (std::size_t mode = 0; chosen.all && mode < constraints.size(); ++mode) {
    if (!constraints[mode].is_held()) add(mode);
  }
  for (const ModeChoice::Word& word : chosen.modes) add(find_mode(word.is_number ? unnamed : tensor, word.text));
}

std::vector<std::string> kept_options(const CpdOptions& options) {
  std::vector<std::string> kept;
  for (const Option<CpdOptions>& row : cpd_option_table()) {
    if (!row.is_of_method || !row.is_kept) continue;
    const OptionValue value = row.get(options);
    if (value != row.get({})) kept.push_back(row.name + "=" + in_full(number_in(value)));
  }
  return kept;
}

void take_kept(const std::vector<std::string>& kept, const std::filesystem::path& file, CpdOptions& options) {
  for (const std::string& text : kept) {
    const auto fail = [&](const std::string& why) {
      throw Error(ErrorKind::corrupt, file.string() + ": a text of the attribute options is " +
                                          quoted_for_message(text) + why + "; resume another file");
    };
    const std::size_t sign = std::min(text.find('='), text.size());
    const Option<CpdOptions>* const row = find_option(cpd_option_table(), text.substr(0, sign));
    if (row == nullptr || !row->is_of_method || !row->is_kept) continue;
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, failure] = std::from_chars(text.data() + std::min(sign + 1, text.size()), end, number);
    if (failure != std::errc() || rest != end) fail(", which has no number");
    const bool is_whole = row->kind == OptionKind::whole;
    if (is_whole && !(number >= 0 && number < 0x1p53 && number == std::trunc(number))) {
      fail(", which has no whole number");
    }
    const OptionValue value = is_whole ? OptionValue(static_cast<std::uint64_t>(number)) : OptionValue(number);
    try {
      check_value(*row, value, row->get({}));
    } catch (const Error&) {
      fail(", whose number is out of range");
    }
    row->set(options, value);
  }
}

}  // namespace blco
