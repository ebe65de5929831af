// Samples of the whole tensor, as the reference backend sees them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/ingest.hpp>
#include <blco/tensor_file.hpp>
#include <cmath>
#include <numeric>

#include "engine/fit/methods/sampled_zeros.hpp"
#include "kernels/reference/reference_backend.hpp"
#include "tests/engine/coordinate_tensor.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

// How many samples have each coordinate of each mode: with one component of ones, m is 1 and the derivative of m^2
// is 2.
std::vector<std::vector<double>> counts_of(Backend& backend, SampledZeros& sample,
                                           const std::vector<std::uint64_t>& shape) {
  const int order = static_cast<int>(shape.size());
  for (int n = 0; n < order; ++n) {
    backend.load_factor(n, 0, std::vector<double>(shape[static_cast<std::size_t>(n)], 1.0));
  }
  backend.begin_pass({EntryFunction{.rule = EntryRule::zero, .loss = {}, .scale = 0.5}, all_modes(order)});
  sample.submit();
  backend.finish_pass();
  EXPECT_EQ(backend.sum_of_terms(), 0.5 * static_cast<double>(sample.count()));
  std::vector<std::vector<double>> counts;
  for (int n = 0; n < order; ++n) {
    counts.emplace_back(shape[static_cast<std::size_t>(n)]);
    backend.read_output(n, 0, counts.back());
  }
  return counts;
}

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

TEST_P(SampledShapes, AreUniformInEveryModeAndFixedByTheSequence) {
  const TensorFile tensor(folder_ / "in.blco");
  const auto backend = make_reference_backend({.layout = TensorLayout(GetParam()), .rank = 1, .all_outputs = true});
  constexpr std::uint64_t count = 20'011;
  SampledZeros sample(tensor.chunks(), *backend, count);

  sample.draw(RandomStream(3, 1));
  const auto counts = counts_of(*backend, sample, GetParam());

  for (std::size_t n = 0; n < GetParam().size(); ++n) {
    const double expected = static_cast<double>(count) / static_cast<double>(GetParam()[n]);
    double chi_squared = 0;
    for (const double found : counts[n]) chi_squared += (found - expected) * (found - expected) / expected;
    // Of length - 1 degrees of freedom: five standard deviations above the mean.
    const double degrees = static_cast<double>(GetParam()[n] - 1);
    EXPECT_LT(chi_squared, degrees + 5 * std::sqrt(2 * degrees)) << n;
    EXPECT_EQ(std::accumulate(counts[n].begin(), counts[n].end(), 0.0), count);
  }
  sample.draw(RandomStream(3, 2));
  EXPECT_NE(counts_of(*backend, sample, GetParam()), counts);
  sample.draw(RandomStream(3, 1));
  EXPECT_EQ(counts_of(*backend, sample, GetParam()), counts);
}

}  // namespace
}  // namespace blco
