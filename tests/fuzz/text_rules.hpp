// Coordinate text, read twice: the size of the blocks that it is cut into does not matter.
#pragma once

#include <string_view>

#include "blco/executor.hpp"
#include "io/text/tns_reader.hpp"
#include "tests/fuzz/batch_rules.hpp"

namespace blco::fuzz {

inline void require_text(std::string_view text, TnsOptions options) {
  const MemoryFile file(text);
  SerialExecutor executor;
  const auto read = [&](std::size_t block_bytes) {
    options.block_bytes = block_bytes;
    return read_entries([&] { return open_tns({file.path()}, options, executor); });
  };
  const Entries whole = read(std::size_t{1} << 16);
  const Entries pieces = read(48);
  // A refusal comes after the entries of the blocks before it; of two, in a damaged stream, the first block's.
  require(whole.refusal.empty() == pieces.refusal.empty());
  const bool is_plain = !text.empty() && std::string_view("0123456789#%s").find(text[0]) != std::string_view::npos;
  require(!is_plain || whole.refusal == pieces.refusal);
  require(!whole.refusal.empty() || whole == pieces);
}

}  // namespace blco::fuzz
