// RFC 4180 except for line breaks within quotes, which would prevent parallel parsing of blocks.
//
// Small CSV libraries hand out fields one after another, on one thread. Apache Arrow parses blocks on many threads and
// numbers their keys, but then does not know the line of a fault, which has to be named here; and it is a large
// library.
#include "io/text/csv_block.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "io/text/block_words.hpp"
#include "io/text/key_dictionary.hpp"
#include "io/text/quoted_text.hpp"
#include "io/text/tns_block.hpp"
#include "io/text/tns_value.hpp"

namespace blco {
namespace {

// Why parsing of a field stopped.
enum class FieldFault { none, open_quote, text_after_quote, carriage_return };

// Moves `at` from the start of a field to the separator or line end after it.
FieldFault take_field(char*& at, char separator, std::string_view& field) {
  if (*at != '"') {
    const char* const begin = at;
    while (*at != separator && *at != '\n' && *at != '\r') ++at;
    field = {begin, static_cast<std::size_t>(at - begin)};
  } else {
    char* const begin = ++at;
    char* to = begin;
    for (;; ++at) {
      if (*at == '\n') return FieldFault::open_quote;
      if (*at == '"' && *++at != '"') break;
      *to++ = *at;
    }
    field = {begin, static_cast<std::size_t>(to - begin)};
  }
  if (*at == separator || *at == '\n' || (*at == '\r' && at[1] == '\n')) return FieldFault::none;
  return *at == '\r' ? FieldFault::carriage_return : FieldFault::text_after_quote;
}

const char* explain(FieldFault fault) {
  switch (fault) {
    case FieldFault::open_quote:
      return "starts with a quote but has no closing quote on this line; remove line breaks from fields, and double "
             "every quote within a quoted field";
    case FieldFault::text_after_quote:
      return "continues after its closing quote; double every quote within a quoted field";
    case FieldFault::carriage_return:
      return "contains a carriage return; end lines in LF or CR LF, and put any other carriage return in quotes";
    case FieldFault::none:
      break;
  }
  return "";
}

// Numbers the keys of one mode within a block.
class LocalKeys {
 public:
  LocalKeys() : slots_(first_slots) {}

  std::uint32_t number_of(std::string_view key, const char* block) {
    const std::uint32_t hash = hash_key(key);
    std::size_t at = hash & (slots_.size() - 1);
    for (; slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
      const CsvKey& other = keys_[slots_[at] - 1];
      if (other.hash == hash && std::string_view(block + other.begin, other.length) == key) return slots_[at] - 1;
    }
    keys_.push_back({static_cast<std::uint32_t>(key.data() - block), static_cast<std::uint32_t>(key.size()), hash});
    slots_[at] = static_cast<std::uint32_t>(keys_.size());
    if (2 * keys_.size() > slots_.size()) grow();
    return static_cast<std::uint32_t>(keys_.size()) - 1;
  }

  std::vector<CsvKey> take() {
    keys_.shrink_to_fit();
    return std::move(keys_);
  }

 private:
  static constexpr std::size_t first_slots = 256;

  void grow() {
    slots_.assign(2 * slots_.size(), 0);
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      std::size_t at = keys_[i].hash & (slots_.size() - 1);
      while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = static_cast<std::uint32_t>(i + 1);
    }
  }

  std::vector<std::uint32_t> slots_;  // number plus one; 0: free
  std::vector<CsvKey> keys_;
};

std::string_view trimmed(std::string_view field) {
  const std::size_t begin = field.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return field.substr(begin, field.find_last_not_of(" \t") - begin + 1);
}

std::string value_fault(std::string_view field, TnsValueFault fault) {
  if (field.empty()) return "is empty; give the row a value, or remove the row";
  switch (fault) {
    case TnsValueFault::not_finite:
      return quoted_for_message(field) + " is not finite; replace it by a finite number, or remove the row";
    case TnsValueFault::overflow:
      return quoted_for_message(field) + " is too large for a double; scale the values down";
    case TnsValueFault::no_number:
    case TnsValueFault::none:
      break;
  }
  return quoted_for_message(field) + " is not a number; correct it, or name another column with " +
         option_name("columns.value");
}

class CsvParser {
 public:
  CsvParser(std::span<char> text, const CsvForm& form)
      : begin_(text.data()),
        end_(text.data() + text.size()),
        form_(form),
        keys_(static_cast<std::size_t>(form.order)),
        words_(static_cast<std::size_t>(form.order)),
        row_(static_cast<std::size_t>(form.order)) {
    block_.line_count = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
    block_.batch.order = form.order;
  }

