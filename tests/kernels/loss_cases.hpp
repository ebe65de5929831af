// Loss passes by definition, and a backend made for them.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "kernels/device_kind.hpp"
#include "tests/kernels/backend_cases.hpp"
#include "tests/kernels/reference_backend.hpp"
#include "tests/random_tensor.hpp"
#include "tests/thread_executor.hpp"

namespace blco::testing {

using Real = long double;

struct TermOf {
  Real term;
  Real weight;
};

// A rule, and what it is by definition.
struct LossCase {
  EntryFunction function;
  std::function<TermOf(Real x, Real m)> expected;
};

struct LossSums {
  Real sum = 0;
  Real sum_size = 0;                  // of the absolute terms
  std::vector<ExpectedRows> outputs;  // per mode
};

inline LossSums expected_sums(const CooTensor& tensor, std::span<const std::vector<double>> factors, int rank,
                              const LossCase& loss) {
  const auto columns = static_cast<std::size_t>(rank);
  const auto number = [&](std::size_t i, std::size_t mode, std::size_t r) {
    return static_cast<Real>(factors[mode][static_cast<std::size_t>(tensor.coordinate(i, mode)) * columns + r]);
  };
  LossSums sums;
  CooTensor weighted = tensor;
  for (std::size_t i = 0; i < tensor.nnz(); ++i) {
    Real model = 0;
    for (std::size_t r = 0; r < columns; ++r) {
      Real product = 1;
      for (std::size_t mode = 0; mode < tensor.order(); ++mode) product *= number(i, mode, r);
      model += product;
    }
    const auto [term, weight] = loss.expected(tensor.values[i], model);
    sums.sum += term;
    sums.sum_size += std::abs(term);
    weighted.values[i] = static_cast<double>(weight);
  }
  for (std::size_t mode = 0; mode < tensor.order(); ++mode) {
    sums.outputs.push_back(coordinate_mttkrp(weighted, factors, rank, mode));
  }
  return sums;
}

// All factors between 0.2 and 1, so that no model's value is near 0, where losses have poles.
inline std::vector<std::vector<double>> positive_factors(std::span<const std::uint64_t> shape, int rank,
                                                         std::uint64_t seed) {
  auto factors = random_factors(shape, rank, seed);
  for (auto& factor : factors) {
    for (double& entry : factor) entry = 0.6 + 0.4 * entry;
  }
  return factors;
}

struct LossSetup {
  std::vector<std::uint64_t> shape = {};
  int rank = 5;
  bool all_outputs = true;
  std::uint64_t private_bytes = std::uint64_t{1} << 40;
  std::uint64_t arranged_bytes = 0;
  std::vector<VectorShape> vectors = {};
};

class LossBackend {
 public:
  LossBackend(const BackendCase& which, const LossSetup& setup) : setup_(setup), executor_(std::max(which.threads, 1)) {
    BackendConfig config{TensorLayout(setup.shape), setup.rank, which.precision, setup.private_bytes};
    config.arranged_bytes = setup.arranged_bytes;
    config.all_outputs = setup.all_outputs;
    config.loss_passes = true;
    config.vectors = setup.vectors;
    backend_ = which.threads == 0 ? make_reference_backend(config) : host_kind().make(config, executor_);
  }

  Backend& operator*() { return *backend_; }
  Backend* operator->() { return backend_.get(); }

  void load(std::span<const std::vector<double>> factors) {
    for (std::size_t n = 0; n < factors.size(); ++n) backend_->load_factor(static_cast<int>(n), 0, factors[n]);
  }

  void pass(std::span<const EncodedChunk> chunks, const PassRequest& request) {
    backend_->begin_pass(request);
    for (const EncodedChunk& chunk : chunks) {
      backend_->submit(0, chunk.view());
      backend_->wait_slot(0);
    }
    backend_->finish_pass();
  }

  std::vector<double> output(int mode) const {
    const auto length = static_cast<std::size_t>(setup_.shape[static_cast<std::size_t>(mode)]);
    std::vector<double> rows(length * static_cast<std::size_t>(setup_.rank));
    backend_->read_output(mode, 0, rows);
    return rows;
  }

  // Outputs of these modes, and the sum of terms.
  std::vector<std::vector<double>> results(ModeSet modes) const {
    std::vector<std::vector<double>> all{{backend_->sum_of_terms()}};
    for (int mode = 0; mode < static_cast<int>(setup_.shape.size()); ++mode) {
      if (has_mode(modes, mode)) all.push_back(output(mode));
    }
    return all;
  }

 private:
  LossSetup setup_;
  ThreadExecutor executor_;
  std::unique_ptr<Backend> backend_;
};

inline constexpr Real loss_offset = 1e-10L;
inline constexpr Real exact_pi = 3.14159265358979323846264338327950288L;

struct LossFormula {
  Loss loss;
  std::function<TermOf(Real x, Real m)> of;
};

// Values and derivatives as in Hong, Kolda and Duersch 2020, table 1.
inline std::vector<LossFormula> every_loss() {
  return {
      {{LossKind::gaussian},
       [](Real x, Real m) {
         return TermOf{(x - m) * (x - m), -2 * (x - m)};
       }},
      {{LossKind::poisson},
       [](Real x, Real m) {
         return TermOf{m - x * std::log(m + loss_offset), 1 - x / (m + loss_offset)};
       }},
      {{LossKind::poisson_log},
       [](Real x, Real m) {
         return TermOf{std::exp(m) - x * m, std::exp(m) - x};
       }},
      {{LossKind::bernoulli_odds},
       [](Real x, Real m) {
         return TermOf{std::log1p(m) - x * std::log(m + loss_offset), 1 / (1 + m) - x / (m + loss_offset)};
       }},
      {{LossKind::bernoulli_logit},
       [](Real x, Real m) {
         return TermOf{std::log1p(std::exp(m)) - x * m, std::exp(m) / (1 + std::exp(m)) - x};
       }},
      {{LossKind::gamma},
       [](Real x, Real m) {
         const Real held = m + loss_offset;
         return TermOf{x / held + std::log(held), 1 / held - x / (held * held)};
       }},
      {{LossKind::rayleigh},
       [](Real x, Real m) {
         const Real held = m + loss_offset;
         return TermOf{2 * std::log(held) + exact_pi / 4 * (x / held) * (x / held),
                       2 / held - exact_pi / 2 * x * x / (held * held * held)};
       }},
      {{LossKind::huber, 0.75},
       [](Real x, Real m) {
         const Real far = std::abs(x - m);
         if (far <= 0.75L) return TermOf{far * far, 2 * (m - x)};
         return TermOf{1.5L * far - 0.75L * 0.75L, m > x ? 1.5L : -1.5L};
       }},
      {{LossKind::beta, 0.5},
       [](Real x, Real m) {
         const Real root = std::sqrt(m + loss_offset);
         return TermOf{2 * root + 2 * x / root, 1 / root - x / (root * root * root)};
       }},
  };
}

inline LossCase poisson_given() { return {{EntryRule::given, {LossKind::poisson}}, every_loss()[1].of}; }

}  // namespace blco::testing
