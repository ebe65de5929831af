// The readers that FORMAT.md prints, run on containers: oracles that share no code with the library (the first, but for
// the filters, which HDF5 loads as plugins).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "tests/io/container/stored_tensor.hpp"

namespace blco::tests {
namespace {

std::string printed_reader(const std::string& heading) {
  const std::string page = file_contents(BLCO_FORMAT_PAGE);
  const std::string opening = "```python\n";
  const std::size_t begin = page.find(opening, page.find("\n## " + heading + "\n"));
  const std::size_t end = page.find("```", begin + opening.size());
  if (begin == std::string::npos || end == std::string::npos) return {};
  return page.substr(begin + opening.size(), end - begin - opening.size());
}

bool has_h5py() { return std::system("/usr/bin/python3 -c 'import h5py' >/dev/null 2>&1") == 0; }

// The exit code of a script that runs in `folder`, where HDF5 finds the plugins.
int run_script(const TemporaryFolder& folder, const std::string& script) {
  write_file(folder / "script.py", script);
  return std::system(
      ("cd '" + folder.path().string() + "' && HDF5_PLUGIN_PATH='" BLCO_HDF5_PLUGINS "' /usr/bin/python3 script.py")
          .c_str());
}

template <class T>
void write_raw(const fs::path& path, const std::vector<T>& values) {
  write_file(path, {reinterpret_cast<const char*>(values.data()), sizeof(T) * values.size()});
}

// Coordinates and values, bit for bit.
constexpr const char* coordinate_comparison = R"(
coordinates, values = read('t.blco')
expected = np.fromfile('coordinates', '<u8').reshape(-1, coordinates.shape[1])
assert coordinates.dtype == expected.dtype and (coordinates == expected).all()
assert values.dtype == np.dtype('<f8') and values.tobytes() == np.fromfile('value', '<f8').tobytes()
)";

// Column by column, bit for bit; and the checksum of the metadata, from its table in FORMAT.md.
constexpr const char* column_comparison = R"(
def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff

with h5py.File('t.blco', 'r') as file:
    for name in ('index', 'key', 'value'):
        if name in file:
            read = read_column(file, name)
            expected = np.fromfile(name, '<f8' if name == 'value' else '<u8')
            assert read.dtype == expected.dtype and read.tobytes() == expected.tobytes(), name
    a, chunks = file.attrs, file['chunks']
    data = a['format'] + struct.pack('<IQ', a['version'], len(a['shape'])) + a['shape'].astype('<u8').tobytes()
    data += struct.pack('<QQd', a['nnz'], a['chunk_nnz'], a['sum_of_squares'])
    for name in a['mode_names']:
        data += struct.pack('<Q', len(name)) + name
    data += bytes([a['complete']])
    value_name = a.get('value_name', b'')
    for name in ('address', 'stored_bytes', 'payload_bytes', 'filter_mask', 'lower', 'upper'):
        data += chunks[name][()].tobytes()
    for text in [value_name, *a.get('columns', []), a.get('missing', b''), a.get('duplicates', b'')]:
        if text:
            data += struct.pack('<Q', len(text)) + text
    assert (a.get('duplicates') == b'last' and len(a['columns']) == 3) == bool(value_name)
    assert value_name == open('value_name', 'rb').read()
    assert crc32c(b'123456789') == 0xe3069283 and crc32c(data) == a['crc32c']
    with open('t.blco', 'rb') as raw:
        for c, column in np.argwhere(chunks['stored_bytes'][()] > 0):
            raw.seek(int(chunks['address'][c, column]))
            mask, stored = file[('index', 'key', 'value')[column]].id.read_direct_chunk((c * int(a['chunk_nnz']),))
            assert raw.read(int(chunks['stored_bytes'][c, column])) == stored
            assert mask == chunks['filter_mask'][c, column]
)";

using Shape = std::vector<std::uint64_t>;

class PrintedReader : public testing::TestWithParam<Values> {};

INSTANTIATE_TEST_SUITE_P(EveryCodec, PrintedReader,
                         testing::Values(Values::ones, Values::counts, Values::tenths, Values::floats,
                                         Values::doubles));

