// Fuzzes the reader of Matrix Market files.
#include <string>

#include "tests/fuzz/text_rules.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace blco;
  fuzz::FuzzInput input(data, size);
  fuzz::require_text("%%MatrixMarket matrix coordinate " + std::string(input.rest()), {});
  return 0;
}
