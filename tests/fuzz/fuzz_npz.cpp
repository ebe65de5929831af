// Fuzzes the reader of NumPy archives: zip directory, deflate, array headers, and which array is what.
#include "blco/executor.hpp"
#include "io/arrays/coo_reader.hpp"
#include "tests/fuzz/batch_rules.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace blco;
  fuzz::FuzzInput input(data, size);
  const fuzz::MemoryFile file(input.rest());
  SerialExecutor executor;
  const auto read = [&](std::uint64_t memory_bytes) {
    return fuzz::read_entries([&] {
      std::vector<std::unique_ptr<CooSource>> sources;
      sources.push_back(open_npz(file.path()));
      return make_coo_reader(std::move(sources), memory_bytes, executor);
    });
  };
  const fuzz::Entries whole = read(std::uint64_t{1} << 22);
  fuzz::require(whole == read(std::uint64_t{1} << 22));
  return 0;
}
