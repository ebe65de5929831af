// Parses rows whole, then their fields in the columns of modes and values.
//
// Small CSV libraries hand out fields one after another, on one thread. Apache Arrow parses blocks on many threads and
// numbers their keys, but then does not know the line of a fault, which has to be named here; and it is a large
// library.
#include "io/text/csv_block.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "blco/option_name.hpp"
#include "io/text/csv_field.hpp"
#include "io/text/csv_value.hpp"
#include "io/text/key_dictionary.hpp"
#include "io/text/quoted_text.hpp"
#include "io/text/tns_block.hpp"
#include "io/text/utf8.hpp"

namespace blco {
namespace {

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

  // The key that stands for missing ones; `key` is its text.
  std::uint32_t number_of_missing(std::string_view key) {
    if (!missing_) {
      missing_ = static_cast<std::uint32_t>(keys_.size());
      keys_.push_back({CsvKey::missing, 0, hash_key(key)});
    }
    return *missing_;
  }

  std::size_t size() const { return keys_.size(); }

  std::vector<CsvKey> take() {
    keys_.shrink_to_fit();
    return std::move(keys_);
  }

 private:
  static constexpr std::size_t first_slots = 256;

  void grow() {
    slots_.assign(2 * slots_.size(), 0);
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (keys_[i].begin == CsvKey::missing) continue;
      std::size_t at = keys_[i].hash & (slots_.size() - 1);
      while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = static_cast<std::uint32_t>(i + 1);
    }
  }

  std::vector<std::uint32_t> slots_;  // number plus one; 0: free
  std::vector<CsvKey> keys_;
  std::optional<std::uint32_t> missing_;
};

class CsvParser {
 public:
  CsvParser(std::span<char> text, const CsvForm& form)
      : begin_(text.data()),
        end_(text.data() + text.size()),
        form_(form),
        keys_(static_cast<std::size_t>(form.order)),
        row_(static_cast<std::size_t>(form.order)) {
    block_.line_count = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
    block_.batch.order = form.order;
    block_.skipped.resize(static_cast<std::size_t>(form.order) + 1);
    for (std::size_t column = 0; column < form.roles.size(); ++column) {
      if (form.roles[column] != CsvForm::unused) used_.push_back(column);
    }
    fields_.resize(used_.size());
  }

  CsvBlock parse() {
    reserve();
    for (char* at = begin_; at != end_ && !block_.fault;) {
      if (*at == '\n' || (*at == '\r' && at[1] == '\n')) {
        at += *at == '\r' ? 2 : 1;
      } else {
        parse_row(at);
      }
    }
    block_.batch.values.shrink_to_fit();
    block_.batch.narrow.shrink_to_fit();
    for (LocalKeys& keys : keys_) block_.keys.push_back(keys.take());
    return std::move(block_);
  }

 private:
  void reserve() {
    const auto fields = std::max<std::size_t>(1, form_.names.size());
    // Every field of a row is followed by a separator or a line end, and keys are not empty unless another replaces
    // them.
    const std::size_t key_bytes = form_.missing.key.empty() ? static_cast<std::size_t>(form_.order) : 0;
    const auto room =
        std::min<std::uint64_t>(block_.line_count, static_cast<std::uint64_t>(end_ - begin_) / (fields + key_bytes));
    block_.batch.values.reserve(room);
    block_.batch.narrow.reserve(room * static_cast<std::size_t>(form_.order));
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
    fail(field, (column < form_.names.size() ? column_name(column) : "a field ") + explain(FieldFault::open_quote));
  }
  std::string column_name(std::size_t column) const {
    return "column " + std::to_string(column + 1) + ", " + quoted_for_message(form_.names[column]) + ", ";
  }

