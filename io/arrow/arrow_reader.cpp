// Takes a batch piece by piece: looks for missing cells, numbers the keys of each mode, then makes entries, each step
// in parallel.
// Over 500 lines: the steps share the piece at hand, and nobody else has a use for any of them.
#include "io/arrow/arrow_reader.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "io/arrow/arrow_column.hpp"
#include "io/arrow/chosen_column.hpp"
#include "io/arrow/code_numbers.hpp"
#include "io/text/quoted_text.hpp"

namespace blco {
namespace {

constexpr std::uint64_t min_piece_rows = std::uint64_t{1} << 12;
constexpr std::uint64_t max_piece_rows = std::uint64_t{1} << 18;
constexpr std::size_t slice_rows = std::size_t{1} << 14;
constexpr std::size_t checked_rows = 1024;  // between looks at the memory of their keys
constexpr std::uint64_t narrow_limit = std::uint64_t{1} << 32;
constexpr std::uint64_t first_negative = std::uint64_t{1} << 63;
// A coordinate of 2^64 - 1 would need a mode of length 2^64.
constexpr std::uint64_t refused_coordinate = std::numeric_limits<std::uint64_t>::max();
// A dictionary of more entries per row of its batch is not looked up as a whole: the batch uses few of them.
constexpr std::uint64_t listed_per_row = 4;

// A row that is refused, and why: " is null; ..." after its place.
struct Fault {
  std::size_t row = 0;  // of the piece
  std::size_t column = 0;
  std::string what;
};

class ArrowReader final : public TableReader<CoordinateReader> {
 public:
  ArrowReader(ArrowStream stream, const TableOptions& options, const std::vector<std::uint64_t>& shape,
              std::uint64_t max_bytes, Executor& executor)
      : TableReader(options), stream_(std::move(stream)), executor_(executor), shape_(shape) {
    const ArrowOwner<ArrowSchema> schema = stream_->read_schema();
    read_columns(*schema);
    const std::size_t order = modes().size();
    if (!shape_.empty() && shape_.size() != order) {
      refuse(option_name("columns.modes") + " names " + std::to_string(order) + " columns, but " +
             option_name("shape") + " has " + std::to_string(shape_.size()) + " lengths; give one per mode");
    }
    extents_.resize(order);
    numbers_.resize(order);
    code_numbers_.resize(order);
    const std::uint64_t row_bytes = order * (sizeof(std::uint32_t) + sizeof(std::uint64_t)) + sizeof(double) + 1;
    piece_rows_ = std::clamp(max_bytes / row_bytes, min_piece_rows, max_piece_rows);
    piece_bytes_ = piece_rows_ * row_bytes;
  }

  bool next(CoordinateBatch& batch) override {
    do {
      while (!batch_ || row_ == rows_) {
        if (!stream_ || !next_batch()) return false;
      }
      take_piece(batch);
    } while (batch.count() == 0);
    return true;
  }

  std::string name() const override { return "the table"; }
  std::uint64_t bytes_read() const override { return 0; }
  InputSize size() const override { return {}; }
  bool counts_from_zero() const override { return true; }
  std::uint64_t memory_bytes() const override { return piece_bytes_; }

  std::uint64_t kept_bytes() const override {
    std::uint64_t bytes = TableReader::kept_bytes();
    for (const CodeNumbers& numbers : code_numbers_) bytes += numbers.memory_bytes();
    for (const ChosenColumn& column : columns_) bytes += column.is_gap.size();
    return bytes;
  }

  std::vector<std::uint64_t> declared_shape() const override {
    std::vector<std::uint64_t> lengths = TableReader::declared_shape();
    for (std::size_t n = 0; n < lengths.size(); ++n) {
      if (is_index(n)) lengths[n] = shape_.empty() ? extents_[n] : shape_[n];
    }
    return lengths;
  }

