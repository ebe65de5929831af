// Reads the labels of a mode from a file with one label a line, as FROSTT's .map files are.
#pragma once

#include <cstdint>
#include <filesystem>

#include "blco/labels.hpp"

namespace blco {

struct LabelFile {
  Labels labels;                   // none, if they take more memory than allowed
  std::uint64_t memory_bytes = 0;  // of all labels
};

// Line i, counted from 0, is the label of coordinate i. Plain text, gzip or zstd; lines end in LF or CR LF, the last
// one may have no end, and the first one may begin with a byte order mark. Memory: twice that of the labels while they
// are read, and at most about twice `max_bytes`. Throws Error: invalid_argument naming file and line (no line at all,
// an empty one, one that is not UTF-8, 2^32 or more), io (cannot be read), corrupt (a damaged or truncated compressed
// stream).
LabelFile read_label_file(const std::filesystem::path& file, std::uint64_t max_bytes);

// How many distinct labels occur more than once. Takes 8 bytes of memory per label. Requires: fewer than 2^32 labels.
std::uint64_t count_repeated_labels(const Labels& labels);

}  // namespace blco
