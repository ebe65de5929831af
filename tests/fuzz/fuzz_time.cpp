// Fuzzes the parser of times: a unit's label gives the unit back, longer units agree with shorter ones, and bins have
// their labels.
#include <array>
#include <cmath>

#include "io/table/computed_field.hpp"
#include "io/table/time_unit.hpp"
#include "tests/fuzz/fuzz_input.hpp"

namespace {

using namespace blco;

void require_unit(std::string_view field, TimeUnit unit) {
  std::int64_t number = 0;
  TimeSpan span;
  const TimeFault fault = parse_time_unit(field, unit, number, &span);
  if (span.first <= span.last) fuzz::require(fault == TimeFault::none && time_unit_at(span.first, unit) == number);
  const ComputedForm form{.reading = {.kind = FieldReading::Kind::time, .unit = unit}};
  std::uint64_t word = 0;
  // Blanks around a field do not count.
  const bool is_taken = word_of_field(field, form, word);
  fuzz::require(is_taken || (fault != TimeFault::none && !explain_refused_field(field, form).empty()));
  if (fault != TimeFault::none) return;
  const std::string label = time_unit_label(number, unit);
  fuzz::require(number_of_time_label(label, unit) == number);
  // Labels have the order of time.
  std::int64_t next = 0;
  const std::string next_label = time_unit_label(number + 1, unit == TimeUnit::weekday ? TimeUnit::day : unit);
  if (!recurs(unit) && parse_time_unit(next_label, unit, next) == TimeFault::none) {
    fuzz::require(next == number + 1 && label < next_label);
  }
}

void require_point(std::string_view field) {
  TimePoint point;
  if (parse_time(field, point) != TimeFault::none) return;
  fuzz::require(point.seconds >= min_time_seconds && point.seconds <= max_time_seconds);
  const auto at = [&](TimeUnit unit) { return time_unit_at(point.seconds, unit); };
  fuzz::require(at(TimeUnit::quarter) / 4 == at(TimeUnit::year) && at(TimeUnit::month) / 12 == at(TimeUnit::year));
  const std::string minute = time_unit_label(at(TimeUnit::minute), TimeUnit::minute);
  for (const TimeUnit unit : {TimeUnit::year, TimeUnit::month, TimeUnit::day, TimeUnit::hour}) {
    fuzz::require(minute.starts_with(time_unit_label(at(unit), unit)));
  }
  fuzz::require(minute.substr(11, 2) == time_unit_label(at(TimeUnit::hour_of_day), TimeUnit::hour_of_day));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace blco;
  fuzz::FuzzInput input(data, size);
  const std::string_view field = input.rest();
  require_point(field);
  for (int unit = 0; unit < time_unit_count; ++unit) require_unit(field, static_cast<TimeUnit>(unit));
  const std::array<std::string, 2> columns = {"when", std::string(field)};
  fuzz::refusal_of([&] { fuzz::require(parse_mode_columns(columns, columns).size() == 2); });
  fuzz::refusal_of([&] { fuzz::require(parse_mode_columns(std::span(columns).last(1), {}).size() == 1); });
  const std::array<std::string, 1> label = {std::string(field)};
  if (!field.empty()) {
    const Labels labels(label);
    if (const auto bins = NumberBins::of_labels(labels, 1)) fuzz::require(bins->label(0) == field);
  }
  return 0;
}
