// Ingest of more than memory holds: the container is the one that memory would have given, and nothing else is left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <blco/ingest.hpp>
#include <blco/tensor_file.hpp>
#include <cmath>
#include <csignal>
#include <set>

#include "blco/error.hpp"
#include "tests/engine/coordinate_tensor.hpp"
#include "tests/engine/ingest/coordinate_columns.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t plenty = std::uint64_t{1} << 30;
constexpr std::uint64_t sorted_chunk_nnz = 5000;

std::set<std::string> names_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

// What a job of text does to its folders.
struct SortJob {
  std::string bytes;        // of the container
  std::size_t spilled = 0;  // reports of progress that found temporary files in --tmp
  std::set<std::string> stages;
};

class SpillTest : public testing::Test {
 protected:
  SpillTest() { std::filesystem::create_directory(tmp_); }

  SortJob run(const std::filesystem::path& text, IngestOptions options) {
    SortJob job;
    options.temporary_directory = tmp_;
    ingest_files({text}, output_, options, [&](const Progress& progress) {
      job.spilled += names_in(tmp_).empty() ? 0 : 1;
      job.stages.insert(progress.stage);
      return true;
    });
    job.bytes = file_contents(output_);
    return job;
  }

  // The least budget that the refusal of one byte names.
  std::uint64_t min_budget(const std::filesystem::path& text, IngestOptions options) {
    options.memory_bytes = 1;
    try {
      run(text, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::out_of_memory);
      const std::string message = error.what();
      const std::size_t at = message.find("memory_bytes = ");
      if (at != std::string::npos) return std::stoull(message.substr(at + 15)) << 10;
    }
    ADD_FAILURE() << "no budget was named";
    return 0;
  }

  void expect_error_and_nothing_left(ErrorKind kind, const std::string& part, const std::function<void()>& act) {
    const std::set<std::string> before = names_in(folder_.path());
    try {
      act();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind);
      EXPECT_THAT(error.what(), HasSubstr(part));
    }
    EXPECT_EQ(names_in(folder_.path()), before);
    EXPECT_TRUE(names_in(tmp_).empty());
  }

  TemporaryFolder folder_;
  std::filesystem::path tmp_ = folder_ / "tmp";
  std::filesystem::path output_ = folder_ / "out.blco";
};

struct SpillCase {
  std::string name;
  std::vector<std::uint64_t> shape;
  bool counts;
};

class EverySpill : public SpillTest, public testing::WithParamInterface<SpillCase> {};

