// TTMc of the CUDA backend beside the serial reference.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "tests/kernels/reference_backend.hpp"
#include "tests/kernels/rows_near.hpp"
#include "tests/simt/emulated_backend.hpp"

namespace blco::testing {

// As the device has them.
inline std::vector<std::vector<double>> ttmc_factors(std::span<const std::uint64_t> shape,
                                                     const EmulatedOptions& options) {
  std::vector<std::vector<double>> factors;
  for (std::size_t n = 0; n < shape.size(); ++n) {
    std::vector<double>& factor = factors.emplace_back(random_matrix(shape[n], options.columns[n], 11 + n));
    if (options.precision != Precision::mixed) continue;
    std::ranges::transform(factor, factor.begin(), [](double number) { return static_cast<float>(number); });
  }
  return factors;
}

inline std::vector<double> reference_ttmc(const CooTensor& tensor, const EmulatedOptions& options,
                                          const std::vector<std::vector<double>>& factors, int mode) {
  EmulatedOptions exact = options;
  exact.precision = Precision::f64;
  const BackendConfig config = emulated_config(tensor.shape, exact);
  const auto backend = make_reference_backend(config);
  for (std::size_t n = 0; n < factors.size(); ++n) backend->load_factor(static_cast<int>(n), 0, factors[n]);
  backend->begin_pass({mode, Product::kronecker});
  for (const EncodedChunk& chunk : encode(tensor, tensor.nnz())) backend->submit(0, chunk.view());
  backend->finish_pass();
  std::vector<double> rows(static_cast<std::size_t>(config.layout.mode(mode).length * config.output_columns_of(mode)));
  backend->read_output(mode, 0, rows);
  return rows;
}

// The reference's rows, and what it makes of all numbers' magnitudes.
inline ExpectedRows expected_ttmc(CooTensor tensor, const EmulatedOptions& options,
                                  std::vector<std::vector<double>> factors, int mode) {
  ExpectedRows expected{.rows = reference_ttmc(tensor, options, factors, mode), .sizes = {}};
  const auto make_positive = [](std::vector<double>& numbers) {
    for (double& number : numbers) number = std::abs(number);
  };
  make_positive(tensor.values);
  for (std::vector<double>& factor : factors) make_positive(factor);
  expected.sizes = reference_ttmc(tensor, options, factors, mode);
  return expected;
}

inline double ttmc_tolerance(Precision precision) { return precision == Precision::f32 ? 1e-5 : 1e-12; }

// Every mode, from chunks that are streamed.
inline void expect_every_ttmc(const CooTensor& tensor, std::uint64_t chunk_nnz, const EmulatedOptions& options) {
  const auto factors = ttmc_factors(tensor.shape, options);
  const auto chunks = encode(tensor, chunk_nnz);
  EmulatedBackend backend(tensor.shape, options);
  backend.load(factors);
  for (int mode = 0; mode < static_cast<int>(tensor.order()); ++mode) {
    backend.run(chunks, {mode, Product::kronecker});
    EXPECT_THAT(backend.output(mode),
                RowsNear(expected_ttmc(tensor, options, factors, mode), ttmc_tolerance(options.precision)))
        << "mode " << mode << " of order " << tensor.order() << ", " << ::testing::PrintToString(options.columns)
        << " columns, chunks of " << chunk_nnz;
  }
}

}  // namespace blco::testing
