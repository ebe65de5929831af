// The modes of a table, whatever holds its rows: their keys, labels and final coordinates, the rows left out, and the
// memory of the keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "blco/labels.hpp"
#include "io/coordinate_reader.hpp"
#include "io/table/csv_block.hpp"
#include "io/table/csv_header.hpp"
#include "io/table/mode_keys.hpp"
#include "io/text/text_source.hpp"

namespace blco {

// How a table is read. Of `dialect` only text has a separator.
struct TableOptions {
  CsvColumns columns;  // by their names in the header
  CsvDialect dialect = {};
  MissingFields missing = {};
  std::uint64_t skip_lines = 0;                      // of text: before the header, at the start of every file
  std::size_t block_bytes = std::size_t{256} << 10;  // of text: approximate bytes per batch
  std::uint64_t window_bytes = most_window_bytes;    // as open_text_source has it
  std::uint64_t key_bytes = ~std::uint64_t{0};       // memory limit of the keys
  // Of the whole job, and what it has to be for so many bytes of keys; the message names both if they exceed the limit.
  std::uint64_t memory_bytes = 0;
  std::function<std::uint64_t(std::uint64_t key_bytes)> budget_for = {};
  std::vector<std::string> mode_names = {};  // empty: as the columns give them
  // False: a key that `known` does not have gets the number of these and is not kept; place_of() and unknown_key() tell
  // of it. Coordinates are final at once then.
  bool numbers_new_keys = true;
  bool skips_unknown = false;   // leaves out rows with such keys. Requires: not numbers_new_keys
  KnownSource known_from = {};  // where these labels come from; without a name columns.labels_from
  // Returns for each of these modes the labels that already have numbers; empty: there are none. Called once.
  std::function<std::vector<Labels>(const std::vector<std::string>& mode_names)> known = {};
  std::vector<std::string> utc_modes = {};  // those whose known times are of UTC: new ones are read alike
};

// Throws Error{invalid_argument} for options that suit no table.
void check_options(const TableOptions& options);

class TableModes {
 public:
  explicit TableModes(TableOptions options);

  // Once the columns are known. Returns how the fields of each mode are read. Throws Error as TableOptions::known and
  // ModeKeys do.
  std::vector<ComputedForm> make(const CsvForm& form);

  const TableOptions& options() const { return options_; }
  bool empty() const { return modes_.empty(); }
  std::size_t size() const { return modes_.size(); }
  ModeKeys& operator[](std::size_t mode) { return modes_[mode]; }
  const ModeKeys& operator[](std::size_t mode) const { return modes_[mode]; }

  // Rows left out: per mode, and then for the value, the first missing of a row.
  void skip(const std::vector<std::uint64_t>& rows);
  void skip_unknown(std::uint64_t rows) { unknown_rows_ += rows; }

  std::uint64_t key_bytes() const;
  // Throws Error{out_of_memory} if the keys take more than they may; names a budget that suffices for the whole input,
  // of which `size` is 0 where it is unknown.
  void check_memory(std::uint64_t bytes_read, std::uint64_t size) const;

  // At the end of the input: makes labels and final coordinates. A second call has no effect.
  void finish();

  // These are as CoordinateReader has them.
  std::vector<std::uint64_t> lengths() const;
  std::vector<SkippedRows> skipped_rows() const;
  std::uint64_t unknown_rows() const { return unknown_rows_; }
  std::vector<Labels> take_labels();
  std::vector<std::vector<std::uint32_t>> take_final_coordinates();
  std::vector<KeyedMode> keyed_modes() const;
  std::vector<std::string> notes() const { return notes_; }

 private:
  std::string advice() const;
  void note(const ModeKeys& mode);

  TableOptions options_;
  std::vector<std::string> column_names_;  // of the modes, and of the value where there is one
  std::vector<ModeKeys> modes_;
  std::vector<std::uint64_t> skipped_;  // rows, per mode and then for the value
  std::uint64_t unknown_rows_ = 0;
  std::uint64_t known_bytes_ = 0;  // of the keys that had numbers before
  std::vector<std::string> notes_;
  bool has_ended_ = false;
};

// A reader of a table; `Reader` is a CoordinateReader.
template <class Reader>
class TableReader : public Reader {
 public:
  // A mode is as long as its number of labels, even if some do not occur.
  std::vector<std::uint64_t> declared_shape() const override { return modes_.lengths(); }
  std::uint64_t kept_bytes() const override { return modes_.key_bytes(); }
  std::vector<SkippedRows> skipped_rows() const override { return modes_.skipped_rows(); }
  std::uint64_t unknown_rows() const override { return modes_.unknown_rows(); }
  std::vector<Labels> take_labels() override { return modes_.take_labels(); }
  std::vector<std::vector<std::uint32_t>> take_final_coordinates() override { return modes_.take_final_coordinates(); }
  std::vector<KeyedMode> keyed_modes() const override { return modes_.keyed_modes(); }
  std::vector<std::string> notes() const override { return modes_.notes(); }

 protected:
  template <class... Arguments>
  explicit TableReader(TableOptions options, Arguments&&... arguments)
      : Reader(std::forward<Arguments>(arguments)...), modes_(std::move(options)) {}

  TableModes& modes() { return modes_; }
  const TableModes& modes() const { return modes_; }

 private:
  TableModes modes_;
};

}  // namespace blco
