// The runs of a comparison of products, and what they share.
#pragma once

#include <blco/cpd.hpp>
#include <blco/tensor.hpp>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/common/thread_pool.hpp"
#include "engine/fit/column_slabs.hpp"
#include "tests/bench/measure/format_run.hpp"
#include "tests/bench/measure/natural_tensor.hpp"

namespace blco {

// Must outlive the runs.
struct ProductSetup {
  const Tensor* tensor = nullptr;
  NaturalTensor natural;
  std::vector<std::vector<double>> matrices;  // per mode, row-major
  std::vector<int> columns;                   // of them
  CpdOptions options;
  ThreadPool* pool = nullptr;

  std::size_t order() const { return columns.size(); }
  double nnz() const { return static_cast<double>(natural.values.size()); }
  // Of decoded nonzeros: a row number per mode, and the value.
  double decoded_bytes() const { return nnz() * (4.0 * static_cast<double>(order()) + sizeof(double)); }
  double matrix_bytes(std::size_t mode) const { return static_cast<double>(matrices[mode].size()) * sizeof(double); }
};

struct NamedRun {
  const char* name;
  std::unique_ptr<FormatRun> run;
};

// "ours", "ours-fibers", "csf-element" and "csf-fiber" of TTM, with budgets of `memory_bytes`. Fibers come out in
// lexicographic order of the other modes.
std::vector<NamedRun> make_ttm_runs(const ProductSetup& setup, std::uint64_t memory_bytes);

// Unfoldings, their columns in the order of ColumnChoices: by one pass of Kronecker products a mode, or in slabs.
// Throws Error as a Job does, and out_of_memory where the budget has no room for the former.
std::unique_ptr<FormatRun> make_unfolding_run(const ProductSetup& setup, bool in_slabs);

}  // namespace blco
