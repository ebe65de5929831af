// Fuzzes the reader of coordinate text: FROSTT, headers of GenTen and ParTI, gzip and zstd.
#include "tests/fuzz/text_rules.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace blco;
  fuzz::FuzzInput input(data, size);
  const auto options = input.take<std::uint8_t>();
  fuzz::require_text(input.rest(), {.index_base = options & 1, .skip_lines = options >> 1 & 3U});
  return 0;
}
