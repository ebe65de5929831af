// NumPy archives made by hand, byte for byte: what numpy itself does not write is read, or refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <isa-l/crc.h>

#include <cstdint>
#include <string>
#include <vector>

#include "io/arrays/coo_reader.hpp"
#include "io/arrays/zip_stream.hpp"
#include "tests/io/expect_error.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/thread_executor.hpp"

namespace blco {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::uint32_t crc_of(const std::string& bytes) {
  return crc32_gzip_refl(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

template <class T>
std::string little(T value) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    bytes += static_cast<char>(static_cast<std::uint64_t>(value) >> 8 * i & 0xff);
  }
  return bytes;
}

std::string npy(const std::string& descr, const std::string& shape, const std::string& numbers) {
  const std::string dictionary = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + "}\n";
  return "\x93NUMPY" + std::string("\1\0", 2) + little(static_cast<std::uint16_t>(dictionary.size())) + dictionary +
         numbers;
}

struct Entry {
  std::string name;
  std::string content;
  std::uint32_t wrong_crc = 0;  // added to the right one
};

// Stored members whose sizes are only in the directory and behind their data, as a writer to a pipe leaves them; in
// zip64 fields where `large` says so.
std::string zip(const std::vector<Entry>& entries, bool large = false) {
  std::string file, directory;
  for (const Entry& entry : entries) {
    const std::uint32_t crc = crc_of(entry.content) + entry.wrong_crc;
    const auto size = static_cast<std::uint32_t>(entry.content.size());
    const auto name_bytes = static_cast<std::uint16_t>(entry.name.size());
    const auto offset = static_cast<std::uint32_t>(file.size());
    const std::string version = little<std::uint16_t>(45) + little<std::uint16_t>(8) + little<std::uint16_t>(0);
    file += "PK\3\4" + version + std::string(4, '\0') + std::string(12, '\0') + little(name_bytes) +
            little<std::uint16_t>(0) + entry.name + entry.content;
    file += "PK\7\x08" + little(crc) + little(size) + little(size);
    const std::uint32_t shown = large ? 0xffffffff : size;
    const std::string extra = large
                                  ? little<std::uint16_t>(1) + little<std::uint16_t>(24) + little<std::uint64_t>(size) +
                                        little<std::uint64_t>(size) + little<std::uint64_t>(offset)
                                  : "";
    directory += "PK\1\2" + little<std::uint16_t>(45) + version + std::string(4, '\0') + little(crc) + little(shown) +
                 little(shown) + little(name_bytes) + little(static_cast<std::uint16_t>(extra.size())) +
                 std::string(10, '\0') + little(large ? 0xffffffff : offset) + entry.name + extra;
  }
  const auto count = static_cast<std::uint16_t>(entries.size());
  return file + directory + "PK\5\6" + std::string(4, '\0') + little(count) + little(count) +
         little(static_cast<std::uint32_t>(directory.size())) + little(static_cast<std::uint32_t>(file.size())) +
         std::string(2, '\0');
}

const Entry coords_member{"coords.npy", npy("|u1", "(2, 3)", std::string("\0\5\2\7\1\1", 6))};
const Entry data_member{"data.npy", npy("|i1", "(3,)", "\1\2\xfd")};

class NpzReader : public ::testing::Test {
 protected:
  CoordinateBatch read(const std::string& bytes) const {
    std::vector<std::unique_ptr<CooSource>> sources;
    sources.push_back(open_npz(folder_.write("a.npz", bytes)));
    ThreadExecutor executor(2);
    const auto reader = make_coo_reader(std::move(sources), 1 << 20, executor);
    CoordinateBatch batch, none;
    EXPECT_TRUE(reader->next(batch));
    EXPECT_FALSE(reader->next(none));
    return batch;
  }
  std::string refused(ErrorKind kind, const std::string& bytes) const {
    return message_of_error(kind, [&] { read(bytes); });
  }

  TemporaryFolder folder_;
};

TEST_F(NpzReader, TakesSizesFromTheDirectory) {
  for (const bool large : {false, true}) {
    const CoordinateBatch batch = read(zip({coords_member, data_member}, large));

    EXPECT_EQ(batch.order, 2);
    EXPECT_THAT(batch.narrow, ElementsAre(0, 7, 5, 1, 2, 1));
    EXPECT_THAT(batch.values, ElementsAre(1, 2, -3));
    EXPECT_THAT(batch.upper, ElementsAre(5, 7));
  }
}

TEST_F(NpzReader, NamesTheArrayWhoseChecksumDoesNotMatch) {
  for (std::size_t damaged : {0, 1}) {
    std::vector<Entry> entries = {coords_member, data_member};
    entries[damaged].wrong_crc = 1;

    EXPECT_THAT(refused(ErrorKind::corrupt, zip(entries)),
                HasSubstr(damaged == 0 ? "'coords' is damaged" : "'data' is"));
  }
}

TEST_F(NpzReader, RefusesEveryCut) {
  const std::string whole = zip({coords_member, data_member});
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_NE(refused(ErrorKind::corrupt, whole.substr(0, bytes)), "") << bytes;
  }
}

TEST_F(NpzReader, RefusesASizeThatIsNotThatOfTheHeader) {
  for (const char* shape : {"(2, 4)", "(2, 2)", "(18446744073709551615, 3)", "(4294967296, 4294967296)"}) {
    const Entry wrong{"coords.npy", npy("|u1", shape, std::string(6, '\1'))};

    EXPECT_THAT(refused(ErrorKind::corrupt, zip({wrong, data_member})), HasSubstr("does not have the size")) << shape;
  }
}

TEST(CombineCrc, GivesTheChecksumOfTheWhole) {
  const std::string text = "123456789";
  ASSERT_EQ(crc_of(text), 0xcbf43926);

  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const std::string tail = text.substr(cut);
    EXPECT_EQ(combine_crc(crc_of(text.substr(0, cut)), crc_of(tail), tail.size()), 0xcbf43926) << cut;
  }
  const std::string zeros(100'000, '\0');
  EXPECT_EQ(combine_crc(crc_of(text), crc_of(zeros), zeros.size()), crc_of(text + zeros));
}

}  // namespace
}  // namespace blco
