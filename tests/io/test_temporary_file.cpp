// Output that appears under its name only when it is whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "io/temporary_file.hpp"
#include "tests/io/expect_error.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

void fill(const TemporaryFile& file, const std::string& text) { std::ofstream(file.path()) << text; }

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

TEST(TemporaryFile, TwoOfOneTargetDiffer) {
  const TemporaryFolder folder;

  const TemporaryFile first(folder / "out.h5");
  const TemporaryFile second(folder / "out.h5");

  EXPECT_NE(first.path(), second.path());
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
