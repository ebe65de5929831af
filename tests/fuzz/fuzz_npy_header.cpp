// Fuzzes the parser of the headers of NumPy's arrays, which an archive's checksums hide.
#include "io/arrays/npy_header.hpp"
#include "tests/fuzz/fuzz_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace blco;
  fuzz::FuzzInput input(data, size);
  const std::string text(input.rest());
  fuzz::refusal_of([&] {
    const std::size_t offset = npy_data_offset(text);
    fuzz::require(offset >= 10 && offset <= 12 + max_npy_header_bytes);
  });
  fuzz::refusal_of([&] { fuzz::require(parse_npy_header(text).shape.size() <= 64); });
  return 0;
}
