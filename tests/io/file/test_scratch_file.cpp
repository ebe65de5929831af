// Scratch files end with their job, at the latest when the next one begins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "io/file/scratch_file.hpp"
#include "io/file/temporary_file.hpp"
#include "tests/io/expect_error.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> bytes;
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
  return bytes;
}

TEST(ScratchFile, GivesBackWhatWasAppended) {
  const TemporaryFolder folder;
  ScratchFile file(folder.path(), "out.blco");

  const std::uint64_t first = file.append(bytes_of("one"));
  const std::uint64_t second = file.append(bytes_of("three"));
  std::vector<std::byte> found(5);
  file.read(second, found);

  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 3);
  EXPECT_EQ(file.bytes(), 8);
  EXPECT_EQ(found, bytes_of("three"));
  expect_error(ErrorKind::corrupt, "ends before", [&] { file.read(4, found); });
}

TEST(ScratchFile, BearsTheMarkAndIsRemovedWithItsJob) {
  const TemporaryFolder folder;
  {
    const ScratchFile file(folder.path(), "out.blco");
    const ScratchFile other(folder.path(), "out.blco");
    EXPECT_TRUE(file.path().filename().string().starts_with(".out.blco." + std::to_string(::getpid()) + "-"));
    EXPECT_NE(file.path(), other.path());
  }

  EXPECT_TRUE(folder.is_empty());
}

TEST(ScratchFile, StaleOnesAreRemovedAndOthersAreNot) {
  const TemporaryFolder folder;
  folder.write(".out.blco.1234-0.blco-spill", "of a dead job");
  folder.write("mine.blco-spill", "no scratch file");
  std::filesystem::create_directory(folder / ".folder.blco-spill");
  const ScratchFile living(folder.path(), "out.blco");

  remove_stale_scratch(folder.path());
  remove_stale_scratch(folder / "absent");

  EXPECT_FALSE(std::filesystem::exists(folder / ".out.blco.1234-0.blco-spill"));
  EXPECT_TRUE(std::filesystem::exists(folder / "mine.blco-spill"));
  EXPECT_TRUE(std::filesystem::exists(folder / ".folder.blco-spill"));
  EXPECT_TRUE(std::filesystem::exists(living.path()));
}

TEST(ScratchFile, SaysWhereItCannotLie) {
  const TemporaryFolder folder;

  expect_error(ErrorKind::io, "`temporary_directory` sets its folder", [&] { ScratchFile(folder / "absent", "job"); });
  expect_error(ErrorKind::io, "no folder", [&] { check_writable(folder / "absent"); });
  EXPECT_NO_THROW(check_writable(folder.path()));
  EXPECT_GT(free_disk_bytes(folder.path()), 0);
}

}  // namespace
}  // namespace blco
