// The backends under test, and one pass over encoded chunks.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/device_kind.hpp"
#include "tests/kernels/reference_backend.hpp"
#include "tests/kernels/rows_near.hpp"
#include "tests/random_tensor.hpp"
#include "tests/thread_executor.hpp"

namespace blco::testing {

// threads 0: the reference backend.
struct BackendCase {
  int threads = 0;
  Precision precision = Precision::f64;

  std::string name() const {
    return (threads == 0 ? "reference" : "host" + std::to_string(threads)) + (precision == Precision::f64   ? "_f64"
                                                                              : precision == Precision::f32 ? "_f32"
                                                                                                            : "_mixed");
  }
  // Of an entry, relative to the sum of the absolute values that were added up; the products are of held() factors.
  double tolerance() const { return precision == Precision::f32 ? 1e-5 : 1e-12; }
  std::vector<std::vector<double>> held(std::vector<std::vector<double>> factors) const {
    if (precision != Precision::mixed) return factors;
    for (std::vector<double>& factor : factors) {
      for (double& number : factor) number = static_cast<float>(number);
    }
    return factors;
  }
};

inline std::ostream& operator<<(std::ostream& out, const BackendCase& backend) { return out << backend.name(); }

inline std::vector<BackendCase> every_backend() {
  std::vector<BackendCase> cases;
  for (const int threads : {0, 1, 2, 3}) {
    for (const Precision precision : {Precision::f64, Precision::f32, Precision::mixed}) {
      cases.push_back({threads, precision});
    }
  }
  return cases;
}

// A backend and the threads it runs on.
class BackendUnderTest {
 public:
  BackendUnderTest(const BackendCase& which, std::span<const std::uint64_t> shape, int rank,
                   std::uint64_t private_bytes = std::uint64_t{1} << 40, std::uint64_t arranged_bytes = 0)
      : BackendUnderTest(which.threads, {.layout = TensorLayout(shape),
                                         .rank = rank,
                                         .precision = which.precision,
                                         .private_bytes = private_bytes,
                                         .arranged_bytes = arranged_bytes,
                                         .keep_previous = true}) {}
  BackendUnderTest(int threads, const BackendConfig& config)
      : executor_(std::max(threads, 1)), rows_(config.rows()), rank_(config.rank) {
    backend_ = threads == 0 ? make_reference_backend(config) : host_kind().make(config, executor_);
  }

  Backend& operator*() { return *backend_; }
  Backend* operator->() { return backend_.get(); }

  void load(std::span<const std::vector<double>> factors) {
    for (std::size_t n = 0; n < factors.size(); ++n) backend_->load_factor(static_cast<int>(n), 0, factors[n]);
  }

  std::vector<double> output(int mode) const { return output(mode, static_cast<std::uint64_t>(rank_)); }
  std::vector<double> output(int mode, std::uint64_t columns) const {
    std::vector<double> rows(rows_[static_cast<std::size_t>(mode)] * columns);
    backend_->read_output(mode, 0, rows);
    return rows;
  }

  std::vector<double> factor(int mode) const {
    std::vector<double> rows(size(mode));
    backend_->store_factor(mode, 0, rows);
    return rows;
  }

  void run(std::span<const EncodedChunk> chunks, const PassRequest& request) {
    backend_->begin_pass(request);
    for (const EncodedChunk& chunk : chunks) {
      backend_->submit(0, chunk.view());
      backend_->wait_slot(0);
    }
    backend_->finish_pass();
  }
  std::vector<double> pass(std::span<const EncodedChunk> chunks, int mode) {
    run(chunks, mode);
    return output(mode);
  }

  void run_resident(std::span<const ResidentId> residents, const PassRequest& request) {
    backend_->begin_pass(request);
    for (const ResidentId resident : residents) backend_->submit_resident(resident);
    backend_->finish_pass();
  }
  std::vector<double> resident_pass(std::span<const ResidentId> residents, int mode) {
    run_resident(residents, mode);
    return output(mode);
  }

 private:
  std::size_t size(int mode) const {
    return static_cast<std::size_t>(rows_[static_cast<std::size_t>(mode)]) * static_cast<std::size_t>(rank_);
  }

  ThreadExecutor executor_;
  std::vector<std::uint64_t> rows_;  // per mode
  int rank_;
  std::unique_ptr<Backend> backend_;
};

}  // namespace blco::testing
