// Recognises files that are neither coordinate text nor tables of text: those of other programs, compressed ones and
// archives.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace blco {

// `head` is the beginning of a file, where that is gzip or zstd of what it decompresses to; of an archive, its end may
// follow. Says what the file is and what to do: "this is
// Parquet, which is not read; ...". Returns nothing if it may be text.
std::optional<std::string> explain_foreign_format(std::string_view head);

}  // namespace blco
