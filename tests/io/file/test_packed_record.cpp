// What ingest spills comes back bit by bit, and damage is seen.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <random>

#include "blco/error.hpp"
#include "io/file/packed_record.hpp"
#include "tests/io/expect_error.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

struct Columns {
  RawVector<std::uint64_t> first;
  RawVector<std::uint64_t> second;
  RawVector<double> values;

  friend bool operator==(const Columns&, const Columns&) = default;
};

Columns random_columns(std::size_t count, int bits, bool ones, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Columns columns;
  for (std::size_t i = 0; i < count; ++i) {
    columns.first.push_back(bits == 64 ? random() : random() >> (64 - bits));
    columns.second.push_back(random() % 3);
    columns.values.push_back(ones ? 1.0 : std::ldexp(static_cast<double>(random() >> 11), -60));
  }
  return columns;
}

std::vector<std::byte> pack(const Columns& columns, FrameCoding coding) {
  std::vector<std::byte> record;
  const std::array<std::span<const std::uint64_t>, 2> spans = {columns.first, columns.second};
  append_record(spans, coding, columns.values, record);
  return record;
}

Columns unpack(std::span<const std::byte> record, FrameCoding coding) {
  Columns columns;
  const std::array places = {&columns.first, &columns.second};
  read_record(record, coding, places, columns.values);
  return columns;
}

TEST(PackedRecord, GivesBackWhatWasPacked) {
  for (const FrameCoding coding : {FrameCoding::plain, FrameCoding::differences}) {
    for (const std::size_t count : {1, 255, 256, 257, 4096, 5000}) {
      for (const int bits : {1, 31, 64}) {
        const Columns columns = random_columns(count, bits, bits == 1, count);

        const std::vector<std::byte> record = pack(columns, coding);

        EXPECT_EQ(unpack(record, coding), columns) << count << " entries of " << bits << " bits";
        EXPECT_EQ(record_bytes(record), record.size());
        EXPECT_LE(record.size(), max_record_bytes(2, count));
      }
    }
  }
}

TEST(PackedRecord, KeepsTheSignOfZero) {
  const Columns columns{{5}, {6}, {-0.0}};

  const Columns actual = unpack(pack(columns, FrameCoding::plain), FrameCoding::plain);

  EXPECT_EQ(std::bit_cast<std::uint64_t>(actual.values[0]), std::bit_cast<std::uint64_t>(-0.0));
}

TEST(PackedRecord, SeesEveryDamagedByte) {
  const Columns columns = random_columns(300, 20, false, 5);
  const std::vector<std::byte> whole = pack(columns, FrameCoding::plain);

  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::vector<std::byte> damaged = whole;
    damaged[at] ^= std::byte{0x10};
    try {
      // What fills a payload up to eight bytes belongs to nothing.
      EXPECT_EQ(unpack(damaged, FrameCoding::plain), columns) << "byte " << at;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::corrupt);
    }
  }
  expect_error(ErrorKind::corrupt, "damaged",
               [&] { unpack(std::span(whole).first(whole.size() - 8), FrameCoding::plain); });
}

TEST(RecordStream, GivesEveryRecordThroughABufferOfAnySize) {
  const TemporaryFolder folder;
  ScratchFile file(folder.path(), "job");
  std::vector<std::vector<std::byte>> records;
  for (const std::size_t count : {1, 3000, 7, 700, 2, 1, 1, 900}) {
    records.push_back(pack(random_columns(count, 40, false, count), FrameCoding::plain));
    file.append(records.back());
  }

  for (const std::uint64_t buffer_bytes : {1, 24, 1000, 5000, 1 << 20}) {
    // What has been read is given back to the file system, so every stream reads a file of its own.
    ScratchFile copy(folder.path(), "job");
    for (const auto& record : records) copy.append(record);
    RecordStream stream(copy, records[0].size(), copy.bytes(), buffer_bytes);
    for (std::size_t r = 1; r < records.size(); ++r) {
      const std::span<const std::byte> record = stream.next();
      EXPECT_TRUE(std::ranges::equal(record, records[r])) << "record " << r << ", buffer " << buffer_bytes;
    }
    EXPECT_TRUE(stream.next().empty());
    EXPECT_TRUE(stream.next().empty());
  }
}

TEST(RecordStream, SaysWhereARecordIsCutOff) {
  const TemporaryFolder folder;
  ScratchFile file(folder.path(), "job");
  file.append(pack(random_columns(500, 40, false, 1), FrameCoding::plain));

  expect_error(ErrorKind::corrupt, "cut off", [&] { RecordStream(file, 0, file.bytes() - 8, 4096).next(); });
}

}  // namespace
}  // namespace blco
