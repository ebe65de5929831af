// What a model takes on the disk, and the refusal of a place that does not have it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <blco/cpd.hpp>
#include <csignal>
#include <string>

#include "engine/fit/cp_fit.hpp"
#include "io/container/model_file.hpp"
#include "io/file/scratch_file.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

constexpr std::uint64_t kibibyte = std::uint64_t{1} << 10;

// Limits the size of this process's files, for as long as it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::uint64_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit lower = before_;
    lower.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &lower);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

CpdModel zero_model(std::vector<std::uint64_t> shape, int rank) {
  CpdModel model;
  model.rank = rank;
  model.weights.assign(static_cast<std::size_t>(rank), 0.0);
  for (const std::uint64_t length : shape) {
    model.factors.emplace_back(static_cast<std::size_t>(length) * static_cast<std::size_t>(rank));
  }
  model.shape = std::move(shape);
  return model;
}

std::string refusal(const TensorSummary& tensor, const CpdOptions& options) {
  try {
    check_model_room(tensor, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    return error.what();
  }
  return "";
}

TEST(ModelRoom, IsWhatTheWriterAsksFor) {
  const TemporaryFolder folder;
  const std::uint64_t bytes =
      model_file_bytes(std::vector<std::uint64_t>{3000, 100}, std::vector<std::uint64_t>{7, 7}, 7, 0);

  EXPECT_EQ(bytes, (3000 + 100 + 1) * 7 * 8 + 64 * kibibyte);
  const CpdModel model = zero_model({3000, 100}, 7);
  {
    const FileSizeLimit limit(bytes - 1);
    EXPECT_THROW(save(model, folder / "model.h5"), Error);
  }
  const FileSizeLimit limit(bytes + 64 * kibibyte);
  save(model, folder / "model.h5");
  EXPECT_LE(std::filesystem::file_size(folder / "model.h5"), bytes);
}

TEST(ModelRoom, LackingBecauseOfALimitIsRefusedWithBothNumbers) {
  const TemporaryFolder folder;
  TensorSummary tensor;
  tensor.shape = {100, 100};
  CpdOptions options{.rank = 8};
  options.output = folder / "model.h5";
  const FileSizeLimit limit(64 * kibibyte);

  EXPECT_THAT(refusal(tensor, options),
              testing::AllOf(testing::HasSubstr("takes up to 76.6 KiB"), testing::HasSubstr("at most 64.0 KiB")));
  tensor.shape = {1000, 100'000};
  EXPECT_THAT(refusal(tensor, options),
              testing::AllOf(testing::HasSubstr("takes up to 6.2 MiB"), testing::HasSubstr("at most 64.0 KiB")));
}

TEST(ModelRoom, LackingOnTheDiskIsRefusedWithBothNumbersAndLabelsCount) {
  const TemporaryFolder folder;
  TensorSummary tensor;
  tensor.shape = {100, 100};
  CpdOptions options{.rank = 8, .max_sweeps = 1};
  options.checkpoint = folder / "model.h5";
  EXPECT_EQ(refusal(tensor, options), "");

  // 4 PiB, more than any disk of a test has.
  tensor.label_bytes = {0, std::uint64_t{1} << 52};
  EXPECT_THAT(refusal(tensor, options),
              testing::AllOf(testing::HasSubstr("takes up to 4096.0 TiB"), testing::HasSubstr(" free; "),
                             testing::Not(testing::HasSubstr("two of them"))));
}

TEST(ModelRoom, OfACheckpointThatIsReplacedIsThatOfTwoUnlessOneLiesThere) {
  const TemporaryFolder folder;
  TensorSummary tensor;
  tensor.shape = {100};
  const std::uint64_t free = free_disk_bytes(folder.path());
  // Once it fits, but not twice.
  tensor.label_bytes = {free / 4 * 3};
  CpdOptions options{.rank = 1, .max_sweeps = 2};
  options.checkpoint = folder / "model.h5";

  EXPECT_THAT(refusal(tensor, options), testing::HasSubstr("two of them"));
  options.max_sweeps = 1;
  EXPECT_EQ(refusal(tensor, options), "");
  options.max_sweeps = 2;
  // A sparse file has the size of one that is there already.
  folder.write("model.h5", "");
  std::filesystem::resize_file(options.checkpoint, free / 4 * 3);
  EXPECT_EQ(refusal(tensor, options), "");
}

}  // namespace
}  // namespace blco
