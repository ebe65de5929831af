// Fuzzes what looks at the bytes of HDF5 files before HDF5 does: the trailer, and the walk over global heaps.
#include "io/hdf5/hdf5_trailer.hpp"
#include "tests/fuzz/fuzz_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace blco;
  fuzz::FuzzInput input(data, size);
  const bool signs = input.flag();
  const ByteRange excluded{input.take<std::uint16_t>(), input.take<std::uint16_t>()};
  fuzz::MemoryFile file(input.rest());
  fuzz::refusal_of([&] { check_global_heaps(file.descriptor(), file.path(), file.bytes()); });
  const std::uint64_t bytes = file.bytes();
  fuzz::refusal_of([&] {
    if (signs) append_trailer(file.descriptor(), file.path(), bytes, {excluded});
    check_trailer(file.descriptor(), file.path(), file.bytes());
    check_global_heaps(file.descriptor(), file.path(), file.bytes());
  });
  return 0;
}
