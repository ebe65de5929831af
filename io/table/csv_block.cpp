// Parses rows whole, then their fields in the columns of modes and values.
//
// Small CSV libraries hand out fields one after another, on one thread. Apache Arrow parses blocks on many threads and
// numbers their keys, but then does not know the line of a fault, which has to be named here; and it is a large
// library.
#include "io/table/csv_block.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "blco/option_name.hpp"
#include "io/table/csv_field.hpp"
#include "io/table/key_dictionary.hpp"
#include "io/text/quoted_text.hpp"
#include "io/text/text_scan.hpp"
#include "io/text/tns_block.hpp"

namespace blco {
namespace {

std::uint32_t hash_of(const CsvKey& key) { return key.hash; }
std::uint32_t hash_of(std::uint64_t word) {
  constexpr std::uint64_t multiplier = 0x9e3779b97f4a7c15;
  return static_cast<std::uint32_t>(((word ^ word >> 32) * multiplier) >> 32);
}

// Numbers the keys or words of one mode within a block, by first appearance.
template <class Entry>
class LocalNumbers {
 public:
  // Of the entry that `is_same`, or of a new one.
  template <class IsSame>
  std::uint32_t number_of(const Entry& entry, const IsSame& is_same) {
    std::size_t at = place_of(entry);
    for (; slots_[at] != 0; at = next(at)) {
      if (is_same(entries_[slots_[at] - 1])) return slots_[at] - 1;
    }
    slots_[at] = append(entry) + 1;
    if (2 * entries_.size() > slots_.size()) grow();
    return static_cast<std::uint32_t>(entries_.size()) - 1;
  }

  // Of an entry that number_of() never finds.
  std::uint32_t append(const Entry& entry) {
    entries_.push_back(entry);
    return static_cast<std::uint32_t>(entries_.size()) - 1;
  }

  const std::vector<Entry>& entries() const { return entries_; }

  std::vector<Entry> take() {
    entries_.shrink_to_fit();
    return std::move(entries_);
  }

 private:
  std::size_t place_of(const Entry& entry) const { return hash_of(entry) & (slots_.size() - 1); }
  std::size_t next(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }

  void grow() {
    const std::vector<std::uint32_t> old = std::exchange(slots_, std::vector<std::uint32_t>(2 * slots_.size()));
    for (const std::uint32_t number_from_one : old) {
      if (number_from_one == 0) continue;
      std::size_t at = place_of(entries_[number_from_one - 1]);
      while (slots_[at] != 0) at = next(at);
      slots_[at] = number_from_one;
    }
  }

  std::vector<std::uint32_t> slots_ = std::vector<std::uint32_t>(256);  // number plus one; 0: free
  std::vector<Entry> entries_;
};

class LocalWords : public LocalNumbers<std::uint64_t> {
 public:
  std::uint32_t number_of(std::uint64_t word) {
    const auto is_same = [word](std::uint64_t other) { return other == word; };
    // Neighbouring rows often have the same day.
    if (entries().empty() || entries()[last_] != word) last_ = LocalNumbers::number_of(word, is_same);
    return last_;
  }

 private:
  std::uint32_t last_ = 0;
};

class LocalKeys : public LocalNumbers<CsvKey> {
 public:
  // `is_ascii`: all keys are.
  explicit LocalKeys(bool is_ascii) : is_ascii_(is_ascii) {}

  std::uint32_t number_of(std::string_view key, const char* block) {
    const CsvKey entry = {static_cast<std::uint32_t>(key.data() - block), static_cast<std::uint32_t>(key.size()),
                          hash_key(key)};
    const std::size_t known = entries().size();
    const std::uint32_t number = LocalNumbers::number_of(entry, [&](const CsvKey& other) {
      return other.hash == entry.hash && std::string_view(block + other.begin, other.length) == key;
    });
    if (number == known && !is_ascii_ && find_invalid_utf8(key)) has_invalid_ = true;
    return number;
  }

  // The key that stands for missing ones; `key` is its text.
  std::uint32_t number_of_missing(std::string_view key) {
    if (!missing_) missing_ = append({CsvKey::missing, 0, hash_key(key)});
    return *missing_;
  }