 private:
  // Columns, in the order of the table.
  void read_columns(const ArrowSchema& schema) {
    CsvHeader header;
    for (std::int64_t i = 0; i < schema.n_children; ++i) {
      header.names.emplace_back(schema.children[i]->name != nullptr ? schema.children[i]->name : "");
    }
    const TableOptions& options = modes().options();
    form_ = make_csv_form(header, options.columns, options.dialect.decimal, options.missing, "the table");
    column_of_.resize(static_cast<std::size_t>(form_.order));
    for (std::size_t i = 0; i < form_.roles.size(); ++i) {
      if (form_.roles[i] == CsvForm::unused) continue;
      ChosenColumn column(*schema.children[i], i, form_.roles[i]);
      for_each_mode(column, [&](std::size_t mode) {
        column.check_type(&form_.readings[mode]);
        column_of_[mode] = columns_.size();
        column.is_index = column.is_index || form_.readings[mode].is_index();
      });
      if (column.role == CsvForm::value) column.check_type(nullptr);
      columns_.push_back(std::move(column));
    }
    form_.readings = modes().make(form_);
    for (ChosenColumn& column : columns_) {
      for_each_mode(column, [&](std::size_t mode) {
        const FieldReading& reading = form_.readings[mode].reading;
        if (reading.kind == FieldReading::Kind::time && !reading.is_utc) column.find_zone();
      });
    }
  }

  void for_each_mode(const ChosenColumn& column, const std::function<void(std::size_t)>& visit) const {
    for (int mode = column.role; mode >= 0; mode = form_.same_column[static_cast<std::size_t>(mode)]) {
      visit(static_cast<std::size_t>(mode));
    }
  }

  const ChosenColumn& column_of(std::size_t mode) const { return columns_[column_of_[mode]]; }
  bool is_index(std::size_t mode) const { return form_.readings[mode].is_index(); }

  bool next_batch() {
    // Only dictionaries are compared with those of the batch before.
    if (std::ranges::none_of(columns_, &ChosenColumn::has_dictionary)) batch_.reset();
    auto batch = stream_->next(rows_before_ + rows_, form_.names.size());
    rows_before_ += std::exchange(rows_, 0);
    row_ = 0;
    if (!batch) {
      batch_.reset();
      stream_.reset();
      code_numbers_.assign(modes().size(), {});
      modes().finish();
      check_lengths();
      return false;
    }
    const ArrowArray& array = **batch;
    for (ChosenColumn& column : columns_) {
      try {
        if (!column.set(array, batch_ ? &**batch_ : nullptr)) continue;
        for_each_mode(column, [&](std::size_t mode) {
          CodeNumbers& numbers = code_numbers_[mode];
          numbers.reset(column.list_size);
          if (form_.readings[mode].is_computed()) return;
          if (column.is_ordered && modes().options().numbers_new_keys) number_all_listed(mode, column);
          if (!column.type.is_text()) return;
          if (column.list_size / listed_per_row <= static_cast<std::uint64_t>(array.length)) {
            numbers.find_known(column, modes()[mode].dictionary(), executor_);
          }
        });
      } catch (const Error& error) {
        throw Error(error.kind(), "column " + quoted_for_message(column.name) + " after " +
                                      std::to_string(rows_before_) + " rows: " + error.what());
      }
    }
    batch_ = std::move(batch);  // only now is the one before released: its dictionaries have been compared
    rows_ = static_cast<std::size_t>((*batch_)->length);
    return true;
  }

  void check_lengths() const {
    for (std::size_t n = 0; n < shape_.size(); ++n) {
      const std::uint64_t length = modes()[n].length();
      if (is_index(n) || shape_[n] == length) continue;
      refuse("the mode " + quoted_for_message(modes()[n].mode()) + " has " + std::to_string(length) + " labels, but " +
             option_name("shape") + " gives it a length of " + std::to_string(shape_[n]) + "; leave out " +
             option_name("shape"));
    }
  }

  // Calls task(i), which may return a fault; then throws that of the first row.
  void run(std::size_t count, const std::function<std::optional<Fault>(std::size_t)>& task) {
    std::vector<std::optional<Fault>> faults(count);
    executor_.run(count, [&](std::size_t i) { faults[i] = task(i); });
    const Fault* first = nullptr;
    for (const auto& fault : faults) {
      if (fault && (first == nullptr || fault->row < first->row)) first = &*fault;
    }
    if (first == nullptr) return;
    refuse("row " + std::to_string(rows_before_ + row_ + first->row) + " of column " +
           quoted_for_message(form_.names[first->column]) + ", counted from 0" + first->what);
  }

