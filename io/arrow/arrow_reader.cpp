// Takes a batch piece by piece: looks for missing cells, numbers the keys of each mode, then makes entries, each step
// in parallel.
#include "io/arrow/arrow_reader.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "io/arrow/arrow_column.hpp"
#include "io/arrow/chosen_column.hpp"
#include "io/table/csv_field.hpp"
#include "io/text/quoted_text.hpp"

namespace blco {
namespace {

constexpr std::uint64_t min_piece_rows = std::uint64_t{1} << 12;
constexpr std::uint64_t max_piece_rows = std::uint64_t{1} << 18;
constexpr std::size_t slice_rows = std::size_t{1} << 14;
constexpr std::uint64_t narrow_limit = std::uint64_t{1} << 32;
// A coordinate of 2^64 - 1 would need a mode of length 2^64.
constexpr std::uint64_t refused_coordinate = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint32_t unnumbered = std::numeric_limits<std::uint32_t>::max();

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
    numbers_by_code_.resize(order);
    // A number of a key and a flag per row beside the batch.
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
    for (const auto& numbers : numbers_by_code_) bytes += numbers.size() * sizeof(std::uint32_t);
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
    std::vector<bool> is_index(column_of_.size());
    for (std::size_t i = 0; i < form_.roles.size(); ++i) {
      if (form_.roles[i] == CsvForm::unused) continue;
      const ArrowSchema& child = *schema.children[i];
      ChosenColumn column;
      column.number = i;
      column.name = form_.names[i];
      column.type = arrow_type_of(child.dictionary != nullptr ? *child.dictionary : child);
      if (child.dictionary != nullptr) column.codes = arrow_type_of(child);
      column.role = form_.roles[i];
      for_each_mode(column, [&](std::size_t mode) {
        column.check_type(&form_.readings[mode]);
        column_of_[mode] = columns_.size();
        is_index[mode] = !form_.readings[mode].is_computed() && column.type.is_integer() && !column.has_dictionary();
        column.is_index = column.is_index || is_index[mode];
      });
      if (column.role == CsvForm::value) column.check_type(nullptr);
      columns_.push_back(std::move(column));
    }
    form_.readings = modes().make(form_, is_index);
  }

  void for_each_mode(const ChosenColumn& column, const std::function<void(std::size_t)>& visit) const {
    for (int mode = column.role; mode >= 0; mode = form_.same_column[static_cast<std::size_t>(mode)]) {
      visit(static_cast<std::size_t>(mode));
    }
  }

  const ChosenColumn& column_of(std::size_t mode) const { return columns_[column_of_[mode]]; }