  // A key that is not UTF-8 has been numbered.
  bool has_invalid() const { return has_invalid_; }

 private:
  bool is_ascii_;
  bool has_invalid_ = false;
  std::optional<std::uint32_t> missing_;
};

class CsvParser {
 public:
  CsvParser(std::span<char> text, const CsvForm& form)
      : begin_(text.data()),
        end_(text.data() + text.size()),
        ends_(form.separator, begin_),
        form_(form),
        replaces_missing_(!form.missing.key.empty()),
        words_(static_cast<std::size_t>(form.order)) {
    const TextCensus census = take_census({text.data(), text.size()});
    block_.line_count = census.lines;
    keys_.assign(static_cast<std::size_t>(form.order), LocalKeys(census.is_ascii));
    block_.batch.order = form.order;
    block_.skipped.resize(static_cast<std::size_t>(form.order) + 1);
    block_.times.resize(static_cast<std::size_t>(form.order));
    for (std::size_t column = 0; column < form.roles.size(); ++column) {
      if (form.roles[column] != CsvForm::unused) used_.push_back(column);
      is_trimmed_.push_back(form.roles[column] == CsvForm::value || is_computed(form.roles[column]));
    }
    fields_.resize(used_.size());
    takes_blanks_ = form.names.size() == 1 && !is_trimmed_[0];
  }

  CsvBlock parse() {
    reserve();
    for (char* at = begin_; at != end_ && !block_.fault;) {
      char* const end = after_blanks(at);
      if (*end == '\n' || (*end == '\r' && end[1] == '\n')) {
        at = end + (*end == '\r' ? 2 : 1);
      } else {
        parse_row(at);
      }
    }
    block_.batch.values.resize(rows_);
    block_.batch.narrow.resize(rows_ * static_cast<std::size_t>(form_.order));
    block_.batch.values.shrink_to_fit();
    block_.batch.narrow.shrink_to_fit();
    for (LocalKeys& keys : keys_) block_.keys.push_back(keys.take());
    for (LocalWords& words : words_) block_.words.push_back(words.take());
    return std::move(block_);
  }

 private:
  // Whether a mode of the column is of times or numbers; `mode` is the first, or unused.
  bool is_computed(int mode) const {
    for (; mode >= 0; mode = form_.same_column[static_cast<std::size_t>(mode)]) {
      if (form_.readings[static_cast<std::size_t>(mode)].is_computed()) return true;
    }
    return false;
  }

  // From the start of a line.
  char* after_blanks(char* at) const {
    while (!takes_blanks_ && (*at == ' ' || *at == '\t') && *at != form_.separator) ++at;
    return at;
  }

  void reserve() {
    // Every field of a row is followed by a separator or a line end, and keys are not empty unless another replaces
    // them.
    const auto key_columns =
        static_cast<std::size_t>(std::ranges::count_if(form_.roles, [](int role) { return role >= 0; }));
    const std::size_t shortest = std::max<std::size_t>(1, form_.names.size()) + (replaces_missing_ ? 0 : key_columns);
    const auto room = std::min<std::uint64_t>(block_.line_count, static_cast<std::uint64_t>(end_ - begin_) / shortest);
    block_.batch.values.resize(room);
    block_.batch.narrow.resize(room * static_cast<std::size_t>(form_.order));
    if (form_.keeps_places) block_.row_begins.reserve(room);
  }

  bool lacks(std::size_t column, std::string_view field) const {
    if (is_trimmed_[column]) field = trimmed(field);
    const std::vector<std::string>& words = form_.missing.words;
    return is_missing(field) || (!words.empty() && std::ranges::find(words, field) != words.end());
  }

