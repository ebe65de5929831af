// Workers that are threads of this process: shares, failures of one, and the words that name devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/cpd.hpp>
#include <blco/generate.hpp>
#include <blco/tensor_file.hpp>
#include <string>
#include <vector>

#include "engine/work/device_list.hpp"
#include "engine/work/rows/chunk_share.hpp"
#include "engine/work/serving_threads.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

std::vector<ThreadWorker> workers_by(const std::vector<double>& shares) {
  std::vector<ThreadWorker> workers;
  for (const double share : shares) {
    workers.push_back({{.threads = 1}, "worker " + std::to_string(workers.size()), share});
  }
  return workers;
}

TEST(ServingThreads, TakeChunksByTheirShares) {
  ServingThreads equal(workers_by({1, 1, 1}));
  ServingThreads other(workers_by({1, 12, 0.5}));
  const auto ends = [](std::uint64_t chunks, ServingThreads& threads) {
    std::vector<std::uint64_t> list;
    for (int rank = 0; rank < threads.lead().size(); ++rank) {
      const IndexRange range = chunk_range(chunks, rank, threads.lead());
      EXPECT_EQ(range.begin, list.empty() ? 0 : list.back());
      list.push_back(range.end);
    }
    return list;
  };

  EXPECT_THAT(ends(7, equal), testing::ElementsAre(2, 4, 7));
  EXPECT_THAT(ends(2, equal), testing::ElementsAre(0, 1, 2));
  EXPECT_THAT(ends(27, other), testing::ElementsAre(2, 26, 27));
  EXPECT_THAT(ends(1, other), testing::ElementsAre(0, 0, 1));
}

TEST(ServingThreads, GiveTheFitOfOneByAnyShares) {
  const TemporaryFolder folder;
  generate_container({.shape = {50, 60, 70}, .nnz = 5000, .seed = 2}, folder / "in.blco", {.chunk_nnz = 500});
  const TensorFile tensor(folder / "in.blco");
  CpdOptions options{.rank = 4, .max_sweeps = 3, .tolerance = 0, .compute = {.deterministic = true}};
  const double alone = fit_cpd(tensor, options).fit();
  for (const std::vector<double>& shares : {std::vector<double>{1, 9}, {0.01, 1, 2}, {5, 1, 0.01}}) {
    ServingThreads threads(workers_by(shares));
    threads.serve(tensor);
    options.compute.peers = &threads.lead();
    const CpdModel shared = fit_cpd(tensor, options);
    EXPECT_NEAR(shared.fit(), alone, 1e-10);
    EXPECT_EQ(fit_cpd(tensor, options).factors, shared.factors);
  }
}

// A message without a kind ends a worker.
TEST(ServingThreads, EndAllWithTheFailureOfOneThatNobodyAwaits) {
  const TemporaryFolder folder;
  generate_container({.shape = {5, 6, 7}, .nnz = 50, .seed = 2}, folder / "in.blco");
  const TensorFile tensor(folder / "in.blco");
  ServingThreads threads(workers_by({1, 1, 1}));
  threads.serve(tensor);

  threads.lead().send(1, {});

  EXPECT_THROW(threads.lead().receive(2), Error);
}

TEST(DeviceList, NamesTheCpu) {
  EXPECT_TRUE(devices_of({}).empty());
  const std::vector<NamedDevice> devices = devices_of({.devices = {"cpu=2.5"}});
  ASSERT_EQ(devices.size(), 1);
  EXPECT_EQ(devices[0].name, "cpu");
  EXPECT_FALSE(devices[0].gpu);
  EXPECT_EQ(devices[0].share, 2.5);
  EXPECT_TRUE(has_one_device({.devices = {"cpu"}}));
  EXPECT_TRUE(has_one_device({}));
}

TEST(DeviceList, GivesTheThreadsOfGpusToThoseThatReadForThem) {
  const auto threads_of_each = [](int threads, const std::vector<NamedDevice>& devices) {
    std::vector<int> each;
    for (const Compute& part : parts_of({.threads = threads}, devices)) each.push_back(part.threads);
    return each;
  };
  const NamedDevice cpu{"cpu", {}};
  const NamedDevice gpu{"cuda:0", 0};

  EXPECT_THAT(threads_of_each(16, {cpu, gpu, gpu}), testing::ElementsAre(12, 2, 2));
  EXPECT_THAT(threads_of_each(16, {gpu, gpu}), testing::ElementsAre(8, 8));
  EXPECT_THAT(threads_of_each(1, {gpu, cpu}), testing::ElementsAre(1, 1));
}

TEST(DeviceList, RefusesWhatNamesNoDeviceOrOneTwice) {
  const auto refusal = [](const Compute& compute) -> std::string {
    try {
      devices_of(compute);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      return error.what();
    }
    return "none";
  };
  for (const char* word : {"", "gpu", "cuda:", "cuda:-1", "cuda:x", "cuda:0x", "all=2", "=3", "cpu:0"}) {
    EXPECT_THAT(refusal({.devices = {word}}), testing::HasSubstr("is no device"));
  }
  for (const char* word : {"cpu=", "cpu=0", "cpu=-1", "cpu=x", "cpu=1x", "cpu=inf", "cpu=nan"}) {
    EXPECT_THAT(refusal({.devices = {word}}), testing::HasSubstr("has no share from 0.001 to 1000"));
  }
  EXPECT_THAT(refusal({.devices = {"cpu", "cpu=2"}}), testing::HasSubstr("names cpu twice"));
  ServingThreads processes(workers_by({1, 1}));
  EXPECT_THAT(refusal({.devices = {"cpu", "cuda:0"}, .peers = &processes.lead()}),
              testing::HasSubstr("do not go with several processes"));
}

}  // namespace
}  // namespace blco
