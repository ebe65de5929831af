// What an ingest reads, its options, and what becomes of modes while they are read.
#pragma once

#include <blco/duplicate_policy.hpp>
#include <blco/labels.hpp>
#include <blco/views.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace blco {

// Whether to renumber the indices of each mode in the container. `frequency` orders them by falling number of entries
// read, ties by rising index, so that indices without entries come last. Nonzeros that follow each other in the
// container then differ less, and the index column takes fewer bits. Models, exports and messages show the original
// indices.
enum class Reorder { none, frequency };

// What becomes of a row of a table with a missing key or value: a field that is empty, or one of NA, N/A, n/a, <NA>,
// #NA, #N/A, #N/A N/A, NaN, nan, -NaN, -nan, NULL, null, None, 1.#IND, -1.#IND, 1.#QNAN, -1.#QNAN. `error` refuses it.
// `skip` leaves the row out. `key` puts ColumnOptions::missing_key in the place of missing keys, and leaves out rows
// whose value is missing. Only the columns that are asked for count.
enum class Missing { error, skip, key };

// How quotes in a table are read. `csv`: as RFC 4180 has them; a field that starts with a quote ends at the next single
// one, whatever lies between. `none`: as any other character, so that every line is a row.
enum class Quotes { csv, none };

// Input of delimited text with a header, and which of its columns to use. Any column can be a mode: its fields are
// keys, taken byte for byte (numbers too). Each key becomes a coordinate, numbered by first appearance in the input,
// and the keys become the labels of the mode.
//
// An entry COLUMN:UNIT takes the fields as times, and the unit that a time lies in as the coordinate: year, quarter,
// month, week (of ISO 8601), day, hour, minute, weekday (Monday first) or hour-of-day. Times are those of ISO 8601, by
// the clock that they say, or with COLUMN:UNIT:utc by UTC where they have a zone; or numbers of seconds (below 10^11),
// milliseconds (below 10^14), microseconds (below 10^17) or nanoseconds since 1970. Coordinates and labels are
// in the order of time; COLUMN:UNIT:every has units without rows too, from the first to the last. Eight, 12, 14 and 17
// digits that form a date of the years 1900 to 2199 are this date. A number that may be another form of date as well,
// as INPUTS.md lists them, is refused.
//
// COLUMN:bins=N takes the fields as numbers, in N intervals of equal width; COLUMN:quantiles=N in at most N intervals
// of nearly equal numbers of rows. N is from 2 to 65536. Labels are intervals such as [0, 2.5), the last [7.5, 10].
// Each distinct number takes memory until the input has ended.
//
// COLUMN:index takes whole numbers from 0 as the indices themselves, without labels.
//
// An entry that is the whole name of a column means that column. Several modes may take one column in different ways.
struct ColumnOptions {
  std::vector<std::string> modes = {};  // such as user, when:day, price:bins=20; empty: no delimited text
  std::string value = {};               // name of the value column; empty: every row counts 1
  char separator = 0;                   // 0: tab for .tsv, else comma, tab or semicolon, guessed from each header
  char decimal = '.';                   // of values: a dot or a comma
  Quotes quotes = Quotes::csv;
  Missing missing = Missing::error;
  std::string missing_key = {};              // for Missing::key
  std::vector<std::string> null_words = {};  // of text: fields that mean a missing one, besides those above
  std::vector<std::string> names = {};  // of text without a line of names: those of its columns; line 1 is a row then
  std::filesystem::path labels_from =
      {};  // a container or model whose labels keep their numbers, and whose bins are taken; or empty
  bool skip_unknown = false;  // leaves out rows with keys that labels_from does not have; else they get new numbers

  friend bool operator==(const ColumnOptions&, const ColumnOptions&) = default;
};

// Labels for a mode of coordinate text or arrays: a file with one label a line, in UTF-8, plain or compressed by gzip
// or zstd; the first line names the first index of the mode. Where the length of the mode is not declared, it becomes
// as long as it has labels.
struct LabelSource {
  std::string mode;  // its name, or its number from 0
  std::filesystem::path file;
};