  // `place` is in the line to be named. Unquoting before it has changed no line break.
  void fail(const char* place, const std::string& what) {
    const auto line = static_cast<std::uint64_t>(std::count(static_cast<const char*>(begin_), place, '\n'));
    block_.fault = CsvFault{line, what};
  }
  void fail_column(std::size_t column, const std::string& what) { fail(row_begin_, column_name(column) + what); }
  void fail_long_row() { fail(row_begin_, "the row is longer than 1 MiB; is this a table?"); }
  // A quote that is not closed may swallow the rest of the file, so the line of the field says more than that of the
  // row.
  void fail_open_field(const char* field, std::size_t column) {
    fail(field, (column < form_.names.size() ? column_name(column) : "a field ") + explain(FieldFault::open_quote, {}));
  }
  std::string column_name(std::size_t column) const {
    return "column " + std::to_string(column + 1) + ", " + quoted_for_message(form_.names[column]) + ", ";
  }

  // Moves past the row, unless it is refused. Fields are looked at once the row is whole: a row that is left out must
  // leave no keys behind.
  void parse_row(char*& row_at) {
    char* at = row_at;
    row_begin_ = at;
    const char separator = form_.separator;
    const std::size_t columns = form_.names.size();
    const int* const roles = form_.roles.data();
    std::string_view* used = fields_.data();
    bool has_missing = false;
    for (std::size_t column = 0;; ++column, ++at) {
      char* const field_begin = at;
      std::string_view field;
      const FieldFault fault = take_field(at, end_, separator, form_.has_quotes, ends_, field);
      if (fault != FieldFault::none || column >= columns) return fail_field(at, field_begin, column, fault, field);
      if (field.data() != field_begin && field.find('\n') != field.npos) see_span(field_begin, field, column);
      if (roles[column] != CsvForm::unused) {
        has_missing |= lacks(column, field);
        *used++ = field;
      }
      if (*at != separator) {
        if (column + 1 != columns) return fail_count(at, column);
        break;
      }
    }
    if (static_cast<std::size_t>(at - row_begin_) > max_tns_line_bytes) return fail_long_row();
    row_at = at + (*at == '\r' ? 2 : 1);
    if (!has_missing || accept_missing()) take_row();
  }

  void fail_field(char* at, const char* field_begin, std::size_t column, FieldFault fault, std::string_view field) {
    if (fault == FieldFault::open_quote) return fail_open_field(field_begin, column);
    if (column >= form_.names.size()) return fail_count(at, column);
    fail_column(column, explain(fault, field));
  }

  // A quoted field with line breaks. If it has as many separators as the rows that these would end, its quotes may be
  // ordinary characters of two rows.
  void see_span(const char* field_begin, std::string_view field, std::size_t column) {
    const auto breaks = static_cast<std::size_t>(std::ranges::count(field, '\n'));
    const auto separators = static_cast<std::size_t>(std::ranges::count(field, form_.separator));
    if (form_.roles[column] < 0 && separators != breaks * (form_.names.size() - 1)) return;
    if (block_.spans.count++ > 0) return;
    const auto line = std::count(static_cast<const char*>(begin_), field_begin, '\n');
    block_.spans = {1, static_cast<std::uint64_t>(line), breaks, column};
  }

  void take_row() {
    std::uint32_t* const row = block_.batch.narrow.data() + rows_ * static_cast<std::size_t>(form_.order);
    double& value = block_.batch.values[rows_] = 1;
    for (std::size_t i = 0; i < used_.size(); ++i) {
      if (!take(used_[i], fields_[i], row, value)) return;
    }
    ++rows_;
    if (form_.keeps_places) block_.row_begins.push_back(static_cast<std::uint32_t>(row_begin_ - begin_));
  }

  // Of a row with a missing field: true if it is taken, with a key in the place of missing ones.
  bool accept_missing() {
    for (std::size_t i = 0; i < used_.size(); ++i) {
      const int role = form_.roles[used_[i]];
      const bool is_value = role == CsvForm::value;
      if (!lacks(used_[i], fields_[i])) continue;
      if (!form_.missing.are_accepted) {
        fail_missing(used_[i], fields_[i]);
        return false;
      }
      if (!is_value && !form_.missing.key.empty()) continue;
      ++block_.skipped[static_cast<std::size_t>(is_value ? form_.order : role)];
      return false;
    }
    return true;
  }

