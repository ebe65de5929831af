// Text written plain and compressed comes out whole, or not at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <string_view>

#include "io/text/tns_writer.hpp"
#include "tests/io/expect_error.hpp"
#include "tests/io/text/compress_text.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::size_t buffer_bytes = std::size_t{256} << 10;

std::string random_lines(std::size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  std::string text;
  while (text.size() < bytes) {
    text += std::to_string(random() % 100000) + " " + std::to_string(random() % 1000) + " " +
            std::to_string(random() % 10) + "\n";
  }
  text.resize(bytes);
  return text;
}

struct PipeCloser {
  void operator()(std::FILE* pipe) const { ::pclose(pipe); }
};

std::string output_of(const std::string& command) {
  const std::unique_ptr<std::FILE, PipeCloser> pipe(::popen(command.c_str(), "r"));
  std::string text;
  std::array<char, 4096> part;
  while (const std::size_t got = std::fread(part.data(), 1, part.size(), pipe.get())) text.append(part.data(), got);
  return text;
}

std::string decompressed(const std::filesystem::path& file, std::size_t text_bytes) {
  if (file.extension() == ".gz") return output_of("gzip -dc '" + file.string() + "'");
  if (file.extension() == ".zst") return unzstd_text(file_contents(file), text_bytes);
  return file_contents(file);
}

// Files of this process cannot grow past the limit, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

class EveryEnding : public ::testing::TestWithParam<const char*> {
 protected:
  std::filesystem::path target() const { return folder_ / (std::string("out.tns") + GetParam()); }

  TemporaryFolder folder_;
};

TEST_P(EveryEnding, TextComesBackWhateverItsSize) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, buffer_bytes - 1, buffer_bytes, buffer_bytes + 1,
                                  4 * buffer_bytes, 9 * buffer_bytes + 5}) {
    const std::string text = random_lines(bytes, 3);

    TnsWriter writer(target());
    writer.write(text);
    writer.finish();

    EXPECT_TRUE(decompressed(target(), bytes) == text) << bytes;
  }
}

TEST_P(EveryEnding, PartsOfLinesAreJoined) {
  const std::string text = random_lines(600'001, 4);
  std::mt19937 random(5);

  TnsWriter writer(target());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t count = random() % 100;
    writer.write(std::string_view(text).substr(at, count));
    at += count;
  }
  writer.finish();

  EXPECT_TRUE(decompressed(target(), text.size()) == text);
}

TEST_P(EveryEnding, TheFileAppearsAtFinish) {
  TnsWriter writer(target());
  writer.write("1 1 1\n");

  const bool before = std::filesystem::exists(target());
  writer.finish();

  EXPECT_FALSE(before);
  EXPECT_TRUE(std::filesystem::exists(target()));
}

TEST_P(EveryEnding, NothingIsLeftWithoutFinish) {
  {
    TnsWriter writer(target());
    writer.write(random_lines(2 * buffer_bytes, 6));
  }

  EXPECT_TRUE(folder_.is_empty());
}

TEST_P(EveryEnding, AFullDiskIsAnErrorAndLeavesNothing) {
  const std::string text = random_lines(8 * buffer_bytes, 7);

  const std::string message = message_of_error(ErrorKind::io, [&] {
    const FileSizeLimit limit(10'000);
    TnsWriter writer(target());
    writer.write(text);
    writer.finish();
  });

  EXPECT_THAT(message, AllOf(HasSubstr("cannot write " + target().string()), HasSubstr("File too large")));
  EXPECT_TRUE(folder_.is_empty());
}

TEST_P(EveryEnding, AFolderThatDoesNotExistIsAnError) {
  const std::filesystem::path file = folder_.path() / "absent" / target().filename();

  const std::string message = message_of_error(ErrorKind::io, [&] { TnsWriter writer(file); });

  EXPECT_THAT(message, HasSubstr((folder_.path() / "absent").string()));
}

INSTANTIATE_TEST_SUITE_P(TnsWriter, EveryEnding, ::testing::Values("", ".gz", ".zst"), [](const auto& instance) {
  const std::string ending = instance.param;
  return ending.empty() ? std::string("plain") : ending.substr(1);
});

TEST(TnsWriter, CompressionIsSmallerThanText) {
  const TemporaryFolder folder;
  const std::string text = random_lines(4 * buffer_bytes, 8);

  for (const char* name : {"a.tns.gz", "a.tns.zst"}) {
    TnsWriter writer(folder / name);
    writer.write(text);
    writer.finish();
  }

  EXPECT_LT(std::filesystem::file_size(folder / "a.tns.gz"), text.size() * 2 / 3);
  EXPECT_LT(std::filesystem::file_size(folder / "a.tns.zst"), text.size() * 2 / 3);
}

}  // namespace
}  // namespace blco
