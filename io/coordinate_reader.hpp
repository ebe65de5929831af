// The input of ingest: batches of validated, zero-based coordinates and finite values, in input order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "blco/labels.hpp"
#include "blco/raw_vector.hpp"

namespace blco {

// Entry-major: coordinate m of entry i is at [i * order + m], in `narrow` if every coordinate of the batch is below
// 2^32, else in `wide`; the other vector is empty.
struct CoordinateBatch {
  int order = 0;
  RawVector<std::uint32_t> narrow;
  RawVector<std::uint64_t> wide;
  RawVector<double> values;
  std::vector<std::uint64_t> upper;  // per mode, the largest coordinate

  std::size_t count() const { return values.size(); }
  std::size_t bytes() const {
    return narrow.capacity() * sizeof(std::uint32_t) + wide.capacity() * sizeof(std::uint64_t) +
           values.capacity() * sizeof(double);
  }
  std::uint64_t coordinate(std::size_t entry, int mode) const {
    const std::size_t at = entry * static_cast<std::size_t>(order) + static_cast<std::size_t>(mode);
    return wide.empty() ? narrow[at] : wide[at];
  }

  // Makes room for entries that set() and `values` are then given.
  void resize(std::size_t entries, std::size_t modes, bool is_narrow) {
    order = static_cast<int>(modes);
    narrow.resize(is_narrow ? entries * modes : 0);
    wide.resize(is_narrow ? 0 : entries * modes);
    values.resize(entries);
  }
  void set(std::size_t entry, std::size_t mode, std::uint64_t coordinate) {
    const std::size_t at = entry * static_cast<std::size_t>(order) + mode;
    if (wide.empty()) {
      narrow[at] = static_cast<std::uint32_t>(coordinate);
    } else {
      wide[at] = coordinate;
    }
  }
};

// Total size of an input; 0 where unknown.
struct InputSize {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;  // counted as bytes_read() does
};

struct SkippedRows {
  std::string column;  // whose field is the first missing one of the row
  std::uint64_t rows = 0;
};

// What a reader of keys made of one mode.
struct KeyedMode {
  std::string name;               // that the input gives it
  std::uint64_t new_labels = 0;   // labels of this input's keys, without those that were known before
  std::uint64_t wanted_bins = 0;  // 0: its keys are not numbers in bins
  std::uint64_t bins = 0;
  bool has_keys = true;   // its fields are keys as they are
  bool is_local = false;  // its times are those of the clocks of their zones, not of UTC
};

class CoordinateReader {
 public:
  virtual ~CoordinateReader() = default;

  // Fills `batch` with the next entries, in input order; never an empty batch, and all batches have one order. Returns
  // false at the end. Throws Error naming file and line for unacceptable input.
  virtual bool next(CoordinateBatch& batch) = 0;

  // Name of the input in messages: its files, or what else it reads.
  virtual std::string name() const = 0;

  // Bytes of input consumed so far, as they lie on disk (compressed bytes of a compressed file).
  virtual std::uint64_t bytes_read() const = 0;

  virtual InputSize size() const = 0;

  // The shape that the input declares; empty if none. Known at the end.
  virtual std::vector<std::uint64_t> declared_shape() const { return {}; }

  // Format of the input: "FROSTT text", "Matrix Market text"; empty if it is not a file.
  virtual std::string format() const { return {}; }

  // True if its coordinates always count from 0, whatever IngestOptions say, as those of arrays do.
  virtual bool counts_from_zero() const { return false; }

  // False if the input has coordinates alone; every value is 1 then.
  virtual bool has_values() const { return true; }

  // Most memory that the reader takes until its end, the next batch included; the caller's arrays do not count.
  virtual std::uint64_t memory_bytes() const { return 0; }

  // Further memory, for what it keeps of the input until take_labels(); grows from batch to batch.
  virtual std::uint64_t kept_bytes() const { return 0; }

  // Rows left out so far because of missing fields, per column that has any.
  virtual std::vector<SkippedRows> skipped_rows() const { return {}; }

  // Rows left out so far because they have unknown keys.
  virtual std::uint64_t unknown_rows() const { return 0; }

  // Where an entry of the last batch comes from, for a message: "line 7 of new.tns". Until the next call of next().
  virtual std::string place_of(std::size_t) const { return name(); }

  // Of a reader that numbers known keys only: the first key in the last batch that is none of them, as a message shows
  // it, where `coordinate`, of that batch and mode, is beyond the known ones. Empty if coordinates are numbers.
  virtual std::string unknown_key(std::size_t, std::uint64_t) const { return {}; }

  // At the end of the input: the labels of each mode; empty if coordinates are numbers.
  virtual std::vector<Labels> take_labels() { return {}; }

  // At the end of the input: per mode, the final coordinate of each coordinate that the batches have; an empty list
  // where they stay as they are. Several may become one. declared_shape() and labels are those of final coordinates.
  virtual std::vector<std::vector<std::uint32_t>> take_final_coordinates() { return {}; }

  // At the end of the input: its modes; empty if coordinates are numbers.
  virtual std::vector<KeyedMode> keyed_modes() const { return {}; }

  // At the end of the input: what it may mean otherwise than it was taken, as IngestReport has it.
  virtual std::vector<std::string> notes() const { return {}; }
};

}  // namespace blco
