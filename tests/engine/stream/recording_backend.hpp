// A backend that computes nothing: it records what it gets, and reads staged bytes late, as a device does.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "blco/error.hpp"
#include "blco/executor.hpp"
#include "blco/payload.hpp"
#include "tests/idle_backend.hpp"

namespace blco {

class RecordingBackend final : public IdleBackend {
 public:
  std::vector<std::uint64_t> submitted;  // in this pass
  std::vector<ChunkView> kept;
  std::set<int> slots;                   // that chunks came through
  std::optional<std::uint64_t> fail_at;  // a chunk
  std::uint64_t finished_bytes = 0;      // of index payloads that were still whole when the slot was waited for
  std::uint64_t link_bytes = 0;          // of payloads that went to the device
  std::uint64_t host_bytes_left = ~std::uint64_t{0};   // that allocate_host gives
  std::uint64_t max_buffer_bytes = ~std::uint64_t{0};  // of one allocation
  int buffers = 0;                                     // that it has given
  Executor* executor = nullptr;                        // that runs some tasks at every chunk, as a host's does

  std::string name() const override { return "recording"; }
  std::unique_ptr<HostBuffer> allocate_host(std::uint64_t bytes) override {
    if (bytes > std::min(host_bytes_left, max_buffer_bytes)) throw Error(ErrorKind::out_of_memory, "no more to pin");
    host_bytes_left -= bytes;
    ++buffers;
    return std::make_unique<WatchedBuffer>(*this, bytes);
  }
  void begin_pass(const PassRequest&) override { submitted.clear(); }
  void submit(int slot, const ChunkView& chunk) override {
    if (fail_at == chunk.number) throw std::runtime_error("the device failed");
    submitted.push_back(chunk.number);
    stage(slot, chunk);
    if (executor != nullptr) {
      executor->run(5, [&](std::size_t) { check(chunk); });
    }
  }
  void wait_slot(int slot) override {
    const std::lock_guard lock(mutex_);
    const auto chunk = staged_.find(slot);
    if (chunk == staged_.end()) return;
    check(chunk->second);
    finished_bytes += chunk->second[Column::index].size();
    staged_.erase(chunk);
  }
  ResidentId keep(int slot, const ChunkView& chunk, Tier tier) override {
    check(chunk);
    kept.push_back(chunk);
    tiers_.push_back(tier);
    if (tier != Tier::packed) stage(slot, chunk);
    return kept.size() - 1;
  }
  void submit_resident(ResidentId id) override {
    const ChunkView& chunk = kept.at(id);
    if (fail_at == chunk.number) throw std::runtime_error("the device failed");
    submitted.push_back(chunk.number);
    if (tiers_[id] != Tier::packed) return;
    const std::lock_guard lock(mutex_);
    from_packed_.push_back(chunk);
    link_bytes += bytes_of(chunk);
  }
  void finish_pass() override {
    for (const int slot : slots) wait_slot(slot);
    const std::lock_guard lock(mutex_);
    for (const ChunkView& chunk : from_packed_) check(chunk);
    from_packed_.clear();
  }

 private:
  // Its memory must not be read any more when it goes.
  class WatchedBuffer final : public HostBuffer {
   public:
    WatchedBuffer(RecordingBackend& backend, std::uint64_t bytes) : backend_(&backend), memory_(bytes + 64) {}
    ~WatchedBuffer() override { EXPECT_FALSE(backend_->reads(bytes())) << "freed while a copy reads it"; }
    std::span<std::byte> bytes() override {
      void* start = memory_.data();
      std::size_t room = memory_.size();
      std::align(64, memory_.size() - 64, start, room);
      return {static_cast<std::byte*>(start), memory_.size() - 64};
    }

   private:
    RecordingBackend* backend_;
    std::vector<std::byte> memory_;
  };

  static std::uint64_t bytes_of(const ChunkView& chunk) {
    EXPECT_FALSE(chunk.contiguous().empty()) << "more than one copy";
    return chunk.contiguous().size();
  }

  // If the buffer was refilled before wait_slot(), it holds another chunk by now.
  static void check(const ChunkView& chunk) {
    check_payload(chunk[Column::index], chunk.nnz);
    check_payload(chunk[Column::value], chunk.nnz);
  }

  void stage(int slot, const ChunkView& chunk) {
    const std::lock_guard lock(mutex_);
    slots.insert(slot);
    staged_[slot] = chunk;
    link_bytes += bytes_of(chunk);
  }

  bool reads(std::span<const std::byte> memory) {
    const auto lies_there = [&](const ChunkView& chunk) {
      const std::byte* at = chunk[Column::index].data();
      return at >= memory.data() && at < memory.data() + memory.size();
    };
    const std::lock_guard lock(mutex_);
    for (const auto& [slot, chunk] : staged_) {
      if (lies_there(chunk)) return true;
    }
    for (const ChunkView& chunk : from_packed_) {
      if (lies_there(chunk)) return true;
    }
    return false;
  }

  std::vector<Tier> tiers_;
  std::mutex mutex_;
  std::map<int, ChunkView> staged_;  // per slot
  std::vector<ChunkView> from_packed_;
};

}  // namespace blco