  void take_piece(CoordinateBatch& batch) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(piece_rows_, rows_ - row_));
    const std::size_t slices = (count + slice_rows - 1) / slice_rows;
    const auto slice_of = [&](std::size_t task) {
      return std::pair(task * slice_rows, std::min(count, (task + 1) * slice_rows));
    };
    find_missing(count, slices, slice_of);
    for (std::size_t mode = 0; mode < modes().size(); ++mode) {
      if (has_texts(mode)) numbers_[mode].resize(count);
    }
    // Of all coordinates of a slice.
    std::vector<std::uint64_t> largest(slices);
    run(slices, [&](std::size_t task) {
      const auto [begin, end] = slice_of(task);
      return check_slice(begin, end, largest[task]);
    });
    std::vector<std::size_t> keyed;
    for (std::size_t mode = 0; mode < modes().size(); ++mode) {
      if (!is_index(mode) && !maps_codes(mode)) keyed.push_back(mode);
    }
    run(keyed.size(), [&](std::size_t i) { return number_rows(keyed[i], count); });
    modes().check_memory(0, 0);
    if (modes().options().skips_unknown) leave_out_unknown(count);
    std::vector<std::size_t> places(slices + 1);  // where the entries of each slice go
    for (std::size_t i = 0; i < slices; ++i) {
      const auto [begin, end] = slice_of(i);
      places[i + 1] = places[i] + (end - begin);
      for (std::size_t row = begin; row < end && !left_out_.empty(); ++row) places[i + 1] -= left_out_[row];
    }
    const bool is_narrow = std::ranges::all_of(largest, [](std::uint64_t index) { return index < narrow_limit; });
    batch.resize(places.back(), modes().size(), is_narrow);
    std::vector<std::vector<std::uint64_t>> upper(slices, std::vector<std::uint64_t>(modes().size()));
    run(slices, [&](std::size_t task) {
      const auto [begin, end] = slice_of(task);
      return fill(batch, places[task], begin, end, upper[task]);
    });
    batch.upper.assign(modes().size(), 0);
    for (const auto& of_slice : upper) {
      for (std::size_t n = 0; n < of_slice.size(); ++n) batch.upper[n] = std::max(batch.upper[n], of_slice[n]);
    }
    if (batch.count() > 0) {
      for (std::size_t n = 0; n < extents_.size(); ++n) extents_[n] = std::max(extents_[n], batch.upper[n] + 1);
    }
    row_ += count;
  }

  // Flags the rows that are left out, and counts them; most pieces have none.
  template <class SliceOf>
  void find_missing(std::size_t count, std::size_t slices, const SliceOf& slice_of) {
    left_out_.clear();
    std::vector<const ChosenColumn*> doubtful;
    for (const ChosenColumn& column : columns_) {
      if (column.may_be_missing()) doubtful.push_back(&column);
    }
    std::vector<std::uint8_t> has_missing(slices);
    if (doubtful.empty()) return;
    executor_.run(slices, [&](std::size_t task) {
      const auto [begin, end] = slice_of(task);
      for (const ChosenColumn* column : doubtful) has_missing[task] |= column->has_missing(row_ + begin, row_ + end);
    });
    if (std::ranges::count(has_missing, 0) == std::ssize(has_missing)) return;
    left_out_.resize(count);
    std::vector<std::vector<std::uint64_t>> skipped(slices, std::vector<std::uint64_t>(modes().size() + 1));
    run(slices, [&](std::size_t task) {
      const auto [begin, end] = slice_of(task);
      return leave_out(begin, end, doubtful, skipped[task]);
    });
    for (const auto& rows : skipped) modes().skip(rows);
  }

  bool is_left_out(std::size_t row) const { return !left_out_.empty() && left_out_[row] != 0; }

  // Rows with missing cells, before any of their keys is numbered. Counts each for the column of the first of them.
  std::optional<Fault> leave_out(std::size_t begin, std::size_t end, const std::vector<const ChosenColumn*>& doubtful,
                                 std::vector<std::uint64_t>& skipped) {
    const MissingFields& missing = form_.missing;
    for (std::size_t row = begin; row < end; ++row) {
      for (const ChosenColumn* column : doubtful) {
        if (!column->is_missing(row_ + row)) continue;
        const bool is_value = column->role == CsvForm::value;
        const bool is_replaced = !is_value && !missing.key.empty();
        if (!missing.are_accepted || (is_replaced && column->is_index)) {
          return Fault{row, column->number, column->explain_missing(row_ + row, missing.are_accepted)};
        }
        if (is_replaced) continue;
        ++skipped[is_value ? modes().size() : static_cast<std::size_t>(column->role)];
        left_out_[row] = 1;
        break;
      }
    }
    return std::nullopt;
  }