  bool next_batch() {
    auto batch = stream_->next(rows_before_ + rows_);
    rows_before_ += std::exchange(rows_, 0);
    row_ = 0;
    if (!batch) {
      batch_.reset();
      stream_.reset();
      numbers_by_code_.assign(modes().size(), {});
      modes().finish();
      check_lengths();
      return false;
    }
    const ArrowArray& array = **batch;
    const std::uint64_t place = rows_before_;
    if (array.n_children != static_cast<std::int64_t>(form_.names.size())) {
      throw Error(ErrorKind::corrupt, "the batch of the Arrow stream after " + std::to_string(place) + " rows has " +
                                          std::to_string(array.n_children) + " columns, but its schema has " +
                                          std::to_string(form_.names.size()));
    }
    if (array.null_count > 0) {
      refuse("the batch of the Arrow stream after " + std::to_string(place) +
             " rows has rows that are null as a whole; leave them out");
    }
    for (ChosenColumn& column : columns_) {
      try {
        if (!column.set(array, batch_ ? &**batch_ : nullptr)) continue;
        for_each_mode(column, [&](std::size_t mode) { numbers_by_code_[mode].assign(column.list_size, unnumbered); });
      } catch (const Error& error) {
        throw Error(error.kind(), "column " + quoted_for_message(column.name) + " after " + std::to_string(place) +
                                      " rows: " + error.what());
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
    left_out_.clear();
    if (std::ranges::any_of(columns_, &ChosenColumn::may_be_missing)) {
      left_out_.resize(count);
      std::vector<std::vector<std::uint64_t>> skipped(slices, std::vector<std::uint64_t>(modes().size() + 1));
      std::vector<const ChosenColumn*> doubtful;
      for (const ChosenColumn& column : columns_) {
        if (column.may_be_missing()) doubtful.push_back(&column);
      }
      run(slices, [&](std::size_t task) {
        const auto [begin, end] = slice_of(task);
        return leave_out(begin, end, doubtful, skipped[task]);
      });
      for (const auto& rows : skipped) modes().skip(rows);
    }
    std::vector<std::uint64_t> bits(modes().size());
    run(modes().size(), [&](std::size_t mode) { return number_rows(mode, count, bits[mode]); });
    modes().check_memory(0, 0);
    if (modes().options().skips_unknown) leave_out_unknown(count);
    // Where the entries of each slice go.
    std::vector<std::size_t> places(slices + 1);
    for (std::size_t i = 0; i < slices; ++i) {
      const auto [begin, end] = slice_of(i);
      std::size_t kept = end - begin;
      for (std::size_t row = begin; row < end && !left_out_.empty(); ++row) kept -= left_out_[row];
      places[i + 1] = places[i] + kept;
    }
    const bool is_narrow = std::ranges::all_of(bits, [](std::uint64_t b) { return b < narrow_limit; });
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
        if (!missing.are_accepted || (is_replaced && column->is_index)) return missing_fault(*column, row);
        if (is_replaced) continue;
        ++skipped[is_value ? modes().size() : static_cast<std::size_t>(column->role)];
        left_out_[row] = 1;
        break;
      }
    }
    return std::nullopt;
  }

  Fault missing_fault(const ChosenColumn& column, std::size_t row) const {
    const bool is_null = column.cells.is_null(row_ + row) || column.keys().is_null(column.at(row_ + row));
    const std::string what = is_null ? ", is null" : column.type.is_text() ? ", is empty" : ", is NaN, a missing field";
    if (form_.missing.are_accepted) {
      return {row, column.number,
              what + ", and no key goes in the place of an index; leave such rows out with " +
                  option_name("columns.missing", "skip") + ", or cast the column to strings"};
    }
    return {row, column.number, what + missing_remedy(column.role != CsvForm::value && !column.is_index, "unknown")};
  }