TEST_P(EverySpill, GivesTheContainerThatMemoryWouldHaveGiven) {
  const CoordinateTensor tensor =
      random_coordinates({.shape = GetParam().shape, .nnz = 60'000, .seed = 11, .counts = GetParam().counts});
  const auto text = folder_.write("in.tns", as_text(tensor));
  const SortJob expected = run(text, {.memory_bytes = plenty, .chunk_nnz = sorted_chunk_nnz});
  EXPECT_EQ(as_map(read_container(output_)), summed(tensor));
  EXPECT_EQ(expected.spilled, 0);

  for (const auto& [threads, knows_shape] : {std::pair(1, true), std::pair(2, false)}) {
    IngestOptions options{.threads = threads, .chunk_nnz = sorted_chunk_nnz};
    if (knows_shape) options.shape = tensor.shape;
    const std::uint64_t minimum = min_budget(text, options);
    for (const std::uint64_t budget : {minimum, minimum + (1 << 20), 2 * minimum}) {
      options.memory_bytes = budget;

      const SortJob job = run(text, options);

      EXPECT_TRUE(job.bytes == expected.bytes)
          << threads << " threads, " << budget << " bytes, shape " << (knows_shape ? "given" : "unknown");
      EXPECT_TRUE(job.spilled > 0 || budget > minimum) << "nothing was spilled: " << budget;
      EXPECT_TRUE(names_in(tmp_).empty());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Spill, EverySpill,
                         testing::Values(SpillCase{"narrow", {40, 50, 60}, false},
                                         SpillCase{"counts", {40, 50, 60}, true},
                                         SpillCase{"wide", {4'000'000'000, 5, 6'000'000'000}, false},
                                         SpillCase{"key", {6, 1ull << 62, 40}, false}),
                         [](const auto& test) { return test.param.name; });

TEST_F(SpillTest, ReordersWhatWasSpilledAsMemoryDoes) {
  const CoordinateTensor tensor = random_coordinates({.shape = {300, 20'000, 60}, .nnz = 60'000, .seed = 16});
  const auto text = folder_.write("in.tns", as_text(tensor));
  IngestOptions options{.memory_bytes = plenty, .reorder = Reorder::frequency, .chunk_nnz = sorted_chunk_nnz};
  const SortJob expected = run(text, options);
  EXPECT_THAT(TensorFile(output_).summary().reordered_modes, ElementsAre(0, 1, 2));

  for (options.threads = 1; options.threads <= 2; ++options.threads) {
    for (const bool knows_shape : {false, true}) {
      options.shape = knows_shape ? tensor.shape : std::vector<std::uint64_t>();
      options.memory_bytes = min_budget(text, options);

      const SortJob job = run(text, options);

      EXPECT_TRUE(job.bytes == expected.bytes) << options.threads << " threads, shape given: " << knows_shape;
      EXPECT_GT(job.spilled, 0);
      EXPECT_TRUE(names_in(tmp_).empty());
    }
  }
}

TEST_F(SpillTest, CoalescesByEveryPolicyAsMemoryDoes) {
  const CoordinateTensor tensor = random_coordinates({.shape = {30, 40, 50}, .nnz = 100'000, .seed = 12});
  const auto text = folder_.write("in.tns", as_text(tensor));

  for (const DuplicatePolicy policy : {DuplicatePolicy::sum, DuplicatePolicy::first, DuplicatePolicy::last,
                                       DuplicatePolicy::max, DuplicatePolicy::mean, DuplicatePolicy::count}) {
    IngestOptions options{.memory_bytes = plenty, .threads = 2, .duplicates = policy, .chunk_nnz = sorted_chunk_nnz};
    const SortJob expected = run(text, options);
    options.memory_bytes = min_budget(text, options);

    const SortJob job = run(text, options);

    EXPECT_TRUE(job.bytes == expected.bytes) << "policy " << static_cast<int>(policy);
    EXPECT_GT(job.spilled, 0);
  }
}

// The first half would coalesce exactly run by run, were it alone.
TEST_F(SpillTest, CoalescesWholeNumbersThatFractionsFollowLeftToRight) {
  CoordinateTensor tensor = random_coordinates({.shape = {20, 20, 20}, .nnz = 100'000, .seed = 13, .counts = true});
  for (std::size_t i = 0; i < tensor.values.size(); ++i) {
    if (i % 30'000 > 20'000) tensor.values[i] /= 7;
  }
  const auto text = folder_.write("in.tns", as_text(tensor));
  IngestOptions options{.threads = 1, .chunk_nnz = sorted_chunk_nnz};
  options.memory_bytes = min_budget(text, options);

  const SortJob job = run(text, options);

  EXPECT_GT(job.spilled, 0);
  EXPECT_EQ(as_map(read_container(output_)), summed(tensor));
}

TEST_F(SpillTest, MergesInSeveralLevelsWhereRunsAreMany) {
  const CoordinateTensor tensor = random_coordinates({.shape = {300, 400, 500}, .nnz = 300'000, .seed = 14});
  const auto text = folder_.write("in.tns", as_text(tensor));
  IngestOptions options{.memory_bytes = plenty, .threads = 1, .chunk_nnz = sorted_chunk_nnz};
  const SortJob expected = run(text, options);
  options.memory_bytes = min_budget(text, options);

  const SortJob job = run(text, options);

  EXPECT_TRUE(job.stages.contains("merge"));
  EXPECT_TRUE(job.bytes == expected.bytes);
}

TEST_F(SpillTest, SpillsArraysAndGeneratedTensorsAlike) {
  const CoordinateTensor tensor = random_coordinates({.shape = {300, 400, 500}, .nnz = 600'000, .seed = 15});
  const CoordinateColumns<std::uint32_t> columns(tensor);
  ingest_coordinates(columns.arrays(), output_, {.memory_bytes = plenty, .chunk_nnz = sorted_chunk_nnz});
  const std::string expected = file_contents(output_);
  std::size_t spilled = 0;

  ingest_coordinates(
      columns.arrays(), output_,
      {.memory_bytes = 18 << 20, .threads = 1, .chunk_nnz = sorted_chunk_nnz, .temporary_directory = tmp_},
      [&](const Progress&) {
        spilled += names_in(tmp_).empty() ? 0 : 1;
        return true;
      });

  EXPECT_GT(spilled, 0);
  EXPECT_TRUE(file_contents(output_) == expected);
}

TEST_F(SpillTest, NamesTheLeastBudget) {
  const CoordinateTensor tensor = random_coordinates({.shape = {500, 600, 700}, .nnz = 100'000, .seed = 8});
  const auto text = folder_.write("in.tns", as_text(tensor));
  IngestOptions options{.threads = 2, .chunk_nnz = sorted_chunk_nnz};
  options.memory_bytes = min_budget(text, options);

  EXPECT_GT(run(text, options).spilled, 0);
  std::filesystem::remove(output_);
  options.memory_bytes -= 1024;

  expect_error_and_nothing_left(ErrorKind::out_of_memory, "`memory_bytes = ", [&] { run(text, options); });
}

// What is bad behind the entries would be the error of a job that reads so far.
TEST_F(SpillTest, RefusesABudgetThatIsTooSmallToEncodeBeforeTheInputEnds) {
  CoordinateTensor tensor = random_coordinates({.shape = {500, 600, 700}, .nnz = 500'000, .seed = 9});
  const auto text = folder_.write("in.tns", as_text(tensor) + "1 2 bad 4\n");
  IngestOptions options{.threads = 1, .chunk_nnz = 200'000, .temporary_directory = tmp_};
  options.memory_bytes = min_budget(text, options) - 1024;
  tensor.values.back() = std::nan("");

  expect_error_and_nothing_left(ErrorKind::out_of_memory, "sorting with temporary files requires",
                                [&] { run(text, options); });
  expect_error_and_nothing_left(ErrorKind::out_of_memory, "sorting with temporary files requires", [&] {
    ingest_coordinates(CoordinateColumns<std::uint32_t>(tensor).arrays(), output_, options);
  });
}

TEST_F(SpillTest, LeavesNothingWhereItIsCancelled) {
  const auto text = folder_.write("in.tns", as_text(random_coordinates({.shape = {50, 60, 70}, .nnz = 100'000})));
  IngestOptions options{.threads = 1, .chunk_nnz = sorted_chunk_nnz, .temporary_directory = tmp_};
  options.memory_bytes = min_budget(text, options);

  for (const std::string stage : {"read", "sort", "write"}) {
    expect_error_and_nothing_left(ErrorKind::cancelled, stage, [&] {
      ingest_files({text}, output_, options, [&](const Progress& progress) {
        const bool here = progress.stage == stage;
        if (here && stage != "read") {
          EXPECT_FALSE(names_in(tmp_).empty());
        }
        return !here;
      });
    });
  }
}

TEST_F(SpillTest, RefusesASecondJobForTheSameOutput) {
  const auto text = folder_.write("in.tns", "1 1 1\n2 2 2\n");
  int refused = 0;

  ingest_files({text}, output_, {}, [&](const Progress&) {
    try {
      ingest_files({text}, output_);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::io);
      EXPECT_THAT(error.what(), HasSubstr("another job"));
      ++refused;
    }
    return true;
  });

  EXPECT_GT(refused, 0);
  EXPECT_EQ(read_container(output_).points.size(), 2);
}

TEST_F(SpillTest, SaysBeforeTheWorkThatItCannotSpill) {
  const auto text = folder_.write("in.tns", "1 1 1\n");

  expect_error_and_nothing_left(ErrorKind::io, "temporary files",
                                [&] { ingest_files({text}, output_, {.temporary_directory = folder_ / "absent"}); });
}

TEST_F(SpillTest, RemovesTheFilesOfKilledJobs) {
  const auto text = folder_.write("in.tns", "1 1 1\n");
  folder_.write("tmp/.other.blco.1234567-0.blco-spill", "runs");
  folder_.write(".out.blco.1234567-0.blco-tmp", "half a container");

  run(text, {});

  EXPECT_TRUE(names_in(tmp_).empty());
  EXPECT_EQ(names_in(folder_.path()), (std::set<std::string>{"in.tns", "out.blco", "tmp"}));
}

// A limit on the size of files stands for a disk that is full.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST_F(SpillTest, LeavesNothingWhereTheDiskIsFull) {
  const auto text = folder_.write("in.tns", as_text(random_coordinates({.shape = {50, 60, 70}, .nnz = 100'000})));
  for (const bool knows_shape : {false, true}) {
    IngestOptions options{.threads = 1, .chunk_nnz = sorted_chunk_nnz};
    if (knows_shape) options.shape = {50, 60, 70};
    options.memory_bytes = min_budget(text, options);
    const FileLimit limit(100'000);

    expect_error_and_nothing_left(ErrorKind::io, "temporary file", [&] { run(text, options); });
  }
}

}  // namespace
}  // namespace blco