  CsvBlock parse() {
    const auto fields = std::max<std::size_t>(1, form_.names.size());
    // Every field of a row is followed by a separator or a line end, and keys are not empty.
    const auto room = std::min<std::uint64_t>(block_.line_count, static_cast<std::uint64_t>(end_ - begin_) /
                                                                     (fields + static_cast<std::size_t>(form_.order)));
    block_.batch.values.reserve(room);
    block_.batch.narrow.reserve(room * static_cast<std::size_t>(form_.order));
    for (char* at = begin_; at != end_ && !block_.fault; ++line_) {
      if (*at == '\n' || (*at == '\r' && at[1] == '\n')) {
        at += *at == '\r' ? 2 : 1;
      } else {
        parse_row(at);
      }
    }
    block_.batch.values.shrink_to_fit();
    block_.batch.narrow.shrink_to_fit();
    for (LocalKeys& keys : keys_) block_.keys.push_back(keys.take());
    for (BlockWords& words : words_) block_.words.push_back(words.take());
    return std::move(block_);
  }

 private:
  void fail(const std::string& what) { block_.fault = CsvFault{line_, what}; }
  void fail_column(std::size_t column, const std::string& what) {
    fail("column " + std::to_string(column + 1) + ", " + quoted_for_message(form_.names[column]) + ", " + what);
  }

  // Moves past the row, unless it is refused.
  void parse_row(char*& at) {
    const char* const row_begin = at;
    double value = 1;
    for (std::size_t column = 0;; ++column, ++at) {
      std::string_view field;
      const FieldFault fault = take_field(at, form_.separator, field);
      if (column >= form_.names.size()) return fail_count(at, column);
      if (fault != FieldFault::none) return fail_column(column, explain(fault));
      if (!take(column, field, value)) return;
      if (*at != form_.separator) {
        if (column + 1 != form_.names.size()) return fail_count(at, column);
        break;
      }
    }
    if (static_cast<std::size_t>(at - row_begin) > max_tns_line_bytes) {
      return fail("the line is longer than 1 MiB; is this a table?");
    }
    at += *at == '\r' ? 2 : 1;
    block_.batch.narrow.insert(block_.batch.narrow.end(), row_.begin(), row_.end());
    block_.batch.values.push_back(value);
  }

  bool take(std::size_t column, std::string_view field, double& value) {
    const int role = form_.roles[column];
    if (role == CsvForm::value) {
      const std::string_view number = trimmed(field);
      const TnsValueFault fault = parse_tns_value(number, value);
      if (fault != TnsValueFault::none) fail_column(column, value_fault(number, fault));
    } else if (role != CsvForm::unused) {
      if (field.empty()) {
        fail_column(column, "is empty; a key requires at least one character, so fill it in, or remove the row");
      } else {
        take_key(column, static_cast<std::size_t>(role), field);
      }
    }
    return !block_.fault;
  }

  // For all modes of the column, of which `mode` is the first.
  void take_key(std::size_t column, std::size_t mode, std::string_view field) {
    for (;;) {
      const ComputedForm& reading = form_.readings[mode];
      std::uint64_t word = 0;
      if (!reading.is_computed()) {
        row_[mode] = keys_[mode].number_of(field, begin_);
      } else if (word_of_field(field, reading, word)) {
        row_[mode] = words_[mode].number_of(word);
      } else {
        return fail_column(column, explain_refused_field(field, reading));
      }
      if (form_.same_column[mode] == CsvForm::unused) return;
      mode = static_cast<std::size_t>(form_.same_column[mode]);
    }
  }

  // The line has another number of fields than the header; `column` is the last one seen.
  void fail_count(char* at, std::size_t column) {
    while (*at == form_.separator) {
      std::string_view field;
      if (take_field(++at, form_.separator, field) != FieldFault::none) break;
      ++column;
    }
    fail(std::to_string(column + 1) + (column == 0 ? " field" : " fields") + ", but the header has " +
         std::to_string(form_.names.size()) + (form_.names.size() == 1 ? " column" : " columns") +
         "; give every row one field per column, and quote fields that contain the separator");
  }

  char* begin_;
  char* end_;
  const CsvForm& form_;
  std::vector<LocalKeys> keys_;
  std::vector<BlockWords> words_;
  std::vector<std::uint32_t> row_;
  CsvBlock block_;
  std::uint64_t line_ = 0;
};

}  // namespace

CsvBlock parse_csv_block(std::span<char> text, const CsvForm& form) { return CsvParser(text, form).parse(); }

std::vector<std::string> split_csv_line(std::string line, char separator) {
  line += '\n';
  std::vector<std::string> fields;
  for (char* at = line.data();; ++at) {
    std::string_view field;
    const FieldFault fault = take_field(at, separator, field);
    if (fault != FieldFault::none) {
      throw Error(ErrorKind::invalid_argument,
                  "column " + std::to_string(fields.size() + 1) + " of the header " + explain(fault));
    }
    fields.emplace_back(field);
    if (*at != separator) return fields;
  }
}

}  // namespace blco
