// Fields become words on the fast path; a refused one is read again for its message.
#include "io/table/computed_field.hpp"

#include <charconv>
#include <system_error>
#include <vector>

#include "blco/option_name.hpp"
#include "io/table/csv_field.hpp"
#include "io/table/time_forms.hpp"
#include "io/text/quoted_text.hpp"
#include "io/text/tns_value.hpp"

namespace blco {
namespace {

using Kind = FieldReading::Kind;

std::string joined(const std::vector<std::string>& forms) {
  std::string text;
  for (const std::string& form : forms) text += (text.empty() ? "" : " or ") + form;
  return text;
}

std::string label_of_count(std::string_view field) {
  TimePoint point;
  if (parse_time("+" + std::string(field), point) != TimeFault::none) return "";
  return " (" + time_unit_label(time_unit_at(point.seconds, TimeUnit::minute), TimeUnit::minute) + ")";
}

// Of a number that may mean a time, but not what it says.
std::string explain_time_number(std::string_view field, TimeFault fault, TimeUnit unit) {
  const std::string unit_name(name_of(unit));
  const std::string remedy =
      "; write times as ISO 8601 has them, or leave out :" + unit_name + " to take the fields as they are";
  const TimeNumber number = split_time_number(field).value_or(TimeNumber{});
  const std::string forms = joined(find_other_forms(number.digits, number.fraction));
  const std::string shown = quoted_for_message(field);
  switch (fault) {
    case TimeFault::other_form:
      return shown + " may be " + forms + " or a count since 1970" + label_of_count(field) +
             "; write times as ISO 8601 has them, and such a count with a sign, as +" + std::string(number.digits);
    case TimeFault::few_digits:
      return shown + (forms.empty() ? " has a fraction and" : " may be " + forms + " and has") +
             " too few digits for seconds since 1970" + remedy;
    default:
      return shown + " is no " + unit_name + (unit == TimeUnit::hour_of_day ? " from 0 to 23," : "") +
             " and has too few digits for seconds since 1970" + (forms.empty() ? "" : ", but may be " + forms) +
             "; leave out :" + unit_name + " to take the fields as they are, or write times as ISO 8601 has them";
  }
}

std::string explain_time(std::string_view field, TimeUnit unit) {
  const std::string unit_name(name_of(unit));
  const std::string shown = quoted_for_message(field);
  std::int64_t number = 0;
  const TimeFault fault = parse_time_unit(field, unit, number);
  switch (fault) {
    case TimeFault::no_such_time:
      return shown + " is a date or time that does not exist; correct it, or remove the row";
    case TimeFault::outside_years:
      return shown + " lies outside of the years 0001 to 9999; correct it, or remove the row";
    case TimeFault::too_coarse:
      return shown + " does not say which " + unit_name +
             " it means; give the date with its day, or use a longer unit" + " than " + unit_name;
    case TimeFault::other_form:
    case TimeFault::few_digits:
    case TimeFault::small_number:
      return explain_time_number(field, fault, unit);
    case TimeFault::unknown_form:
    case TimeFault::none:
      break;
  }
  double value = 0;
  if (parse_tns_value(field, value) == TnsValueFault::none && field.find_first_of("eE") != std::string_view::npos) {
    return shown + " is a number with an exponent, which may have lost digits; write it in full, or as ISO 8601 has it";
  }
  return shown + " is no time in the form of ISO 8601, such as 2024-03-05T14:07:33+01:00, and no number of seconds " +
         "since 1970; rewrite the column, or leave out :" + unit_name + " to take its fields as they are";
}

std::string explain_number(std::string_view field, const ComputedForm& form) {
  const std::string shown = quoted_for_message(field);
  double number = 0;
  switch (parse_decimal(field, form.decimal, number)) {
    case TnsValueFault::not_finite:
      return shown + " is not finite, and has no bin; replace it by a finite number, or remove the row";
    case TnsValueFault::overflow:
      return shown + " is too large for a double; scale the numbers down";
    case TnsValueFault::no_number:
      return shown + " is not a number, and has no bin; correct it, or name the column alone to take its fields as " +
             "keys; numbers have a decimal " + (form.decimal == '.' ? "dot" : "comma") + " unless " +
             option_name("columns.decimal") + " says otherwise";
    case TnsValueFault::none:
      break;
  }
  if (form.known_bins.size() == 0) {
    return shown + " has no bin, because the mode in " + option_name("columns.labels_from") + " has none; leave out " +
           option_name("columns.labels_from");
  }
  return shown + " lies outside of the bins of " + option_name("columns.labels_from") + ", which are from " +
         shortest_number(form.known_bins.lower()) + " to " + shortest_number(form.known_bins.upper()) +
         "; remove the row, or leave out " + option_name("columns.labels_from") + " to make new bins";
}

std::string explain_index(std::string_view field, const ComputedForm& form) {
  const std::string shown = quoted_for_message(field);
  if (!form.missing_key.empty() && field == form.missing_key) {
    return shown + " is a key, which cannot go in the place of an index; leave such rows out with " +
           option_name("columns.missing", "skip") + ", or leave out :index";
  }
  return shown + " is no index, a whole number from 0 to " + std::to_string(max_index) +
         "; correct it, or leave out :index to take the fields as keys";
}

}  // namespace

bool word_in_bins(double number, const ComputedForm& form, std::uint64_t& word) {
  if (!form.has_known_bins) {
    word = word_of_number(number);
    return true;
  }
  if (form.known_bins.size() == 0 || number < form.known_bins.lower() || number > form.known_bins.upper()) {
    word = word_of_number(number);
    return form.takes_others;
  }
  word = form.known_bins.bin_of(number);
  return true;
}

bool word_of_field(std::string_view field, const ComputedForm& form, std::uint64_t& word, TimeSpan* span) {
  if (!form.missing_key.empty() && field == form.missing_key) {
    word = missing_word;
    return form.reading.kind != Kind::index;
  }
  const std::string_view text = trimmed(field);
  if (form.reading.kind == Kind::time) {
    std::int64_t number = 0;
    if (parse_time_unit(text, form.reading.unit, number, span, form.reading.is_utc) != TimeFault::none) return false;
    word = word_of_integer(number);
    return true;
  }
  if (form.reading.kind == Kind::index) {
    std::uint32_t index = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), index);
    word = word_of_integer(index);
    return failure == std::errc() && end == text.data() + text.size() && index <= max_index;
  }
  double number = 0;
  if (parse_decimal(text, form.decimal, number) != TnsValueFault::none) {
    const auto bin = form.known_bins.bin_with_label(text);
    word = bin.value_or(0);
    return bin.has_value();
  }
  return word_in_bins(number, form, word);
}

std::string explain_refused_field(std::string_view field, const ComputedForm& form) {
  const std::string_view text = trimmed(field);
  if (text.empty()) return "is empty; fill it in, or remove the row";
  if (form.reading.kind == Kind::index) return explain_index(field, form);
  return form.reading.kind == Kind::time ? explain_time(text, form.reading.unit) : explain_number(text, form);
}

}  // namespace blco
