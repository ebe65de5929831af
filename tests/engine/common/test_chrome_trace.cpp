// The trace file: whole JSON whatever happens to the job, and spans that fit together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <blco/cpd.hpp>
#include <blco/generate.hpp>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <thread>

#include "blco/error.hpp"
#include "engine/common/chrome_trace.hpp"
#include "tests/engine/within_budget.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

using Clock = std::chrono::steady_clock;

struct Span {
  std::string name;
  double begin = 0;  // microseconds
  double end = 0;
  std::uint64_t chunk = 0;
  std::uint64_t bytes = 0;
};

std::map<std::string, std::vector<Span>> read_tracks(const std::filesystem::path& path) {
  std::ifstream file(path);
  const nlohmann::json trace = nlohmann::json::parse(file);
  std::map<int, std::string> names;
  std::map<std::string, std::vector<Span>> tracks;
  for (const auto& event : trace["traceEvents"]) {
    if (event["name"] == "thread_name") names[event["tid"]] = event["args"]["name"];
    if (event["ph"] != "X") continue;
    const double begin = event["ts"];
    const double duration = event["dur"];
    tracks[names.at(event["tid"])].push_back(
        {event["name"], begin, begin + duration, event["args"]["chunk"], event["args"]["bytes"]});
  }
  return tracks;
}

class ChromeTraceTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "trace.json";
};

TEST_F(ChromeTraceTest, KeepsTracksTimesAndArguments) {
  {
    ChromeTrace trace(path_);
    const auto now = Clock::now();
    trace.add({"copy 1", "copy", now, now + std::chrono::microseconds(250), 7, 4096});
    trace.add({"a \"quoted\" \\ track\n", "x", now, now, 0, 0});
    EXPECT_FALSE(std::filesystem::exists(path_)) << "the file appeared before it was whole";
    trace.close();
  }

  const auto tracks = read_tracks(path_);

  EXPECT_THAT(tracks, testing::SizeIs(2));
  EXPECT_TRUE(tracks.contains("a \"quoted\" \\ track"));
  const Span copy = tracks.at("copy 1").at(0);
  EXPECT_EQ(copy.name, "copy");
  EXPECT_NEAR(copy.end - copy.begin, 250, 0.002);
  EXPECT_EQ(copy.chunk, 7);
  EXPECT_EQ(copy.bytes, 4096);
}

TEST_F(ChromeTraceTest, TakesSpansFromAnyThread) {
  {
    ChromeTrace trace(path_);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&trace, t] {
        for (int i = 0; i < 500; ++i) trace.add({"track " + std::to_string(t), "x", Clock::now(), Clock::now()});
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  const auto tracks = read_tracks(path_);

  EXPECT_THAT(tracks, testing::SizeIs(4));
  for (const auto& [name, spans] : tracks) EXPECT_THAT(spans, testing::SizeIs(500)) << name;
}

TEST_F(ChromeTraceTest, RefusesAFolderThatDoesNotExist) {
  EXPECT_THROW(ChromeTrace(folder_ / "no" / "trace.json"), Error);
}

class TracedFit : public ChromeTraceTest {
 protected:
  TracedFit() {
    generate_container({.shape = {80, 70, 60}, .nnz = 20'000, .seed = 3}, folder_ / "in.blco", {.chunk_nnz = 1000});
    tensor_.emplace(folder_ / "in.blco");
    options_.rank = 4;
    options_.max_sweeps = 2;
    options_.tolerance = 0;
    options_.compute.devices = {"cpu"};
    options_.compute.threads = 2;
    options_.compute.trace = path_;
  }

  // So little memory that every pass reads.
  std::map<std::string, std::vector<Span>> fit_and_read() {
    MemoryBudget budget;
    budget.host_bytes = plan_cpd(*tensor_, options_).minimum_bytes;
    options_.on_plan = [this](const CpdPlan& plan) { plan_ = plan; };
    fit_cpd(*tensor_, within(budget, options_));
    return read_tracks(path_);
  }

  std::optional<TensorFile> tensor_;
  CpdOptions options_;
  CpdPlan plan_;
};

TEST_F(TracedFit, HasEveryReadAndEveryChunkOfEveryPass) {
  const auto tracks = fit_and_read();

  std::uint64_t bytes_read = 0;
  std::size_t reads = 0;
  for (const auto& [name, spans] : tracks) {
    if (!name.starts_with("reader")) continue;
    for (const Span& span : spans) bytes_read += span.bytes;
    reads += spans.size();
  }
  EXPECT_EQ(reads, 6 * plan_.chunk_count);
  EXPECT_EQ(bytes_read, 6 * plan_.disk_bytes_per_pass);
  const auto& computed = tracks.at("compute");
  EXPECT_EQ(std::ranges::count(computed, "mttkrp", &Span::name), 6 * static_cast<long>(plan_.chunk_count));
  EXPECT_EQ(std::ranges::count(computed, "row update", &Span::name), 6);
  EXPECT_THAT(tracks.at("passes"), testing::SizeIs(6));
}

TEST_F(TracedFit, SpansOfATrackDoNotOverlapAndAChunkIsReadBeforeItIsComputed) {
  auto tracks = fit_and_read();
  constexpr double rounding = 0.002;  // of a microsecond

  std::map<std::uint64_t, std::vector<double>> read_ends;
  for (auto& [name, spans] : tracks) {
    std::ranges::sort(spans, {}, &Span::begin);
    for (std::size_t i = 1; i < spans.size(); ++i) EXPECT_LE(spans[i - 1].end, spans[i].begin + rounding) << name;
    if (!name.starts_with("reader")) continue;
    for (const Span& span : spans) read_ends[span.chunk].push_back(span.end);
  }
  for (auto& [chunk, ends] : read_ends) std::ranges::sort(ends);

  const std::vector<Span>& passes = tracks.at("passes");
  std::map<std::uint64_t, std::size_t> times_computed;
  for (const Span& span : tracks.at("compute")) {
    if (span.name != "mttkrp") continue;
    EXPECT_LE(read_ends.at(span.chunk).at(times_computed[span.chunk]++), span.begin + rounding);
    const bool in_a_pass = std::ranges::any_of(passes, [&](const Span& pass) {
      return pass.begin <= span.begin + rounding && span.end <= pass.end + rounding;
    });
    EXPECT_TRUE(in_a_pass);
  }
}

TEST_F(TracedFit, IsWholeAlsoWhenTheFitThrows) {
  options_.on_sweep = [](const SweepReport&) -> bool { throw std::runtime_error("the caller has had enough"); };

  EXPECT_THROW(fit_cpd(*tensor_, options_), std::runtime_error);

  EXPECT_THAT(read_tracks(path_).at("passes"), testing::SizeIs(3));
}

TEST_F(TracedFit, APlanWritesNoTrace) {
  plan_cpd(*tensor_, options_);

  EXPECT_FALSE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace blco
