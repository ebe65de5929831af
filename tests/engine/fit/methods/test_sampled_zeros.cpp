// Samples of the whole tensor, as the reference backend sees them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/ingest.hpp>
#include <blco/tensor_file.hpp>
#include <cmath>
#include <functional>
#include <numeric>

#include "engine/common/thread_pool.hpp"
#include "engine/fit/methods/sampled_zeros.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "tests/engine/coordinate_tensor.hpp"
#include "tests/kernels/reference_backend.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

// What the samples of each coordinate of each mode stand for: with one component of ones, m is 1 and the derivative of
// m^2 is 2.
std::vector<std::vector<double>> values_of(Backend& backend, SampledZeros& sample,
                                           const std::vector<std::uint64_t>& shape) {
  const int order = static_cast<int>(shape.size());
  for (int n = 0; n < order; ++n) {
    backend.load_factor(n, 0, std::vector<double>(shape[static_cast<std::size_t>(n)], 1.0));
  }
  backend.begin_pass({EntryFunction{.rule = EntryRule::given}, all_modes(order)});
  backend.finish_pass();
  sample.add_to_pass({}, 0.5, all_modes(order));
  std::vector<std::vector<double>> values;
  for (int n = 0; n < order; ++n) {
    values.emplace_back(shape[static_cast<std::size_t>(n)]);
    backend.read_output(n, 0, values.back());
  }
  return values;
}

// The first index of each mode has half of the nonzeros, the second a quarter, and so on; the last ones have none.
double share_of(std::size_t index) { return index < 6 ? std::ldexp(1.0, -static_cast<int>(index) - 1) : 0.0; }

IndexCounts skewed_counts(const std::vector<std::uint64_t>& shape) {
  IndexCounts counts;
  for (const std::uint64_t length : shape) {
    counts.emplace_back();
    for (std::size_t i = 0; i < length; ++i) counts.back().push_back((i == 0 ? 0 : counts.back().back()) + share_of(i));
  }
  return counts;
}

struct Workers {
  Workers(const TensorFile& tensor, Backend& backend)
      : group(backend,
              std::make_unique<Streamer>(TensorChunks::of(tensor), WorkerGroup::plan_for(TensorChunks::of(tensor)),
                                         backend),
              pool) {}

  ThreadPool pool{1};
  WorkerGroup group;
};

class SampledShapes : public testing::TestWithParam<std::vector<std::uint64_t>> {
 protected:
  SampledShapes() {
    const CoordinateTensor tensor = random_coordinates({.shape = GetParam(), .nnz = 3000, .seed = 2});
    ingest_files({folder_.write("in.tns", as_text(tensor))}, folder_ / "in.blco",
                 {.shape = GetParam(), .chunk_nnz = 1000});
  }

  TemporaryFolder folder_;
};

// A chunk of one frame; of several; lines of more than 64 bits.
INSTANTIATE_TEST_SUITE_P(SampledZeros, SampledShapes,
                         testing::Values(std::vector<std::uint64_t>{7, 5, 3}, std::vector<std::uint64_t>{300, 20},
                                         std::vector<std::uint64_t>(12, 40)));