  // Fills numbers_ of a mode of keys.
  std::optional<Fault> number_rows(std::size_t mode, std::size_t count) {
    const ChosenColumn& column = column_of(mode);
    numbers_[mode].resize(count);
    const bool counts_rows = modes()[mode].counts_rows();
    const bool is_looked_up = has_texts(mode);
    const auto unnumbered = static_cast<std::uint32_t>(modes()[mode].key_count());
    const bool replaces = !form_.missing.key.empty() && column.may_be_missing();
    std::optional<std::uint32_t> missing_number;
    const auto number_all = [&](const auto& cell_of) -> std::optional<Fault> {
      for (std::size_t row = 0; row < count; ++row) {
        // check_memory() tells of it, once the other modes have stopped, too.
        if (row % checked_rows == 0 && modes()[mode].memory_bytes() > modes().options().key_bytes) break;
        if (is_left_out(row)) continue;
        std::uint32_t& number = numbers_[mode][row];
        if (replaces && column.is_missing(row_ + row)) {
          if (!missing_number) missing_number = number_of_missing(mode);
          number = *missing_number;
        } else if (is_looked_up && number != unnumbered) {
          continue;
        } else if (auto why = number_row(mode, column, cell_of(row_ + row), number)) {
          return Fault{row, column.number, std::move(*why)};
        }
        if (counts_rows) modes()[mode].count_row(number);
      }
      return std::nullopt;
    };
    if (!column.has_dictionary()) return number_all([](std::size_t row) { return row; });
    return visit_integers(column.codes->storage, column.cells.data(), [&](const auto* codes) {
      return number_all([codes](std::size_t row) { return static_cast<std::uint64_t>(codes[row]); });
    });
  }

  // Keys of these modes are looked up row by row.
  bool has_texts(std::size_t mode) const {
    const ChosenColumn& column = column_of(mode);
    return column.type.is_text() && !column.has_dictionary() && !form_.readings[mode].is_computed();
  }
  // Those that are not known get the number of known ones.
  void find_texts(std::size_t mode, std::size_t begin, std::size_t end) {
    const ArrowCells& cells = column_of(mode).cells;
    const auto numbers = std::span(numbers_[mode]).subspan(begin, end - begin);
    const auto text_of = [&](std::size_t i) {
      const std::size_t cell = row_ + begin + i;
      return cells.is_null(cell) ? std::string_view() : cells.text(cell);
    };
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = hash_key(text_of(i));
    modes()[mode].dictionary().find_all(text_of, numbers);
  }

  // Whether the codes of a mode need no more than a look at code_numbers_.
  bool maps_codes(std::size_t mode) const {
    const ChosenColumn& column = column_of(mode);
    if (!column.has_dictionary() || !code_numbers_[mode].is_complete()) return false;
    const bool replaces = !form_.missing.key.empty() && column.may_be_missing();
    return !replaces && !modes()[mode].counts_rows() && !modes().options().skips_unknown;
  }

  std::optional<std::string> number_row(std::size_t mode, const ChosenColumn& column, std::uint64_t cell,
                                        std::uint32_t& number) {
    const auto at = static_cast<std::size_t>(cell);
    if (!column.has_dictionary()) return number_cell(mode, column, at, number);
    if (cell >= column.list_size) return column.explain_code(cell);
    CodeNumbers& numbers = code_numbers_[mode];
    number = numbers[at];
    if (number != CodeNumbers::unnumbered) return std::nullopt;
    if (auto why = number_cell(mode, column, at, number)) return why;
    numbers.set(at, number);
    return std::nullopt;
  }

  // The keys of an ordered dictionary get numbers in its order, whether a row has them or not: grades, or months.
  void number_all_listed(std::size_t mode, const ChosenColumn& column) {
    for (std::size_t i = 0; i < column.list_size; ++i) {
      std::uint32_t number = 0;
      if (!column.is_gap.empty() && column.is_gap[i] != 0) continue;
      if (const auto why = number_cell(mode, column, i, number)) {
        throw Error(ErrorKind::invalid_argument, "the dictionary's entry " + std::to_string(i) + *why);
      }
    }
  }