  // Moves past the row, unless it is refused.
  void parse_row(char*& at) {
    row_begin_ = at;
    std::size_t used = 0;
    for (std::size_t column = 0;; ++column, ++at) {
      char* const field_begin = at;
      std::string_view field;
      const FieldFault fault = take_field(at, end_, form_.separator, field);
      if (fault == FieldFault::open_quote) return fail_open_field(field_begin, column);
      if (column >= form_.names.size()) return fail_count(at, column);
      if (fault != FieldFault::none) return fail_column(column, explain(fault));
      if (form_.roles[column] != CsvForm::unused) fields_[used++] = field;
      if (*at != form_.separator) {
        if (column + 1 != form_.names.size()) return fail_count(at, column);
        break;
      }
    }
    if (static_cast<std::size_t>(at - row_begin_) > max_tns_line_bytes) return fail_long_row();
    at += *at == '\r' ? 2 : 1;
    take_row();
  }

  // Fields are looked at once the row is whole: a row that is left out must leave no keys behind.
  void take_row() {
    for (std::size_t i = 0; i < used_.size(); ++i) {
      const int role = form_.roles[used_[i]];
      const bool is_value = role == CsvForm::value;
      if (!is_missing(is_value ? trimmed(fields_[i]) : fields_[i])) continue;
      if (!form_.missing.are_accepted) return fail_missing(used_[i], fields_[i]);
      if (!is_value && !form_.missing.key.empty()) continue;
      ++block_.skipped[static_cast<std::size_t>(is_value ? form_.order : role)];
      return;
    }
    double value = 1;
    for (std::size_t i = 0; i < used_.size(); ++i) {
      if (!take(used_[i], fields_[i], value)) return;
    }
    block_.batch.narrow.insert(block_.batch.narrow.end(), row_.begin(), row_.end());
    block_.batch.values.push_back(value);
  }

  void fail_missing(std::size_t column, std::string_view field) {
    const bool is_value = form_.roles[column] == CsvForm::value;
    const std::string what = trimmed(field).empty() ? "is empty" : quoted_for_message(field) + " means a missing field";
    const std::string skip = "; fill it in, or leave such rows out with " + option_name("columns.missing", "skip");
    fail_column(
        column,
        what + skip +
            (is_value ? ""
                      : ", or give " + option_name("columns.missing", field.empty() ? "unknown" : std::string(field)) +
                            " to make one key of all missing ones"));
  }

  bool take(std::size_t column, std::string_view field, double& value) {
    const int role = form_.roles[column];
    if (role == CsvForm::value) {
      const auto fault = parse_csv_value(trimmed(field), form_.decimal, value);
      if (fault) fail_column(column, *fault);
    } else {
      LocalKeys& keys = keys_[static_cast<std::size_t>(role)];
      const std::size_t known = keys.size();
      const bool is_replaced = !form_.missing.key.empty() && is_missing(field);
      const std::uint32_t number =
          is_replaced ? keys.number_of_missing(form_.missing.key) : keys.number_of(field, begin_);
      if (number == known && !is_replaced) check_encoding(column, field);
      row_[static_cast<std::size_t>(role)] = number;
    }
    return !block_.fault;
  }

  void check_encoding(std::size_t column, std::string_view key) {
    if (find_invalid_utf8(key)) fail_column(column, quoted_for_message(key) + not_utf8);
  }

  // The row has another number of fields than the header; `column` is the last one seen.
  void fail_count(char* at, std::size_t column) {
    while (*at == form_.separator) {
      std::string_view field;
      if (take_field(++at, end_, form_.separator, field) != FieldFault::none) break;
      ++column;
    }
    if (static_cast<std::size_t>(at - row_begin_) > max_tns_line_bytes) return fail_long_row();
    fail(row_begin_, std::to_string(column + 1) + (column == 0 ? " field" : " fields") + ", but the header has " +
                         std::to_string(form_.names.size()) + (form_.names.size() == 1 ? " column" : " columns") +
                         "; give every row one field per column, and quote fields that contain the separator");
  }

  char* begin_;
  char* end_;
  const CsvForm& form_;
  std::vector<std::size_t> used_;         // columns of modes and values, in the order of the file
  std::vector<std::string_view> fields_;  // of these columns, in the row being parsed
  std::vector<LocalKeys> keys_;
  std::vector<std::uint32_t> row_;
  CsvBlock block_;
  const char* row_begin_ = nullptr;
};

}  // namespace

CsvBlock parse_csv_block(std::span<char> text, const CsvForm& form) { return CsvParser(text, form).parse(); }

}  // namespace blco