struct IngestOptions {
  int index_base = 1;                                 // smallest coordinate in text input: 0 or 1
  std::uint64_t skip_lines = 0;                       // header lines to skip at the start of every text file
  std::uint64_t memory_bytes = 0;                     // of the whole job; 0: 80% of what is available
  int threads = 0;                                    // 0: one per processor
  DuplicatePolicy duplicates = DuplicatePolicy::sum;  // of entries with equal coordinates
  std::vector<std::uint64_t> shape = {};     // empty: as the input declares it, else from its largest coordinates
  std::vector<std::string> mode_names = {};  // empty: those of the columns, with ":day" where several modes have one;
                                             // without columns "mode0", "mode1", ...
  Reorder reorder = Reorder::none;           // frequency: smaller container, slower ingest
  int zstd_level = 3;                        // 0 to 19; higher: smaller file, slower ingest; 0: packed, not compressed
  int zstd_saving_percent = 45;              // a column of a chunk is compressed if that saves so much; 0: anything
  std::uint64_t chunk_nnz = std::uint64_t{1} << 20;  // unit of reads and transfers; larger: fewer of them, more memory
  std::filesystem::path temporary_directory = {};    // for data beyond memory_bytes; empty: the output's folder
  // Modes, by name or by number from 0, that get a copy of all nonzeros in an order of their own, which their passes
  // read on the CPU. {"all"}: every mode. {"auto"}: each mode for which a copy promises to pay, by counts of the
  // nonzeros alone; see OrderedMode. Empty or {"none"}: no mode. Name a mode called "all", "auto" or "none" by its
  // number. A mode whose order is the natural one gets no copy. Not for held_out_to.
  std::vector<std::string> orders = {};
  ColumnOptions columns = {};
  std::vector<LabelSource> label_files = {};  // for coordinates; the keys of a table are its labels
  // Linearises, sorts, coalesces and packs on the GPU; the container has the same bytes. If the GPU's free memory does
  // not hold all entries, they are sorted in shorter runs, through temporary files. No hardware has shown yet that this
  // is faster.
  bool sorts_on_gpu = false;
  std::function<void(const std::string&)> on_compile = {};  // as that of Compute, for sorts_on_gpu
  // Above 0 and below 1: about this share of all cells, with all of their entries, goes to the container held_out_to
  // instead, which has the same shape, labels and numbers. A hash of a cell's labels, or of coordinates where there are
  // no labels, decides, and nothing else. Not with Reorder::frequency.
  double hold_out = 0;
  std::filesystem::path held_out_to = {};
  // Keeps only the indices of a mode that have entries: they become 0, 1, ... in rising order. The label of a kept
  // index is its old label, or else the original index, as the input counts it. A mode whose indices all occur stays as
  // it is. Memory, within memory_bytes, grows with the number of indices that occur, not with their size. Not with
  // `shape`, nor with columns.labels_from, whose numbers would change.
  bool compact = false;
};

// A tensor in arrays that the caller owns: entry i has the coordinates coordinates[n][i], counted from 0, and the value
// values[i], or 1 if `values` is empty. The views do not keep temporaries alive.
struct CoordinateArrays {
  std::vector<IndexView> coordinates = {};  // one per mode, all of the same length; a std::vector converts
  ValueView values = {};
  // Per mode one label per index, or none; empty: no mode has labels. A mode with labels is as long as they are many.
  std::vector<Labels> labels = {};
};

// The labels that a mode got from label_files.
struct LabelCounts {
  std::uint64_t mode = 0;
  std::uint64_t labels = 0;
  std::uint64_t repeated = 0;  // distinct labels that more than one index has
};

// A mode that IngestOptions::compact has renumbered.
struct CompactedMode {
  std::uint64_t mode = 0;
  std::uint64_t indices = 0;   // that have entries: its length now
  std::uint64_t original = 0;  // its length before
};

}  // namespace blco