  // Of the text or number of a cell. Returns why it is refused.
  std::optional<std::string> number_cell(std::size_t mode, const ChosenColumn& column, std::size_t cell,
                                         std::uint32_t& number) {
    const ComputedForm& form = form_.readings[mode];
    const ArrowCells& cells = column.keys();
    if (form.is_computed()) {
      std::uint64_t word = 0;
      if (auto why = column.find_word(cell, form, word, modes()[mode].times())) return why;
      number = number_of(mode, key_of_word(word));
      return std::nullopt;
    }
    const std::string digits = column.type.is_text() ? std::string() : cells.text_of_number(cell);
    const std::string_view text = column.type.is_text() ? cells.text(cell) : digits;
    return number_text(mode, text, hash_key(text), number);
  }

  std::optional<std::string> number_text(std::size_t mode, std::string_view text, std::uint32_t hash,
                                         std::uint32_t& number) {
    const std::uint64_t known = modes()[mode].key_count();
    number = number_of(mode, text, hash);
    if (modes()[mode].key_count() > known && find_invalid_utf8(text)) {
      return ": " + quoted_for_message(text) + not_utf8;
    }
    return std::nullopt;
  }

  std::uint32_t number_of(std::size_t mode, std::string_view key, std::uint32_t hash) {
    KeyDictionary& keys = modes()[mode].dictionary();
    return modes().options().numbers_new_keys ? keys.number_of(key, hash) : keys.find(key, hash);
  }
  std::uint32_t number_of(std::size_t mode, std::string_view key) { return number_of(mode, key, hash_key(key)); }

  std::uint32_t number_of_missing(std::size_t mode) {
    std::uint64_t word = 0;
    if (!form_.readings[mode].is_computed()) return number_of(mode, form_.missing.key);
    word_of_field(form_.missing.key, form_.readings[mode], word);
    return number_of(mode, key_of_word(word));
  }

  // The coordinates of a slice, and the numbers of its known texts.
  std::optional<Fault> check_slice(std::size_t begin, std::size_t end, std::uint64_t& largest) {
    for (std::size_t mode = 0; mode < modes().size(); ++mode) {
      if (has_texts(mode)) find_texts(mode, begin, end);
      if (!is_index(mode)) continue;
      if (auto fault = check_indices(mode, begin, end, largest)) return fault;
    }
    return std::nullopt;
  }

  std::optional<Fault> check_indices(std::size_t mode, std::size_t begin, std::size_t end,
                                     std::uint64_t& largest) const {
    const ChosenColumn& column = column_of(mode);
    const std::uint64_t limit = shape_.empty() ? refused_coordinate : shape_[mode];
    return visit_integers(column.type.storage, column.cells.data(), [&](const auto* numbers) -> std::optional<Fault> {
      // Negative ones are above the limit, too.
      std::uint64_t most = 0;
      for (std::size_t row = begin; row < end; ++row) {
        most = std::max(most, static_cast<std::uint64_t>(numbers[row_ + row]));
      }
      largest = std::max(largest, most);
      if (most < std::min(limit, first_negative)) return std::nullopt;
      for (std::size_t row = begin; row < end; ++row) {
        const auto number = numbers[row_ + row];
        if (is_left_out(row) || (number >= 0 && static_cast<std::uint64_t>(number) < limit)) continue;
        return Fault{row, column.number,
                     ": the coordinate " + std::to_string(number) + " is " +
                         (number < 0 ? "negative" : "not below the mode's length of " + std::to_string(limit)) +
                         "; coordinates count from 0"};
      }
      return std::nullopt;
    });
  }

  // Rows with a key that is not known.
  void leave_out_unknown(std::size_t count) {
    left_out_.resize(count);
    std::uint64_t rows = 0;
    for (std::size_t row = 0; row < count; ++row) {
      for (std::size_t n = 0; n < modes().size() && left_out_[row] == 0; ++n) {
        if (is_index(n) || numbers_[n][row] < modes()[n].known_count()) continue;
        left_out_[row] = 1;
        ++rows;
      }
    }
    modes().skip_unknown(rows);
  }

