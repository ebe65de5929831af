// What a report consists of, by name: one table serves its JSON, its form in Python and what else shows all of it.
#pragma once

#include <concepts>
#include <functional>
#include <tuple>
#include <type_traits>

namespace blco {

// A value of a report: a member, or what a function of the report returns. A dot in a name, as in "chunks.total", leads
// into an object of JSON.
template <class Value, class Report>
struct Field {
  const char* name;
  Value Report::*value;
};
template <class Value, class Report>
Field(const char*, Value Report::*) -> Field<Value, Report>;

// The fields of a type, in the order of its JSON; each report has its own beside its definition.
template <class Type>
inline constexpr std::tuple<> fields_of = {};

template <class Type>
concept HasFields = !std::same_as<std::remove_const_t<decltype(fields_of<Type>)>, std::tuple<>>;

// Calls visit(name, value) for each field.
template <HasFields Report, class Visit>
void for_each_field(const Report& report, const Visit& visit) {
  std::apply([&](const auto&... field) { (visit(field.name, std::invoke(field.value, report)), ...); },
             fields_of<Report>);
}

}  // namespace blco
