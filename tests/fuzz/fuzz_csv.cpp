// Fuzzes the reader of delimited text, read twice: the size of the blocks that it is cut into does not matter.
#include "blco/executor.hpp"
#include "io/table/csv_reader.hpp"
#include "io/text/quoted_text.hpp"
#include "tests/fuzz/batch_rules.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace blco;
  fuzz::FuzzInput input(data, size);
  const auto choices = input.take<std::uint8_t>();
  TableOptions options{.columns = {.modes = {"a", "b"}, .value = (choices & 1) != 0 ? "v" : ""}};
  if ((choices & 32) != 0) options.columns.modes = {"a:month:every", "b:bins=5"};
  if ((choices & 96) == 96) options.columns.modes = {"a:day", "b:quantiles=5"};
  // Known keys, of which the columns may be read in another way.
  options.numbers_new_keys = (choices & 128) == 0;
  if (!options.numbers_new_keys) {
    options.known = [choices](const std::vector<std::string>&) {
      std::vector<std::string> keys = {"x", "two\nlines", "none"};
      if ((choices & 32) != 0) keys = {(choices & 96) == 96 ? "2024-02-29" : "2024-03"};
      const std::vector<std::string> bins = {"[0, 2.5)", "[2.5, 10]"};
      return std::vector<Labels>{Labels(keys), Labels(bins)};
    };
  }
  options.missing.are_accepted = (choices & 2) != 0;
  if ((choices & 6) == 6) options.missing.key = "none";
  options.dialect.decimal = (choices & 8) != 0 ? ',' : '.';
  const std::size_t dialect = input.choose(8);
  options.dialect.separator = "\0,\t;"[dialect % 4];
  options.dialect.has_quotes = dialect < 4;
  const fuzz::MemoryFile file(input.rest());
  const std::vector<std::filesystem::path> files((choices & 16) != 0 ? 2 : 1, file.path());
  SerialExecutor executor;
  const auto read = [&](std::size_t block_bytes) {
    options.block_bytes = block_bytes;
    return fuzz::read_entries([&] { return open_csv(files, options, executor); });
  };

  const fuzz::Entries whole = read(std::size_t{1} << 16);
  const fuzz::Entries pieces = read(48);

  fuzz::require(whole.refusal.empty() == pieces.refusal.empty());
  fuzz::require(!whole.refusal.empty() || whole == pieces);
  for (std::size_t n = 0; n < whole.labels.size(); ++n) {
    const Labels& labels = whole.labels[n];
    fuzz::require(labels.size() == whole.shape[n]);
    for (std::uint64_t i = 0; i < labels.size(); ++i) {
      fuzz::require(!labels[i].empty() && !find_invalid_utf8(labels[i]));
    }
  }
  return 0;
}
