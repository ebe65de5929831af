// Turns coordinates into a BLCO container.
#pragma once

#include <blco/error.hpp>
#include <blco/ingest_input.hpp>
#include <blco/progress.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace blco {

struct ColumnBytes {
  std::uint64_t stored = 0;    // on disk
  std::uint64_t streamed = 0;  // packed, as cached in memory and sent to a device
};

// Rows left out because of missing fields.
struct SkippedRowCount {
  std::string column;      // whose field is the first missing one of the row
  std::uint64_t rows = 0;  // above 0
};

// A mode of a table with nearly as many keys as the table has rows: a model of it says little.
struct CrowdedMode {
  std::uint64_t mode = 0;
  std::uint64_t keys = 0;  // of this input: those that labels_from knows do not count
};

// A mode of a table with fewer bins than were asked for, because numbers are equal or too near to each other.
struct FewerBins {
  std::uint64_t mode = 0;
  std::uint64_t wanted = 0;
  std::uint64_t made = 0;
};

// What the order of a mode makes of the nonzeros of each chunk. In that order the mode's bits lie above all others, so
// that the nonzeros of a row follow each other. Where another mode has fibers of 3 nonzeros or more in the mean, the
// bits of the mode with the longest fibers lie below all others. In large tensors some chunks are counted, spread
// evenly.
struct OrderedMode {
  std::uint64_t mode = 0;
  std::optional<std::uint64_t> along;  // the mode that was put lowest for its fibers
  double nonzeros_per_fiber = 0;       // along the mode with the longest fibers, of the others
  // Distinct rows, added up over all modes, among 65536 nonzeros in the middle of a chunk, by the number of nonzeros.
  // Counted for "auto" alone, which makes a copy where they are at most most_rows_per_nonzero.
  double rows_per_nonzero = 0;
  bool has_copy = false;
  ColumnBytes index;  // of the copy
  ColumnBytes value;
};
inline constexpr double most_rows_per_nonzero = 0.7;

struct IngestReport {
  std::vector<std::uint64_t> shape;
  std::string input_format = {};   // "FROSTT text", "CSV", ...; empty for arrays in memory and generated tensors
  std::uint64_t entries_read = 0;  // includes entries implied by a symmetric matrix; not rows that were left out
  std::vector<SkippedRowCount> skipped_rows = {};  // in the order of options.columns
  std::uint64_t unknown_rows = 0;                  // left out by columns.skip_unknown
  std::uint64_t nnz = 0;                           // after coalescing; of the output, as all that follows
  std::uint64_t held_out_nnz = 0;                  // of held_out_to
  std::uint64_t chunk_count = 0;
  ColumnBytes index;  // index and key columns together
  ColumnBytes value;
  std::uint64_t file_bytes = 0;
  std::vector<OrderedMode> ordered_modes = {};      // those that options.orders asks about, by rising mode
  std::vector<std::uint64_t> reordered_modes = {};  // modes whose new numbers differ from the old ones
  std::vector<CompactedMode> compacted_modes = {};  // likewise
  std::vector<LabelCounts> labels = {};             // by rising mode
  std::vector<StageTime> stages = {};               // in order; "sync" lasts until all data is on disk
  std::vector<CrowdedMode> crowded_modes = {};      // of 1000 rows or more: more than half as many keys as rows
  std::vector<FewerBins> fewer_bins = {};
  // What else the input may mean, with its place and what to do, as in messages: a line that may be a shape, quoted
  // fields that span lines, times far from today, keys that are equal as numbers, modes most of whose indices have no
  // entry; and named modes of options.orders that get no copy.
  std::vector<std::string> notes = {};
};

// Makes one tensor from all input files and writes it to `output`, which appears only when it is complete. The files
// are one of:
// - delimited text with a header (CSV), where options.columns.modes names columns; shape, index_base and label_files
//   must then be left at their defaults;
// - FROSTT text (.tns), with or without a header of GenTen, ParTI or extended FROSTT, or Matrix Market coordinate text
//   (.mtx);
// - coordinate lists in arrays, which count from 0 whatever index_base is: NumPy archives (.npz), HDF5 files or groups
//   of them (FILE:/GROUP). Values are "values" or "data". Coordinates are a matrix "coords" or "indices", nnz x order
//   or order x nnz (where both fit, "coords" is order x nnz and "indices" is nnz x order), or lists "row" and "col", or
//   lists "mode0", "mode1", ... There may be a "shape".
// - a single BLCO container: names, labels and nonzeros stay, chunks are compressed as the options say, and the output
//   has only the copies that `orders` asks for.
// The first bytes tell what a file is; text may be plain, gzip or zstd.
// The container's bytes depend only on the input and on shape, names, labels, policy, reorder, zstd_level,
// zstd_saving_percent, chunk_nnz and orders, not on threads or memory.
// Data beyond memory_bytes is sorted through packed temporary files: once if the shape is given, twice if it is not or
// if indices are renumbered. These files are locked; those that killed jobs left in the same folder are removed.
// Throws Error: invalid_argument (bad input, naming file and line; an empty tensor; values that are all zero; a shape
// too small for the input; an output that is also an input), out_of_memory (naming a budget that suffices), io (another
// job is writing `output`; a disk is full or would become full), cuda and not_built (sorts_on_gpu without a GPU),
// cancelled (by `progress`). On an error nothing is left on disk.
IngestReport ingest_files(const std::vector<std::filesystem::path>& inputs, const std::filesystem::path& output,
                          const IngestOptions& options = {}, const ProgressCallback& progress = {});

// Does the same from arrays in memory: the container has the same bytes as that of ingest_files from the same entries.
// index_base and skip_lines are ignored; label_files do not go with labels; memory_bytes covers everything but the
// arrays. Throws Error: invalid_argument (as above; arrays of different lengths; the first entry with a negative
// coordinate, one outside the shape, or a value that is not finite), out_of_memory, io, cancelled (by `progress`;
// nothing is left on disk).
IngestReport ingest_coordinates(const CoordinateArrays& arrays, const std::filesystem::path& output,
                                const IngestOptions& options = {}, const ProgressCallback& progress = {});

}  // namespace blco
