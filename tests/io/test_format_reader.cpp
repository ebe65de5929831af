// The reader that FORMAT.md prints, run on containers: an oracle that shares no code with the library.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/io/stored_tensor.hpp"

namespace blco::tests {
namespace {

const fs::path specification = fs::path(__FILE__).parent_path() / "../../blco/FORMAT.md";

std::string printed_reader() {
  const std::string page = file_contents(specification);
  const std::string opening = "```python\n";
  const std::size_t begin = page.find(opening);
  const std::size_t end = page.find("```", begin + opening.size());
  if (begin == std::string::npos || end == std::string::npos) return {};
  return page.substr(begin + opening.size(), end - begin - opening.size());
}

template <class T>
void write_raw(const fs::path& path, const std::vector<T>& values) {
  write_file(path, {reinterpret_cast<const char*>(values.data()), sizeof(T) * values.size()});
}

// Column by column, bit for bit; and the checksum of the metadata, from its table in FORMAT.md.
constexpr const char* comparison = R"(
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
    for name in ('address', 'stored_bytes', 'payload_bytes', 'filter_mask', 'lower', 'upper'):
        data += chunks[name][()].tobytes()
    assert crc32c(b'123456789') == 0xe3069283 and crc32c(data) == a['crc32c']
    with open('t.blco', 'rb') as raw:
        for c, column in np.argwhere(chunks['stored_bytes'][()] > 0):
            raw.seek(int(chunks['address'][c, column]))
            mask, stored = file[('index', 'key', 'value')[column]].id.read_direct_chunk((c * int(a['chunk_nnz']),))
            assert raw.read(int(chunks['stored_bytes'][c, column])) == stored
            assert mask == chunks['filter_mask'][c, column]
)";

class PrintedReader : public testing::TestWithParam<Values> {};

INSTANTIATE_TEST_SUITE_P(EveryCodec, PrintedReader,
                         testing::Values(Values::ones, Values::counts, Values::tenths, Values::floats,
                                         Values::doubles));

TEST_P(PrintedReader, GivesTheColumnsThatWereWritten) {
  if (std::system("/usr/bin/python3 -c 'import h5py' >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "/usr/bin/python3 has no h5py (apt install python3-h5py)";
  }
  const TemporaryFolder folder;
  for (const int level : {0, 3}) {
    const StoredTensor tensor = random_tensor({{1ULL << 33, 1ULL << 32, 50}, 1100, 300, GetParam(), level});
    write_tensor(tensor, folder / "t.blco");
    write_raw(folder / "index", tensor.columns.low);
    write_raw(folder / "key", tensor.columns.key);
    write_raw(folder / "value", tensor.columns.value);
    write_file(folder / "script.py", printed_reader() + comparison);

    const int status = std::system(("cd '" + folder.path().string() + "' && /usr/bin/python3 script.py").c_str());

    EXPECT_EQ(status, 0) << "zstd level " << level;
  }
}

}  // namespace
}  // namespace blco::tests
