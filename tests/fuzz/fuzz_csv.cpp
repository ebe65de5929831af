// Fuzzes the reader of delimited text, read twice: the size of the blocks that it is cut into does not matter.
#include "blco/executor.hpp"
#include "io/text/csv_reader.hpp"
#include "tests/fuzz/batch_rules.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace blco;
  fuzz::FuzzInput input(data, size);
  const auto choice = input.take<std::uint8_t>();
  CsvOptions options{.columns = {.modes = {"a", "b"}, .value = (choice & 1) != 0 ? "v" : ""}};
  if ((choice & 4) != 0) options.columns.modes = {"a:month:every", "b:bins=5"};
  if ((choice & 6) == 6) options.columns.modes = {"a:day", "b:quantiles=5"};
  options.separator = "\0,\t;"[input.choose(4)];
  const std::string_view text = input.rest();
  const fuzz::MemoryFile file(text);
  SerialExecutor executor;
  const auto read = [&](std::size_t block_bytes) {
    options.block_bytes = block_bytes;
    return fuzz::read_entries([&] { return open_csv({file.path()}, options, executor); });
  };
  const fuzz::Entries whole = read(std::size_t{1} << 16);
  const fuzz::Entries pieces = read(48);
  fuzz::require(whole.refusal.empty() == pieces.refusal.empty());
  fuzz::require(!whole.refusal.empty() || whole == pieces);
  for (std::size_t n = 0; n < whole.labels.size(); ++n) fuzz::require(whole.labels[n].size() == whole.shape[n]);
  return 0;
}