TEST_P(SampledShapes, StandForAllCellsAndAreFixedByTheSequence) {
  const TensorFile tensor(folder_ / "in.blco");
  const auto backend = make_reference_backend({.layout = TensorLayout(GetParam()), .rank = 1, .all_outputs = true});
  constexpr std::uint64_t count = 20'011;
  Workers workers(tensor, *backend);
  SampledZeros sample(TensorChunks::of(tensor), workers.group, count);

  const IndexCounts counts = skewed_counts(GetParam());

  sample.draw(RandomStream(3, 1), counts);
  const auto values = values_of(*backend, sample, GetParam());

  // A coordinate is drawn with the probability q = (1 / length + share) / 2 and stands for 1 / (length q) draws.
  std::vector<std::vector<double>> stand_for;
  std::vector<double> means;
  for (const std::uint64_t length : GetParam()) {
    stand_for.emplace_back();
    for (std::size_t i = 0; i < length; ++i) {
      const double share = share_of(i) / counts[stand_for.size() - 1].back();
      stand_for.back().push_back(2 / (1 + share * static_cast<double>(length)));
    }
    means.push_back(std::reduce(stand_for.back().begin(), stand_for.back().end()) / static_cast<double>(length));
  }
  const double of_all = std::reduce(means.begin(), means.end(), 1.0, std::multiplies());
  for (std::size_t n = 0; n < GetParam().size(); ++n) {
    const double expected = static_cast<double>(count) / static_cast<double>(GetParam()[n]);
    double chi_squared = 0;
    for (std::size_t i = 0; i < values[n].size(); ++i) {
      const double variance = expected * stand_for[n][i] * of_all / means[n];
      chi_squared += (values[n][i] - expected) * (values[n][i] - expected) / variance;
    }
    // About as many degrees of freedom as coordinates, with a variance of 2 and of rare large values more.
    const double degrees = static_cast<double>(GetParam()[n]);
    EXPECT_LT(chi_squared, degrees + 10 * std::sqrt(2 * degrees)) << n;
  }
  sample.draw(RandomStream(3, 2), counts);
  EXPECT_NE(values_of(*backend, sample, GetParam()), values);
  sample.draw(RandomStream(3, 1), counts);
  EXPECT_EQ(values_of(*backend, sample, GetParam()), values);
}

TEST(SampledZeros, AllCellsAreTakenOnce) {
  const TemporaryFolder folder;
  const std::vector<std::uint64_t> shape = {70, 9, 5};
  ingest_files({folder.write("in.tns", "70 9 5 1\n")}, folder / "in.blco", {.shape = shape});
  const TensorFile tensor(folder / "in.blco");
  const auto backend = make_reference_backend({.layout = TensorLayout(shape), .rank = 1, .all_outputs = true});
  Workers workers(tensor, *backend);
  SampledZeros sample(TensorChunks::of(tensor), workers.group, 70 * 9 * 5);

  sample.take_all();

  const auto values = values_of(*backend, sample, shape);
  EXPECT_THAT(values[0], testing::Each(9 * 5));
  EXPECT_THAT(values[1], testing::Each(70 * 5));
  EXPECT_THAT(values[2], testing::Each(70 * 9));
}

// Every second cell is listed, in chunks of several frames.
TEST(SampledZeros, ListedCellsCountForNothing) {
  const std::vector<std::uint64_t> shape = {70, 20, 9};
  CoordinateTensor listed{.shape = shape, .points = {}, .values = {}};
  for (std::uint64_t i = 0; i < 70; ++i) {
    for (std::uint64_t j = 0; j < 20; ++j) {
      for (std::uint64_t k = (i + j) % 2; k < 9; k += 2) listed.points.push_back({i, j, k});
    }
  }
  listed.values.assign(listed.points.size(), 3.0);
  const TemporaryFolder folder;
  ingest_files({folder.write("in.tns", as_text(listed))}, folder / "in.blco", {.shape = shape, .chunk_nnz = 1000});
  const TensorFile tensor(folder / "in.blco");
  const auto backend = make_reference_backend({.layout = TensorLayout(shape), .rank = 1, .all_outputs = true});
  Workers workers(tensor, *backend);
  SampledZeros sample(TensorChunks::of(tensor), workers.group, 70 * 20 * 9);
  sample.take_all();

  sample.leave_out_listed(TensorChunks::of(tensor));

  const auto values = values_of(*backend, sample, shape);
  for (std::size_t n = 0; n < 3; ++n) {
    std::vector<double> absent(shape[n], 70.0 * 20 * 9 / static_cast<double>(shape[n]));
    for (const Point& point : listed.points) --absent[point[n]];
    EXPECT_EQ(values[n], absent) << n;
  }
}

}  // namespace
}  // namespace blco
