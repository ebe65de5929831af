// Output that appears under its name only when it is whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>

#include "io/file/temporary_file.hpp"
#include "tests/io/expect_error.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

void fill(const TemporaryFile& file, const std::string& text) { std::ofstream(file.path()) << text; }

std::set<std::string> names_in(const TemporaryFolder& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) names.insert(entry.path().filename());
  return names;
}

// Root may write everywhere; this takes that away for a while.
class OrdinaryUser {
 public:
  OrdinaryUser() : before_(::geteuid()) {
    if (before_ == 0) {
      EXPECT_EQ(::seteuid(65534), 0);
    }
  }
  ~OrdinaryUser() {
    if (before_ == 0) {
      EXPECT_EQ(::seteuid(before_), 0);
    }
  }

 private:
  uid_t before_;
};

TEST(TemporaryFile, PublishGivesTheFileItsName) {
  const TemporaryFolder folder;
  TemporaryFile file(folder / "out.h5");
  fill(file, "whole");

  file.publish();

  EXPECT_EQ(file_contents(folder / "out.h5"), "whole");
  EXPECT_FALSE(std::filesystem::exists(file.path()));
}

TEST(TemporaryFile, FollowsLinksAndLeavesThem) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "elsewhere");
  std::filesystem::create_symlink("elsewhere/out.h5", folder / "second");
  std::filesystem::create_symlink("second", folder / "first");
  TemporaryFile file(folder / "first");
  fill(file, "whole");

  file.publish();

  EXPECT_EQ(file.path().parent_path(), folder / "elsewhere");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "first"));
  EXPECT_EQ(file_contents(folder / "elsewhere" / "out.h5"), "whole");
}

TEST(TemporaryFile, RefusesLinksInACircleAndNamesThatAreTooLong) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("circle", folder / "circle");

  expect_error(ErrorKind::io, "circle", [&] { TemporaryFile{folder / "circle"}; });
  expect_error(ErrorKind::io, "too long", [&] { TemporaryFile{folder / std::string(300, 'x')}; });
}

TEST(TemporaryFile, LiesHiddenBesideItsTarget) {
  const TemporaryFolder folder;

  const TemporaryFile file(folder / "out.h5");

  EXPECT_EQ(file.path().parent_path(), folder.path());
  EXPECT_THAT(file.path().filename().string(),
              AllOf(StartsWith(".out.h5." + std::to_string(::getpid()) + "-"), EndsWith(".blco-tmp")));
  EXPECT_EQ(file.target(), folder / "out.h5");
}

TEST(TemporaryFile, IsRemovedWhereItWasNotPublished) {
  const TemporaryFolder folder;

  {
    const TemporaryFile file(folder / "out.h5");
    fill(file, "half");
  }

  EXPECT_TRUE(folder.is_empty());
}

TEST(TemporaryFile, ReplacesAnOlderFileOnlyWhenPublished) {
  const TemporaryFolder folder;
  folder.write("out.h5", "old");
  TemporaryFile file(folder / "out.h5");
  fill(file, "new");

  const std::string before = file_contents(folder / "out.h5");
  file.publish();

  EXPECT_EQ(before, "old");
  EXPECT_EQ(file_contents(folder / "out.h5"), "new");
}

TEST(TemporaryFile, IsRefusedWhileAnotherJobWritesTheTarget) {
  const TemporaryFolder folder;
  std::optional<TemporaryFile> first(folder / "out.h5");
  std::filesystem::create_symlink("out.h5", folder / "link");

  expect_error(ErrorKind::io, "another job is writing it", [&] { TemporaryFile{folder / "out.h5"}; });
  expect_error(ErrorKind::io, "another job is writing it", [&] { TemporaryFile{folder / "link"}; });
  { const TemporaryFile other(folder / "other.h5"); }
  fill(*first, "whole");
  first->publish();
  first.reset();
  { const TemporaryFile second(folder / "out.h5"); }

  EXPECT_EQ(file_contents(folder / "out.h5"), "whole");
  EXPECT_EQ(names_in(folder), (std::set<std::string>{"link", "out.h5"}));
}

TEST(OutputClaim, LetsItsOwnFilesPassAndNoOthers) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("out.h5", folder / "link");
  std::optional<OutputClaim> claim(folder / "out.h5");

  for (const std::string text : {"first", "second"}) {
    TemporaryFile file(folder / "link", &*claim);
    fill(file, text);
    file.publish();
  }

  EXPECT_TRUE(claim->covers(folder / "link"));
  EXPECT_FALSE(claim->covers(folder / "other.h5"));
  EXPECT_EQ(file_contents(folder / "out.h5"), "second");
  expect_error(ErrorKind::io, "another job is writing it", [&] { TemporaryFile{folder / "out.h5"}; });
  expect_error(ErrorKind::io, "another job is writing it", [&] { OutputClaim{folder / "out.h5"}; });
  claim.reset();
  { const TemporaryFile other(folder / "out.h5"); }
  EXPECT_EQ(names_in(folder), (std::set<std::string>{"link", "out.h5"}));
}

