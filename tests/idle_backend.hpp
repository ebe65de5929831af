// A backend whose factors are of no interest: a base for those that watch chunks or passes alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/backend.hpp"

namespace blco {

class IdleBackend : public Backend {
 public:
  void load_factor(int, std::uint64_t, std::span<const double>) override {}
  void store_factor(int, std::uint64_t, std::span<double>) const override {}
  std::vector<double> take_factor(int) override { return {}; }
  std::uint64_t version(int) const override { return 0; }
  void load_dual(int, std::uint64_t, std::span<const double>) override {}
  void store_dual(int, std::uint64_t, std::span<double>) const override {}
  double sum_of_terms() const override { return 0; }
  void read_output(int, std::uint64_t, std::span<double>) const override {}
  void load_output(int, std::uint64_t, std::span<const double>) override {}
  void own(std::vector<OwnedRows>) override {}
  SolvedRows solve_rows(int, const RowProblem&) override { return {}; }
  void scale_rows(int, std::span<const double>) override {}
  void restore_factor(int) override {}
  std::span<const double> gram(int) override { return {}; }
  std::vector<double> column_sums(int) override { return {}; }
  void scale_columns(int, std::span<const double>, std::span<const double>) override {}
  void raise_to_zero(int) override {}
  std::vector<double> extrapolate(int, int, const Extrapolation&) override { return {}; }
  AprViolation apr_measure(int, const AprStep&, bool) override { return {}; }
  void apr_free_zeros(int, const AprStep&) override {}
  void apr_multiply(int, const AprStep&) override {}
  void load_vector(int, int, std::uint64_t, std::span<const double>) override {}
  void store_vector(int, int, std::uint64_t, std::span<double>) const override {}
  void copy_vector(int, int) override {}
  void copy_to_vector(int, int) override {}
  void copy_from_vector(int, int) override {}
  void cg_begin(int, const CgStep&) override {}
  void cg_step(int, const CgStep&) override {}
  double cg_end(int) override { return 0; }
  void adam_step(int, const AdamStep&) override {}
};

}  // namespace blco