  // Fills numbers_ of a mode of keys, and checks the coordinates of another. `bits`: of all coordinates together.
  std::optional<Fault> number_rows(std::size_t mode, std::size_t count, std::uint64_t& bits) {
    const ChosenColumn& column = column_of(mode);
    if (is_index(mode)) return check_indices(mode, count, bits);
    numbers_[mode].resize(count);
    const bool counts_rows = modes()[mode].counts_rows();
    const bool replaces = !form_.missing.key.empty() && column.may_be_missing();
    std::optional<std::uint32_t> missing_number;
    const auto number_all = [&](const auto& cell_of) -> std::optional<Fault> {
      for (std::size_t row = 0; row < count; ++row) {
        if (is_left_out(row)) continue;
        std::uint32_t& number = numbers_[mode][row];
        if (replaces && column.is_missing(row_ + row)) {
          if (!missing_number) missing_number = number_of_missing(mode);
          number = *missing_number;
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

  bool is_index(std::size_t mode) const { return column_of(mode).is_index && !form_.readings[mode].is_computed(); }

  std::optional<std::string> number_row(std::size_t mode, const ChosenColumn& column, std::uint64_t cell,
                                        std::uint32_t& number) {
    const auto at = static_cast<std::size_t>(cell);
    if (!column.has_dictionary()) return number_cell(mode, column, at, number);
    if (cell >= column.list_size) return column.explain_code(cell);
    std::uint32_t& known = numbers_by_code_[mode][at];
    if (known == unnumbered) {
      if (auto why = number_cell(mode, column, at, known)) return why;
    }
    number = known;
    return std::nullopt;
  }

  // Of the text or number of a cell. Returns why it is refused.
  std::optional<std::string> number_cell(std::size_t mode, const ChosenColumn& column, std::size_t cell,
                                         std::uint32_t& number) {
    const ComputedForm& form = form_.readings[mode];
    const ArrowCells& cells = column.keys();
    if (form.is_computed()) {
      std::uint64_t word = 0;
      if (auto why = column.find_word(cell, form, word)) return why;
      number = number_of(mode, key_of_word(word));
      return std::nullopt;
    }
    std::string digits;
    if (!column.type.is_text()) digits = cells.text_of_number(cell);
    const std::string_view text = column.type.is_text() ? cells.text(cell) : digits;
    const std::uint64_t known = modes()[mode].key_count();
    number = number_of(mode, text);
    if (modes()[mode].key_count() > known && find_invalid_utf8(text)) {
      return ": " + quoted_for_message(text) + not_utf8;
    }
    return std::nullopt;
  }

  std::uint32_t number_of(std::size_t mode, std::string_view key) {
    KeyDictionary& keys = modes()[mode].dictionary();
    return modes().options().numbers_new_keys ? keys.number_of(key, hash_key(key)) : keys.find(key, hash_key(key));
  }

  std::uint32_t number_of_missing(std::size_t mode) {
    const ComputedForm& form = form_.readings[mode];
    if (!form.is_computed()) return number_of(mode, form_.missing.key);
    std::uint64_t word = 0;
    word_of_field(form_.missing.key, form, word);
    return number_of(mode, key_of_word(word));
  }

  std::optional<Fault> check_indices(std::size_t mode, std::size_t count, std::uint64_t& bits) const {
    const ChosenColumn& column = column_of(mode);
    const std::uint64_t limit = shape_.empty() ? refused_coordinate : shape_[mode];
    return visit_integers(column.type.storage, column.cells.data(), [&](const auto* numbers) -> std::optional<Fault> {
      for (std::size_t row = 0; row < count; ++row) {
        if (is_left_out(row)) continue;
        const auto number = numbers[row_ + row];
        const auto index = static_cast<std::uint64_t>(number);
        bits |= index;
        if (number >= 0 && index < limit) continue;
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
    for (std::size_t n = 0; n < modes().size(); ++n) {
      const auto copy = [&](const auto* numbers) {
        for_each_row([&](std::size_t entry, std::size_t row) {
          const auto index = static_cast<std::uint64_t>(numbers[row]);
          upper[n] = std::max(upper[n], index);
          batch.set(entry, n, index);
        });
      };
      if (is_index(n)) {
        const ChosenColumn& column = column_of(n);
        visit_integers(column.type.storage, column.cells.data(), [&](const auto* numbers) { copy(numbers + row_); });
      } else {
        copy(numbers_[n].data());
      }
    }
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
    std::optional<Fault> fault;
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
  std::size_t rows_ = 0;                                     // of the batch
  std::size_t row_ = 0;                                      // of the batch, the first that has not been taken
  std::uint64_t rows_before_ = 0;                            // of the batches before
  std::vector<std::uint8_t> left_out_;                       // per row of the piece; empty: none
  std::vector<RawVector<std::uint32_t>> numbers_;            // of the keys, per mode and row of the piece
  std::vector<std::vector<std::uint32_t>> numbers_by_code_;  // per mode, of what the dictionary of its column lists
};

}  // namespace

std::unique_ptr<CoordinateReader> open_arrow(ArrowStream stream, const TableOptions& options,
                                             const std::vector<std::uint64_t>& shape, std::uint64_t max_bytes,
                                             Executor& executor) {
  check_options(options);
  return std::make_unique<ArrowReader>(std::move(stream), options, shape, max_bytes, executor);
}

}  // namespace blco
