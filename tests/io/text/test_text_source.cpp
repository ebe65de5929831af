// Text is the same however it is compressed and cut; damage of a compressed stream is found.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <string>
#include <thread>

#include "io/text/text_source.hpp"
#include "tests/io/expect_error.hpp"
#include "tests/io/text/compress_text.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string random_digits(std::size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  std::string text(bytes, '\n');
  for (char& c : text) c = "0123456789 \n"[random() % 12];
  return text;
}

std::string read_text(const std::filesystem::path& path, std::size_t part_bytes = 100'000) {
  const auto source = open_text_source(path);
  std::string text;
  std::string part(part_bytes, '\0');
  while (const std::size_t got = source->read(part)) text.append(part, 0, got);
  return text;
}

struct Compression {
  const char* name;
  std::string (*compress)(std::string text);
};

class EveryCompression : public ::testing::TestWithParam<Compression> {
 protected:
  std::string compress(const std::string& text) const { return GetParam().compress(text); }

  TemporaryFolder folder_;
};

TEST_P(EveryCompression, TextOfAnySizeComesBack) {
  for (const std::size_t bytes : {0, 1, 3, 4, 5, 65'536, 262'143, 262'144, 262'145, 2'000'000}) {
    const std::string text = random_digits(bytes, 1);
    const auto file = folder_.write("a", compress(text));

    const std::string read = read_text(file);

    EXPECT_TRUE(read == text) << bytes;
  }
}

