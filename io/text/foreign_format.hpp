// Recognises files of other programs that are neither coordinate text nor tables of text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace blco {

// `head` is the beginning of a file; of an archive, its end may follow. Says what the file is and what to do: "this is
// Parquet, not text; ...". Returns nothing if it may be text.
std::optional<std::string> explain_foreign_format(std::string_view head);

}  // namespace blco
