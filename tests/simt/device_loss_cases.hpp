// Loss passes of the CUDA backend beside those of the serial reference.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/kernels/reference_backend.hpp"
#include "tests/simt/emulated_backend.hpp"

namespace blco::testing {

// Factors that keep the model positive, as most losses need it.
inline std::vector<std::vector<double>> positive_factors(std::span<const std::uint64_t> shape, int rank) {
  auto factors = random_factors(shape, rank, 11);
  for (auto& factor : factors) {
    std::ranges::transform(factor, factor.begin(), [](double number) { return 0.7 + number / 2; });
  }
  return factors;
}

// A rule and a loss of it that weigh every nonzero differently.
inline EntryFunction poisson_function() {
  return {.rule = EntryRule::given, .loss = {LossKind::poisson}, .scale = 0.5};
}

// The serial reference for one tensor.
class LossReference {
 public:
  LossReference(std::span<const EncodedChunk> chunks, std::span<const std::uint64_t> shape,
                const EmulatedOptions& options, std::span<const std::vector<double>> factors)
      : chunks_(chunks), backend_(make_reference_backend(emulated_config(shape, options))) {
    for (std::size_t n = 0; n < factors.size(); ++n) backend_->load_factor(static_cast<int>(n), 0, factors[n]);
  }

  void run(const PassRequest& request) {
    backend_->begin_pass(request);
    for (const EncodedChunk& chunk : chunks_) backend_->submit(0, chunk.view());
    backend_->finish_pass();
  }

  // Expects the same terms and outputs of the device's last pass, up to `tolerance` of the largest number.
  void expect_same(EmulatedBackend& device, const PassRequest& request, std::span<const std::uint64_t> shape, int rank,
                   double tolerance, const std::string& what) const {
    const double terms = backend_->sum_of_terms();
    EXPECT_NEAR(device->sum_of_terms(), terms, tolerance * (1 + std::abs(terms))) << what;
    for (int mode = 0; mode < static_cast<int>(shape.size()); ++mode) {
      if (!has_mode(request.outputs, mode)) continue;
      std::vector<double> wanted(static_cast<std::size_t>(shape[static_cast<std::size_t>(mode)]) *
                                 static_cast<std::size_t>(rank));
      backend_->read_output(mode, 0, wanted);
      const std::vector<double> actual = device.output(mode);
      double largest = 0;
      for (const double number : wanted) largest = std::max(largest, std::abs(number));
      ASSERT_GT(largest, 0) << what;
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        ASSERT_NEAR(actual[i], wanted[i], tolerance * largest) << what << ", mode " << mode << ", number " << i;
      }
    }
  }

 private:
  std::span<const EncodedChunk> chunks_;
  std::unique_ptr<Backend> backend_;
};

inline double loss_tolerance(Precision precision) { return precision == Precision::f32 ? 2e-5 : 1e-12; }

// Runs passes one after another on a fresh device, from streamed chunks, and expects what the reference computes.
inline void expect_loss_passes(const CooTensor& tensor, std::uint64_t chunk_nnz, EmulatedOptions options,
                               std::span<const PassRequest> requests, const std::string& what) {
  for (const PassRequest& request : requests) {
    options.all_outputs = options.all_outputs || (request.outputs & (request.outputs - 1)) != 0;
  }
  const auto factors = positive_factors(tensor.shape, options.rank);
  const auto chunks = encode(tensor, chunk_nnz);
  LossReference reference(chunks, tensor.shape, options, factors);
  EmulatedBackend device(tensor.shape, options);
  device.load(factors);
  for (const PassRequest& request : requests) {
    reference.run(request);
    device.run(chunks, request);
    reference.expect_same(device, request, tensor.shape, options.rank, loss_tolerance(options.precision),
                          what + ", rank " + std::to_string(options.rank) + ", order " +
                              std::to_string(tensor.order()) + ", chunks of " + std::to_string(chunk_nnz));
  }
}

}  // namespace blco::testing
