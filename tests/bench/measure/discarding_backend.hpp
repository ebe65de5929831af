// Stands in for a GPU: takes chunks at once and computes nothing, so that only the host's work is left.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/aligned_buffer.hpp"
#include "kernels/backend.hpp"

namespace blco {

class DiscardingBackend final : public Backend {
 public:
  std::string name() const override { return "none"; }
  std::unique_ptr<HostBuffer> allocate_host(std::uint64_t bytes) override { return std::make_unique<Buffer>(bytes); }
  void load_factor(int, std::uint64_t, std::span<const double>) override {}
  void store_factor(int, std::uint64_t, std::span<double>) const override {}
  std::vector<double> take_factor(int) override { return {}; }
  void load_dual(int, std::uint64_t, std::span<const double>) override {}
  void store_dual(int, std::uint64_t, std::span<double>) const override {}
  void begin_pass(const PassRequest&) override {}
  void submit(int, const ChunkView&) override {}
  void wait_slot(int) override {}
  ResidentId keep(int, const ChunkView&, ResidentForm) override { return 0; }
  void submit_resident(ResidentId) override {}
  void finish_pass() override {}
  double sum_of_terms() const override { return 0; }
  void read_output(int, std::uint64_t, std::span<double>) const override {}
  RowUpdate update_rows(int, const RowProblem&) override { return {}; }
  void restore_factor(int) override {}
  std::span<const double> gram(int) override { return {}; }
  std::vector<double> column_sums(int) override { return {}; }
  void scale_columns(int, std::span<const double>, std::span<const double>) override {}
  void raise_to_zero(int) override {}
  AprViolation apr_measure(int, const AprStep&, bool) override { return {}; }
  void apr_free_zeros(int, const AprStep&) override {}
  void apr_multiply(int, const AprStep&) override {}

 private:
  class Buffer final : public HostBuffer {
   public:
    explicit Buffer(std::uint64_t bytes) : memory_(bytes) {}
    std::span<std::byte> bytes() override { return memory_.span(); }

   private:
    AlignedBuffer<std::byte> memory_;
  };
};

}  // namespace blco