  // Entries from `place` on, of the rows of a slice.
  std::optional<Fault> fill(CoordinateBatch& batch, std::size_t place, std::size_t begin, std::size_t end,
                            std::vector<std::uint64_t>& upper) const {
    const auto for_each_row = [&](const auto& visit) {
      std::size_t entry = place;
      for (std::size_t row = begin; row < end; ++row) {
        if (!is_left_out(row)) visit(entry++, row);
      }
    };
    std::optional<Fault> fault;
    const std::size_t order = modes().size();
    for (std::size_t n = 0; n < order; ++n) {
      const ChosenColumn& column = column_of(n);
      const auto copy = [&](const auto& index_of) {
        const auto copy_to = [&](auto* out) {
          std::uint64_t largest = 0;
          for_each_row([&](std::size_t entry, std::size_t row) {
            const auto index = static_cast<std::uint64_t>(index_of(row));
            largest = std::max(largest, index);
            out[entry * order + n] = static_cast<std::remove_reference_t<decltype(*out)>>(index);
          });
          upper[n] = largest;
        };
        batch.wide.empty() ? copy_to(batch.narrow.data()) : copy_to(batch.wide.data());
      };
      if (is_index(n)) {
        visit_integers(column.type.storage, column.cells.data(),
                       [&](const auto* numbers) { copy([&](std::size_t row) { return numbers[row_ + row]; }); });
      } else if (maps_codes(n)) {
        const CodeNumbers& numbers = code_numbers_[n];
        visit_integers(column.codes->storage, column.cells.data(), [&](const auto* codes) {
          copy([&](std::size_t row) -> std::uint32_t {
            const auto code = static_cast<std::uint64_t>(codes[row_ + row]);
            if (code < numbers.size()) return numbers[static_cast<std::size_t>(code)];
            if (!fault) fault = {row, column.number, column.explain_code(code)};
            return 0;
          });
        });
      } else {
        copy([&](std::size_t row) { return numbers_[n][row]; });
      }
    }
    if (fault) return fault;
    const auto value = std::ranges::find(columns_, CsvForm::value, &ChosenColumn::role);
    if (value == columns_.end()) {
      for_each_row([&](std::size_t entry, std::size_t) { batch.values[entry] = 1; });
      return std::nullopt;
    }
    bool is_finite = true;
    if (!value->has_dictionary() && (value->type.is_integer() || value->type.is_float())) {
      visit_numbers(value->type.storage, value->cells.data(), [&](const auto* numbers) {
        for_each_row([&](std::size_t entry, std::size_t row) {
          batch.values[entry] = static_cast<double>(numbers[row_ + row]);
          is_finite &= std::isfinite(batch.values[entry]);
        });
      });
      if (is_finite) return std::nullopt;
    }
    for_each_row([&](std::size_t entry, std::size_t row) {
      if (fault) return;
      if (auto why = value->read_value(row_ + row, form_.decimal, batch.values[entry]))
        fault = {row, value->number, std::move(*why)};
    });
    return fault;
  }

  std::optional<ArrowStream> stream_;  // until its end
  Executor& executor_;
  std::vector<std::uint64_t> shape_;
  CsvForm form_;
  std::vector<ChosenColumn> columns_;   // in the order of the table
  std::vector<std::size_t> column_of_;  // per mode, its place in columns_
  std::vector<std::uint64_t> extents_;  // of the coordinates so far
  std::uint64_t piece_rows_ = 0;
  std::uint64_t piece_bytes_ = 0;
  std::optional<ArrowOwner<ArrowArray>> batch_;
  std::size_t rows_ = 0;                           // of the batch
  std::size_t row_ = 0;                            // of the batch, the first that has not been taken
  std::uint64_t rows_before_ = 0;                  // of the batches before
  std::vector<std::uint8_t> left_out_;             // per row of the piece; empty: none
  std::vector<RawVector<std::uint32_t>> numbers_;  // of the keys, per mode and row of the piece
  std::vector<CodeNumbers> code_numbers_;          // per mode, of what the dictionary of its column lists
};

}  // namespace

std::unique_ptr<CoordinateReader> open_arrow(ArrowStream stream, const TableOptions& options,
                                             const std::vector<std::uint64_t>& shape, std::uint64_t max_bytes,
                                             Executor& executor) {
  check_options(options);
  return std::make_unique<ArrowReader>(std::move(stream), options, shape, max_bytes, executor);
}

}  // namespace blco