TEST(OutputClaim, EndsWithItsFolderAndLeavesTheNextOneAlone) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "goes");
  std::optional<OutputClaim> claim(folder / "goes" / "out.h5");
  std::filesystem::remove_all(folder / "goes");
  std::filesystem::create_directory(folder / "goes");
  const OutputClaim next(folder / "goes" / "out.h5");

  const bool covers = claim->covers(folder / "goes" / "out.h5");
  claim.reset();

  EXPECT_FALSE(covers);
  EXPECT_TRUE(next.covers(folder / "goes" / "out.h5"));
}

TEST(TemporaryFile, RemovesWhatDeadJobsHaveLeftOfTheSameTarget) {
  const TemporaryFolder folder;
  const std::set<std::string> others = {".out.h5.notes.blco-tmp", ".other.h5.12-0.blco-tmp", ".out.h5.12-0",
                                        "12-0.blco-tmp", ".out.h5.12-.blco-tmp"};
  for (const std::string& name : others) folder.write(name, "not ours");
  folder.write(".out.h5.12-0.blco-tmp", "half");
  folder.write(".out.h5.34567-89.blco-tmp", "half");
  folder.write(".out.h5.blco-lock", "");

  { const TemporaryFile file(folder / "out.h5"); }

  EXPECT_EQ(names_in(folder), others);
}

TEST(TemporaryFile, CanBeHandedOn) {
  const TemporaryFolder folder;
  {
    TemporaryFile first(folder / "out.h5");
    fill(first, "whole");
    TemporaryFile second(std::move(first));
    second.publish();
  }

  EXPECT_EQ(names_in(folder), std::set<std::string>{"out.h5"});
}

TEST(TemporaryFile, TakesTheLongestNameThatAFileMayHave) {
  const TemporaryFolder folder;
  const std::string longest(255, 'x');
  TemporaryFile file(folder / longest);
  fill(file, "whole");

  file.publish();

  EXPECT_EQ(file_contents(folder / longest), "whole");
}

TEST(TemporaryFile, TakesANameWithoutAFolder) {
  const TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());

  {
    TemporaryFile file("out.h5");
    fill(file, "whole");
    file.publish();
  }
  std::filesystem::current_path(before);

  EXPECT_EQ(file_contents(folder / "out.h5"), "whole");
}

TEST(TemporaryFile, RefusesAFolderThatDoesNotExist) {
  const TemporaryFolder folder;

  const std::string message =
      message_of_error(ErrorKind::io, [&] { TemporaryFile(folder.path() / "absent" / "out.h5"); });

  EXPECT_THAT(message, HasSubstr((folder.path() / "absent").string()));
  EXPECT_THAT(message, HasSubstr("does not exist"));
}

TEST(TemporaryFile, RefusesATargetThatIsAFolder) {
  const TemporaryFolder folder;

  const std::string message = message_of_error(ErrorKind::io, [&] { TemporaryFile file(folder.path()); });
  const std::string with_slash = message_of_error(ErrorKind::io, [&] { TemporaryFile file(folder.path() / ""); });

  EXPECT_THAT(message, HasSubstr("folder"));
  EXPECT_THAT(with_slash, HasSubstr("folder"));
}

TEST(TemporaryFile, RefusesATargetThatIsADevice) {
  const std::string target = "/dev/null";

  const std::string message = message_of_error(ErrorKind::io, [&] { TemporaryFile file(target); });

  EXPECT_THAT(message, HasSubstr("not a regular file"));
}

TEST(TemporaryFile, RefusesAFolderThatIsNotWritable) {
  using std::filesystem::perms;
  const TemporaryFolder folder;
  std::filesystem::permissions(folder.path(),
                               perms::owner_read | perms::owner_exec | perms::others_read | perms::others_exec);
  const OrdinaryUser not_root;

  const std::string message = message_of_error(ErrorKind::io, [&] { TemporaryFile(folder / "out.h5"); });

  EXPECT_THAT(message, HasSubstr("Permission denied"));
}

TEST(TemporaryFile, SaysWhyItCannotBePublished) {
  const TemporaryFolder folder;
  TemporaryFile never_written(folder / "out.h5");

  const std::string message = message_of_error(ErrorKind::io, [&] { never_written.publish(); });

  EXPECT_THAT(message, AllOf(HasSubstr(never_written.path().string()), HasSubstr("No such file or directory")));
}

}  // namespace
}  // namespace blco