  void fail_missing(std::size_t column, std::string_view field) {
    const int role = form_.roles[column];
    const bool is_key = role != CsvForm::value && !form_.readings[static_cast<std::size_t>(role)].is_index();
    const std::string what = trimmed(field).empty() ? "is empty" : quoted_for_message(field) + " means a missing field";
    fail_column(column, what + missing_remedy(is_key, field.empty() ? "unknown" : std::string(field)));
  }

  bool take(std::size_t column, std::string_view field, std::uint32_t* row, double& value) {
    const int role = form_.roles[column];
    if (role == CsvForm::value) {
      take_value(column, trimmed(field), value);
    } else {
      take_key(column, static_cast<std::size_t>(role), field, row);
    }
    return !block_.fault;
  }

  void take_value(std::size_t column, std::string_view field, double& value) {
    const auto number = parse_short_number(field.data(), form_.decimal);
    value = number.value;
    if (number.end == field.data() + field.size()) return;
    const auto fault = parse_csv_value(field, form_.decimal, value);
    if (fault) fail_column(column, *fault);
  }

  // For all modes of the column, of which `mode` is the first.
  void take_key(std::size_t column, std::size_t mode, std::string_view field, std::uint32_t* row) {
    const bool is_replaced = replaces_missing_ && lacks(column, field);
    for (;;) {
      const ComputedForm& reading = form_.readings[mode];
      std::uint64_t word = 0;
      if (!reading.is_computed()) {
        LocalKeys& keys = keys_[mode];
        row[mode] = is_replaced ? keys.number_of_missing(form_.missing.key) : keys.number_of(field, begin_);
        if (keys.has_invalid()) return fail_column(column, quoted_for_message(field) + not_utf8);
      } else if (is_replaced ? word_of_field(form_.missing.key, reading, word)
                             : word_of_field(field, reading, word, &block_.times[mode])) {
        row[mode] = words_[mode].number_of(word);
      } else {
        return fail_column(column, explain_refused_field(field, reading));
      }
      if (form_.same_column[mode] == CsvForm::unused) return;
      mode = static_cast<std::size_t>(form_.same_column[mode]);
    }
  }

  // The row has another number of fields than the header; `column` is the last one seen.
  void fail_count(char* at, std::size_t column) {
    while (*at == form_.separator) {
      std::string_view field;
      if (take_field(++at, end_, form_.separator, form_.has_quotes, ends_, field) != FieldFault::none) break;
      ++column;
    }
    if (static_cast<std::size_t>(at - row_begin_) > max_tns_line_bytes) return fail_long_row();
    const bool is_longer = column + 1 > form_.names.size();
    const bool ends_in_separator = is_longer ? at[-1] == form_.separator : form_.names.back().empty();
    fail(row_begin_, std::to_string(column + 1) + (column == 0 ? " field" : " fields") + ", but the header has " +
                         std::to_string(form_.names.size()) + (form_.names.size() == 1 ? " column" : " columns") +
                         (ends_in_separator ? std::string("; ") + (is_longer ? "the row" : "the header") +
                                                  " ends in a separator, which begins one more: remove it, or give "
                                                  "all lines one"
                                            : "; give every row one field per column, and quote fields that contain "
                                              "the separator"));
  }

  char* begin_;
  char* end_;
  FieldEnds ends_;
  const CsvForm& form_;
  bool replaces_missing_;
  std::vector<char> is_trimmed_;          // per column: blanks around its fields do not count
  bool takes_blanks_ = false;             // a line of blanks is a row, as its only field is a key
  std::vector<std::size_t> used_;         // columns of modes and values, in the order of the file
  std::vector<std::string_view> fields_;  // of these columns, in the row being parsed
  std::vector<LocalKeys> keys_;
  std::vector<LocalWords> words_;
  std::size_t rows_ = 0;  // taken so far
  CsvBlock block_;
  const char* row_begin_ = nullptr;
};

}  // namespace

CsvBlock parse_csv_block(std::span<char> text, const CsvForm& form) { return CsvParser(text, form).parse(); }

}  // namespace blco