TEST_P(EveryCompression, TextComesBackInPartsOfAnySize) {
  const std::string text = random_digits(70'000, 2);
  const auto file = folder_.write("a", compress(text));

  for (const std::size_t part : {1, 2, 7, 4096, 1'000'000}) {
    EXPECT_TRUE(read_text(file, part) == text) << part;
  }
}

TEST_P(EveryCompression, APipeThatGivesFewBytesAtATimeIsRead) {
  const std::string text = random_digits(20'000, 3);
  const std::string bytes = compress(text) + (text.empty() ? "" : compress(text));
  const auto pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread feeder([&] {
    const int out = ::open(pipe.c_str(), O_WRONLY);
    std::size_t at = 0;
    for (std::size_t count = 1; at < bytes.size(); count = count % 3 + 1) {
      const ssize_t written = ::write(out, bytes.data() + at, std::min(count, bytes.size() - at));
      if (written < 0) break;
      at += static_cast<std::size_t>(written);
    }
    ::close(out);
  });

  const std::string read = read_text(pipe);
  feeder.join();

  EXPECT_TRUE(read == text + text);
}

TEST_P(EveryCompression, BytesReadEndAtTheSizeOfTheFile) {
  const std::string bytes = compress(random_digits(500'000, 4));
  const auto source = open_text_source(folder_.write("a", bytes));
  std::string part(4096, '\0');

  while (source->read(part) > 0) EXPECT_LE(source->bytes_read(), bytes.size());

  EXPECT_EQ(source->bytes_read(), bytes.size());
}

TEST_P(EveryCompression, AFileThatShrinksMeanwhileIsRefused) {
  const std::string bytes = compress(random_digits(2'000'000, 12));
  const auto file = folder_.write("a", bytes);
  const auto source = open_text_source(file);
  std::string part(4096, '\0');
  source->read(part);

  std::filesystem::resize_file(file, bytes.size() - 1);
  const std::string message = message_of_error(ErrorKind::io, [&] {
    while (source->read(part) > 0) continue;
  });

  EXPECT_THAT(message,
              AllOf(HasSubstr(file.string()), HasSubstr("became shorter"), HasSubstr(std::to_string(bytes.size()))));
}

TEST_P(EveryCompression, AFileThatGrowsMeanwhileIsReadToItsEnd) {
  const std::string text = random_digits(2'000'000, 13);
  const std::string bytes = compress(text);
  const auto file = folder_.write("a", bytes);
  const auto source = open_text_source(file);

  std::ofstream(file, std::ios::app | std::ios::binary) << bytes;
  std::string read;
  std::string part(4096, '\0');
  while (const std::size_t got = source->read(part)) read.append(part, 0, got);

  EXPECT_TRUE(read == text + text);
}

INSTANTIATE_TEST_SUITE_P(TextSource, EveryCompression,
                         ::testing::Values(Compression{"plain", [](std::string text) { return text; }},
                                           Compression{"gzip", gzip_text},
                                           Compression{"zstd", [](std::string text) { return zstd_text(text); }}),
                         [](const auto& instance) { return std::string(instance.param.name); });

class EveryStream : public EveryCompression {};

TEST_P(EveryStream, ConcatenatedStreamsAreOneText) {
  const std::string first = random_digits(300'000, 5);
  const std::string second = random_digits(1'000, 6);
  const auto file = folder_.write("a", compress(first) + compress("") + compress(second));

  const std::string read = read_text(file);

  EXPECT_TRUE(read == first + second);
}

TEST_P(EveryStream, TruncationAnywhereIsCorrupt) {
  const std::string bytes = compress(random_digits(300, 7));

  for (std::size_t size = 4; size < bytes.size(); ++size) {
    const auto file = folder_.write("cut", bytes.substr(0, size));
    const std::string message = message_of_error(ErrorKind::corrupt, [&] { read_text(file); });
    EXPECT_THAT(message, AllOf(HasSubstr(file.string()), HasSubstr("truncated"))) << size;
  }
}

TEST_P(EveryStream, TruncationOfALargeFileIsCorrupt) {
  const std::string bytes = compress(random_digits(2'000'000, 8));
  const auto file = folder_.write("cut", bytes.substr(0, bytes.size() - 3));

  const std::string message = message_of_error(ErrorKind::corrupt, [&] { read_text(file); });

  EXPECT_THAT(message, HasSubstr("truncated"));
}

TEST_P(EveryStream, BytesThatFollowAreCorrupt) {
  const auto file = folder_.write("a", compress(random_digits(1'000, 9)) + "1 1 1 1\n");

  const std::string message = message_of_error(ErrorKind::corrupt, [&] { read_text(file); });

  EXPECT_THAT(message, HasSubstr(file.string()));
}

INSTANTIATE_TEST_SUITE_P(TextSource, EveryStream,
                         ::testing::Values(Compression{"gzip", gzip_text},
                                           Compression{"zstd", [](std::string text) { return zstd_text(text); }}),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(TextSource, DamageOfGzipIsNeverTakenForText) {
  const TemporaryFolder folder;
  const std::string text = random_digits(300, 10);
  const std::string good = gzip_text(text);

  int found = 0;
  for (std::size_t at = 2; at < good.size(); ++at) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    const auto file = folder.write("bad.gz", bytes);
    try {
      EXPECT_EQ(read_text(file), text) << at;  // a time in the header, or bits between stream and checksum
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::corrupt);
      ++found;
    }
  }

  EXPECT_GE(found, static_cast<int>(good.size()) - 10);
}

TEST(TextSource, GzipMayBePaddedWithZeros) {
  const TemporaryFolder folder;
  const std::string text = random_digits(1'000, 11);

  for (const std::size_t zeros : {1, 2, 511, 300'000}) {
    const auto file = folder.write("a.gz", gzip_text(text) + std::string(zeros, '\0'));
    EXPECT_TRUE(read_text(file) == text) << zeros;
  }
  const auto file = folder.write("a.gz", gzip_text(text) + std::string(300'000, '\0') + "1");
  message_of_error(ErrorKind::corrupt, [&] { read_text(file); });
}

TEST(TextSource, SkippableZstdFramesAreLeftOut) {
  const TemporaryFolder folder;
  const std::string frame = std::string("\x53\x2a\x4d\x18\x05\0\0\0", 8) + "notes";

  const auto file = folder.write("a.zst", frame + zstd_text("1 1 1\n") + frame);

  EXPECT_EQ(read_text(file), "1 1 1\n");
}

TEST(TextSource, WhatCannotBeReadIsAnIoError) {
  const TemporaryFolder folder;

  const std::string absent = message_of_error(ErrorKind::io, [&] { open_text_source(folder / "absent"); });
  const std::string is_folder = message_of_error(ErrorKind::io, [&] { open_text_source(folder.path()); });

  EXPECT_THAT(absent, AllOf(HasSubstr((folder / "absent").string()), HasSubstr("No such file or directory")));
  EXPECT_THAT(is_folder, AllOf(HasSubstr(folder.path().string()), HasSubstr("folder")));
}

}  // namespace
}  // namespace blco
