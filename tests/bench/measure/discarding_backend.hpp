// Stands in for a GPU: takes chunks at once and computes nothing, so that only the host's work is left.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/aligned_buffer.hpp"
#include "tests/idle_backend.hpp"

namespace blco {

class DiscardingBackend : public IdleBackend {
 public:
  std::string name() const override { return "none"; }
  std::unique_ptr<HostBuffer> allocate_host(std::uint64_t bytes) override { return std::make_unique<Buffer>(bytes); }
  void begin_pass(const PassRequest&) override {}
  void submit(int, const ChunkView&) override {}
  void wait_slot(int) override {}
  ResidentId keep(int, const ChunkView&, Tier) override { return 0; }
  void submit_resident(ResidentId) override {}
  void finish_pass() override {}

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