TEST_P(PrintedReader, GivesTheCoordinatesAndValuesThatWereWritten) {
  if (!has_h5py()) GTEST_SKIP() << "/usr/bin/python3 has no h5py (apt install python3-h5py)";
  const TemporaryFolder folder;
  const std::string reader = printed_reader("A reader in Python");
  const std::vector<std::vector<std::uint64_t>> shapes = {{1, 1, 1},
                                                          {1000},
                                                          {7, 300, 1, 50},
                                                          {1ULL << 22, 1ULL << 21, 1ULL << 21},
                                                          {1ULL << 33, 1ULL << 32, 50},
                                                          {(1ULL << 63) + 9, 1ULL << 63},
                                                          std::vector<std::uint64_t>(16, 200)};
  for (const auto& shape : shapes) {
    const StoredTensor tensor = random_tensor({shape, 1100, 300, GetParam(), 3});
    write_tensor(tensor, folder / "t.blco");
    std::vector<std::uint64_t> coordinates;
    for (const auto& point : tensor.coordinates) coordinates.insert(coordinates.end(), point.begin(), point.end());
    write_raw(folder / "coordinates", coordinates);
    write_raw(folder / "value", tensor.columns.value);

    EXPECT_EQ(run_script(folder, reader + coordinate_comparison), 0) << "order " << shape.size();
  }
}

TEST_P(PrintedReader, GivesTheCopiesInTheOrdersOfModes) {
  if (!has_h5py()) GTEST_SKIP() << "/usr/bin/python3 has no h5py (apt install python3-h5py)";
  const TemporaryFolder folder;
  const std::string reader = printed_reader("A reader of a copy in the order of a mode");
  for (const auto& shape : {Shape{7, 300, 1, 50}, Shape{1ULL << 33, 1ULL << 32, 50}, Shape(16, 200)}) {
    const StoredTensor tensor = random_tensor({shape, 1100, 300, GetParam(), 3});
    const int last = shape.size() == 3 ? 2 : 3;
    write_tensor(tensor, folder / "t.blco", {0, last});
    for (const int mode : {0, last}) {
      const StoredTensor expected = in_order(tensor, bit_modes_of(shape, mode));
      std::vector<std::uint64_t> coordinates;
      for (const auto& point : expected.coordinates) coordinates.insert(coordinates.end(), point.begin(), point.end());
      write_raw(folder / "coordinates", coordinates);
      write_raw(folder / "value", expected.columns.value);
      const std::string read = "read = lambda path: read_copy(path, " + std::to_string(mode) + ")\n";

      EXPECT_EQ(run_script(folder, reader + read + coordinate_comparison), 0) << "order " << shape.size();
    }
  }
}

TEST_P(PrintedReader, GivesTheColumnsThatWereWrittenWithoutPlugins) {
  if (!has_h5py()) GTEST_SKIP() << "/usr/bin/python3 has no h5py (apt install python3-h5py)";
  const TemporaryFolder folder;
  const std::string reader = printed_reader("A reader without plugins");
  for (const int level : {0, 3}) {
    StoredTensor tensor = random_tensor({{1ULL << 33, 1ULL << 32, 50}, 1100, 300, GetParam(), level});
    if (level == 3) {
      tensor.info.value_name = "größe";
      tensor.info.reading = {{"a:day", "größe", "c:bins=3"}, "skip", DuplicatePolicy::last};
    }
    write_file(folder / "value_name", tensor.info.value_name);
    write_tensor(tensor, folder / "t.blco");
    write_raw(folder / "index", tensor.columns.low);
    write_raw(folder / "key", tensor.columns.key);
    write_raw(folder / "value", tensor.columns.value);

    EXPECT_EQ(run_script(folder, reader + column_comparison), 0) << "zstd level " << level;
  }
}

TEST(FormatPage, ReadsAContainerInTwentyLines) {
  const std::string reader = printed_reader("A reader in Python");

  EXPECT_GT(reader.size(), 0u);
  EXPECT_LE(std::count(reader.begin(), reader.end(), '\n'), 20);
}

}  // namespace
}  // namespace blco::tests
