// Cells become words and values as the fields of text do.
#include "io/arrow/chosen_column.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "io/table/csv_block.hpp"
#include "io/table/csv_field.hpp"
#include "io/text/quoted_text.hpp"

namespace blco {
namespace {

using Kind = FieldReading::Kind;

// Of arrays that are both alive: their bytes cannot change.
bool is_same_dictionary(const ArrowArray& a, const ArrowArray& b) {
  if (a.length != b.length || a.offset != b.offset || a.null_count != b.null_count || a.n_buffers != b.n_buffers)
    return false;
  return std::equal(a.buffers, a.buffers + a.n_buffers, b.buffers);
}

// Whether a float of this width may be another whole number than was meant.
bool is_rounded(ArrowStorage storage, double number) {
  const double exact = storage == ArrowStorage::f16 ? 1 << 11 : 1 << 24;
  return (storage == ArrowStorage::f16 || storage == ArrowStorage::f32) && std::abs(number) > exact;
}

}  // namespace

ChosenColumn::ChosenColumn(const ArrowSchema& schema, std::size_t place, int meaning)
    : number(place),
      name(schema.name != nullptr ? schema.name : ""),
      type(arrow_type_of(schema.dictionary != nullptr ? *schema.dictionary : schema)),
      role(meaning) {
  if (schema.dictionary == nullptr) return;
  is_ordered = (schema.flags & ARROW_FLAG_DICTIONARY_ORDERED) != 0;
  codes = arrow_type_of(schema);
  if (schema.dictionary->dictionary != nullptr) {
    refuse("column " + quoted_for_message(name) + " is a dictionary of dictionaries; cast it to what these list");
  }
  if (!codes->is_integer()) {
    refuse("column " + quoted_for_message(name) + " has a dictionary with codes of the type " + codes->name +
           ", but codes are integers; the library that made the stream is at fault");
  }
}

std::uint64_t ChosenColumn::at(std::size_t row) const {
  if (!codes) return row;
  return visit_integers(codes->storage, cells.data(),
                        [row](const auto* numbers) { return static_cast<std::uint64_t>(numbers[row]); });
}

void ChosenColumn::check_type(const ComputedForm* reading) const {
  const bool is_flag = type.storage == ArrowStorage::bits;
  std::string wanted;
  if (reading == nullptr) {
    if (!type.is_number() && !is_flag && !type.is_text()) wanted = "values are numbers: cast it to float64";
  } else if (reading->reading.kind == Kind::time) {
    const bool is_since_1970 = type.is_integer() || type.is_float();
    if (!type.is_time() && !type.is_text() && !is_since_1970) {
      wanted = "a mode of times takes timestamps, dates, strings, or numbers since 1970: cast it to one of them";
    }
  } else if (reading->is_index()) {
    if (!type.is_integer() || has_dictionary())
      wanted = "indices are whole numbers: cast it to int64, or leave out :index";
  } else if (reading->is_computed()) {
    if (!type.is_number() && !type.is_text()) wanted = "bins are of numbers: cast it to float64";
  } else if (!type.is_integer() && !type.is_text() && !is_flag) {
    wanted = "a mode takes whole numbers or strings: cast it to one of them";
    if (type.is_time()) wanted += ", or name a unit of time, such as " + name + ":day";
    if (type.is_number()) wanted += ", or ask for bins, such as " + name + ":bins=10";
  }
  if (type.name.starts_with("decimal") && !type.is_number()) {
    wanted = "only decimals of 128 bits are read: cast it to decimal128 or float64";
  }
  if (!type.extension.empty() && !type.is_text() && type.extension != "arrow.bool8") {
    wanted = "what it stores is read only where the type itself is known: cast it to strings, numbers or timestamps";
  }
  if (!wanted.empty()) refuse("column " + quoted_for_message(name) + " has the type " + type.name + "; " + wanted);
}

void ChosenColumn::find_zone() {
  if (type.zone.empty()) return;
  try {
    zone_.emplace(type.zone);
  } catch (const Error& error) {
    throw Error(error.kind(), "column " + quoted_for_message(name) + ": " + error.what());
  }
}

bool ChosenColumn::set(const ArrowArray& batch, const ArrowArray* before) {
  const ArrowArray& array = *batch.children[number];
  cells = ArrowCells(array, codes.value_or(type), batch.offset, batch.length);
  if (!has_dictionary()) return false;
  if (array.dictionary == nullptr) throw Error(ErrorKind::corrupt, "the batch has no dictionary");
  if (before != nullptr && is_same_dictionary(*before->children[number]->dictionary, *array.dictionary)) {
    listed.follow(*array.dictionary);
    return false;
  }
  listed = ArrowCells(*array.dictionary, type, 0, array.dictionary->length);
  list_size = static_cast<std::size_t>(array.dictionary->length);
  is_gap.clear();
  for (std::size_t i = 0; i < list_size; ++i) {
    if (!is_gap_at(listed, i)) continue;
    is_gap.resize(list_size);
    is_gap[i] = 1;
  }
  return true;
}

bool ChosenColumn::may_be_missing() const {
  if (cells.has_nulls()) return true;
  return has_dictionary() ? !is_gap.empty() : type.is_text() || type.is_float();
}

bool ChosenColumn::is_missing(std::size_t row) const {
  if (!has_dictionary()) return is_gap_at(cells, row);
  if (cells.is_null(row)) return true;
  const std::uint64_t code = at(row);
  return code < is_gap.size() && is_gap[static_cast<std::size_t>(code)] != 0;
}

bool ChosenColumn::has_missing(std::size_t begin, std::size_t end) const {
  bool found = false;
  if (type.is_float() && !has_dictionary() && !cells.has_nulls()) {
    visit_numbers(type.storage, cells.data(), [&](const auto* numbers) {
      for (std::size_t row = begin; row < end; ++row) found |= std::isnan(static_cast<double>(numbers[row]));
    });
    return found;
  }
  for (std::size_t row = begin; row < end && !found; ++row) found = is_missing(row);
  return found;
}

bool ChosenColumn::is_gap_at(const ArrowCells& in, std::size_t cell) const {
  if (in.is_null(cell)) return true;
  if (type.is_text()) return in.text(cell).empty();
  return type.is_float() && std::isnan(in.number(cell));
}

std::optional<std::string> ChosenColumn::find_word(std::size_t cell, const ComputedForm& form, std::uint64_t& word,
                                                   TimeSpan& times) const {
  if (type.is_time()) {
    const std::int64_t moment = keys().time(cell);
    const std::int64_t seconds = moment + (zone_ && !form.reading.is_utc ? zone_->offset_at(moment) : 0);
    if (seconds < min_time_seconds || seconds > max_time_seconds)
      return ": the time lies outside of the years 0001 to 9999; correct it, or remove the row";
    word = word_of_integer(time_unit_at(seconds, form.reading.unit));
    return std::nullopt;
  }
  if (!type.is_text() && form.reading.kind != Kind::time) {
    const double found = keys().number(cell);
    if (std::isfinite(found) && word_in_bins(found, form, word)) return std::nullopt;
  }
  const std::string digits = type.is_text() ? std::string() : keys().text_of_number(cell);
  const std::string_view field = type.is_text() ? keys().text(cell) : digits;
  if (form.reading.kind == Kind::time && is_rounded(type.storage, type.is_float() ? keys().number(cell) : 0)) {
    return ": a " + type.name + " has too few digits for a time such as " + digits +
           ", which may be rounded; cast the column to timestamps or to double where its numbers are still exact";
  }
  if (word_of_field(field, form, word, &times)) return std::nullopt;
  const bool is_count = form.reading.kind == Kind::time && !type.is_text();
  return ": " + explain_refused_field(field, form) + (is_count ? ", or cast the column to timestamps" : "");
}

std::optional<std::string> ChosenColumn::read_value(std::size_t row, char decimal, double& value) const {
  const std::uint64_t code = at(row);
  if (has_dictionary() && code >= list_size) return explain_code(code);
  const auto cell = static_cast<std::size_t>(code);
  if (type.is_text()) {
    const auto why = parse_csv_value(trimmed(keys().text(cell)), decimal, value);
    return why ? std::optional(": " + *why) : std::nullopt;
  }
  value = keys().number(cell);
  if (std::isfinite(value)) return std::nullopt;
  return ": " + std::to_string(value) + " is not finite; replace it by a finite number, or remove the row";
}

std::string ChosenColumn::explain_missing(std::size_t row, bool are_accepted) const {
  const bool is_null = cells.is_null(row) || keys().is_null(static_cast<std::size_t>(at(row)));
  const std::string what = is_null ? ", is null" : type.is_text() ? ", is empty" : ", is NaN, a missing field";
  if (are_accepted) {
    return what + ", and no key goes in the place of an index; leave such rows out with " +
           option_name("columns.missing", "skip") + ", or cast the column to strings";
  }
  return what + missing_remedy(role != CsvForm::value && !is_index, "unknown");
}

std::string ChosenColumn::explain_code(std::uint64_t code) const {
  return ": the code " + std::to_string(static_cast<std::int64_t>(code)) + " is none of its dictionary, which has " +
         std::to_string(list_size) + " entries; the library that made the stream is at fault";
}

}  // namespace blco
