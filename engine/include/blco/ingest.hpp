// From coordinates to a BLCO container.
#pragma once

#include <blco/error.hpp>
#include <blco/progress.hpp>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace blco {

// How nonzeros of the same coordinates become one: folded left to right in input order.
enum class DuplicatePolicy { sum, error, first, last, max };

// Whether the indices of each mode are renumbered in the container. By frequency: by falling count of the entries read,
// equal counts by rising index, so indices without entries come last. Neighbours in the order of the container differ
// less then, and the index takes fewer bits. It is undone wherever indices come out: in models, exports and messages.
enum class Relabel { none, frequency };

// Delimited text with a header, of which some columns are wanted. Any column can be a mode: its fields are taken byte
// for byte as keys (numbers too), and each key is a coordinate, numbered by first appearance in the input. The keys
// become the labels of the modes.
struct ColumnOptions {
  std::vector<std::string> modes = {};     // names in the header; empty: the input is not delimited text
  std::string value = {};                  // the column of values; empty: every row counts 1
  char separator = 0;                      // 0: tab for .tsv, else comma, tab or semicolon as the header has it
  std::filesystem::path labels_from = {};  // a container whose keys keep their numbers; empty: none
};

struct IngestOptions {
  int index_base = 1;              // smallest coordinate in text input: 0 or 1
  std::uint64_t skip_lines = 0;    // header lines at the start of every text file
  std::uint64_t memory_bytes = 0;  // of the whole job; 0: 80% of what is available
  int threads = 0;                 // 0: one per processor
  DuplicatePolicy duplicates = DuplicatePolicy::sum;
  std::vector<std::uint64_t> shape = {};     // empty: the largest coordinate of every mode
  std::vector<std::string> mode_names = {};  // empty: "mode0", "mode1", ...
  Relabel relabel = Relabel::none;
  int zstd_level = 3;  // 0: no compression beyond the packing
  std::uint64_t chunk_nnz = std::uint64_t{1} << 20;
  std::filesystem::path temporary_directory = {};  // for what does not fit memory_bytes; empty: the output's folder
  ColumnOptions columns = {};
};

struct ColumnBytes {
  std::uint64_t stored = 0;    // on disk
  std::uint64_t streamed = 0;  // cached in memory and sent to a device
};

struct IngestReport {
  std::vector<std::uint64_t> shape;
  std::string input_format = {};   // "FROSTT text", "CSV", ...; empty for arrays in memory and generated ones
  std::uint64_t entries_read = 0;  // those that a symmetric matrix implies included
  std::uint64_t nnz = 0;           // after folding
  std::uint64_t chunk_count = 0;
  ColumnBytes index;  // index and key columns
  ColumnBytes value;
  std::uint64_t file_bytes = 0;
  std::vector<std::uint64_t> relabelled_modes = {};  // those that the new numbers differ in from the old ones
  std::vector<StageTime> stages = {};                // in their order; "sync": until all lay on the disk
};

// Makes one tensor of files, and writes it to `output`, which appears only when it is whole. The files are
// - delimited text with a header (CSV), where options.columns.modes names columns: shape and index_base are then not
//   given, and mode_names are those columns unless they are;
// - FROSTT text (.tns), the same with a header of GenTen or ParTI, or Matrix Market coordinate text (.mtx);
// - or coordinate lists in arrays, which count from 0 whatever index_base is: NumPy archives (.npz) and HDF5 files or
//   groups of them (FILE:/GROUP). Their values are "values" or "data"; their coordinates are a matrix "coords" or
//   "indices", nnz x order or order x nnz (where both fit, "coords" is order x nnz and "indices" is not), or "row" and
//   "col", or lists "mode0", "mode1", ...; "shape" may be there.
// The first bytes tell what a file is; text may be plain, gzip or zstd.
// The bytes of the container depend on the input and on shape, names, policy, relabel, zstd_level and chunk_nnz alone,
// not on threads or memory. What memory_bytes cannot hold is sorted by way of temporary files, packed: once where the
// shape is given, twice where it is not, or where indices are renumbered. They are locked, and those of killed jobs in
// the same folder are removed.
// Throws Error: invalid_argument for input that is not acceptable (file and line), an empty tensor, one whose values
// are all zero, a shape that does not hold the input; out_of_memory naming the budget that would do; io, also where
// another job is writing `output`, and where a disk is, or will be, full; cancelled by `progress`. Nothing is left
// then.
IngestReport ingest_files(const std::vector<std::filesystem::path>& inputs, const std::filesystem::path& output,
                          const IngestOptions& options = {}, const ProgressCallback& progress = {});

// One mode's coordinates; a std::vector of either width converts.
using IndexSpan = std::variant<std::span<const std::uint32_t>, std::span<const std::uint64_t>>;

// A tensor as arrays that the caller owns: entry i has the coordinates coordinates[n][i], counted from 0, and the value
// values[i], or 1 where there are no values. The spans do not keep temporaries alive.
struct CoordinateArrays {
  std::vector<IndexSpan> coordinates = {};  // one per mode, all of one length
  std::span<const double> values = {};
};

// The same from arrays in memory: the container that ingest_files makes of the same entries, byte for byte. index_base
// and skip_lines do not count; beside the arrays, memory_bytes covers all. Throws Error: invalid_argument as above and
// for arrays that differ in length, naming the first entry that has a coordinate outside the shape or a value that is
// not finite; out_of_memory, io; cancelled by `progress`, and then nothing is left.
IngestReport ingest_coordinates(const CoordinateArrays& arrays, const std::filesystem::path& output,
                                const IngestOptions& options = {}, const ProgressCallback& progress = {});

}  // namespace blco
