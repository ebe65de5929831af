// The headers of other programs' coordinate text files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace blco {

enum class Symmetry { none, symmetric, skew };

struct TextPreamble {
  const char* format = "FROSTT";                 // or "GenTen", "ParTI", "extended FROSTT", "Matrix Market"
  std::size_t bytes = 0;                         // of the header
  std::uint64_t lines = 0;                       // likewise
  std::vector<std::uint64_t> shape = {};         // empty: not declared
  std::optional<std::uint64_t> line_count = {};  // of entries, as stored
  bool has_values = true;
  bool counts_from_one = false;  // overrides the requested index base
  Symmetry symmetry = Symmetry::none;
  char separator = 0;  // of a table's fields, which may have line breaks in quotes; 0: every line is a row
};

// Recognises, at the start of a file:
//   GenTen and the Tensor Toolbox   "sptensor", the order, the shape, the number of nonzeros; one line each
//   ParTI                           the order, the shape; one line each
//   extended FROSTT                 the order and the number of nonzeros, the shape; one line each, behind comments
//   Matrix Market                   "%%MatrixMarket matrix coordinate ...", comments, rows, columns and entries
//                                   (Boisvert, Pozo & Remington 1996); of "tensor" for "matrix" the lengths of all
//                                   modes
// Anything else is FROSTT text, which has no header. Returns std::nullopt if more text is needed to tell; `is_whole`
// says that there is no more. Throws Error{invalid_argument} for a Matrix Market file that is not coordinate, not real,
// integer or pattern, or whose header is broken; and for one by its name, or with a comment of that format, that has no
// banner.
std::optional<TextPreamble> find_preamble(std::string_view text, bool is_whole, const std::filesystem::path& file);

}  // namespace blco
