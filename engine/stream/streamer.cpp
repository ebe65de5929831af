// Reads fill the ring of slots in the order of the pass; the caller's thread submits in the same order.
#include "engine/stream/streamer.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "kernels/aligned_buffer.hpp"

namespace blco {

Streamer::Streamer(const ChunkSource& tensor, const StreamPlan& plan, Backend& backend, SideJobs* jobs,
                   TraceSink* trace, ProgressMeter* meter)
    : tensor_(&tensor),
      plan_(plan),
      backend_(&backend),
      jobs_(jobs),
      trace_(trace),
      meter_(meter),
      residents_(plan.tiers.size()) {
  for (int slot = 0; slot < plan.slots; ++slot) slots_.push_back(backend.allocate_host(plan.slot_bytes));
  scratch_.assign(static_cast<std::size_t>(plan.readers),
                  std::vector<std::byte>(plan.scratch_bytes + plan.direct_bytes));
  allocate_packed();
}

void Streamer::allocate_packed() {
  std::vector<std::uint64_t> bytes(plan_.tiers.size());
  for (std::uint64_t chunk = 0; chunk < bytes.size(); ++chunk) {
    if (plan_.tiers[chunk] == Tier::packed) bytes[chunk] = tensor_->buffer_bytes(chunk);
  }
  packed_.emplace(*backend_, bytes);
  plan_.shortage = packed_->shortage();
  for (std::uint64_t chunk = 0; chunk < bytes.size(); ++chunk) {
    if (bytes[chunk] == 0 || !packed_->of(chunk).empty()) continue;
    plan_.tiers[chunk] = Tier::streamed;
    plan_.disk_bytes_per_pass += tensor_->stored_bytes(chunk) * static_cast<std::uint64_t>(backend_->slabs());
    plan_.demoted_bytes += mapped_bytes(bytes[chunk]);
    ++plan_.demoted_chunks;
  }
}

Streamer::~Streamer() {
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    try {
      backend_->wait_slot(static_cast<int>(slot));
    } catch (...) {
      // A failed device copies nothing more, and the pass has already thrown its error.
    }
  }
}

void Streamer::pass(const PassRequest& request, Direction direction) {
  std::vector<std::uint64_t> chunks(plan_.tiers.size());
  std::iota(chunks.begin(), chunks.end(), std::uint64_t{0});
  if (direction == Direction::backward) std::ranges::reverse(chunks);
  pass(request, chunks);
}

void Streamer::pass(const PassRequest& request, std::span<const std::uint64_t> chunks) {
  try {
    PassRequest of_slab = request;
    for (; of_slab.slab < backend_->slabs(); ++of_slab.slab) run_pass(of_slab, chunks);
  } catch (...) {
    drain();
    throw;
  }
}

// Waits for copies in flight, which read the slots and the packed chunks; a finished pass has none.
void Streamer::drain() noexcept {
  try {
    backend_->finish_pass();
  } catch (...) {
    // The caller gets the error that ended the pass.
  }
}

void Streamer::run_pass(const PassRequest& request, std::span<const std::uint64_t> chunks) {
  std::vector<std::uint64_t> reads;
  for (const std::uint64_t chunk : chunks) {
    if (needs_read(chunk)) reads.push_back(chunk);
  }

  const auto pass_begin = std::chrono::steady_clock::now();
  const std::unique_ptr<ReadAhead> read_ahead = read(std::move(reads));
  std::size_t reads_taken = 0;
  backend_->begin_pass(request);
  for (const std::uint64_t chunk : chunks) {
    const std::uint64_t nnz = tensor_->info().nnz_of_chunk(chunk);
    if (!needs_read(chunk)) {
      backend_->submit_resident(*residents_[chunk]);
      if (meter_ != nullptr) meter_->advance(nnz, 0);
      continue;
    }
    const auto wait_begin = std::chrono::steady_clock::now();
    const ChunkView view = read_ahead->wait(reads_taken);
    trace("caller", "wait for a read", wait_begin, chunk, 0);
    submit_read(chunk, reads_taken++ % slots_.size(), view);
    read_ahead->submitted();
    if (meter_ != nullptr) meter_->advance(nnz, tensor_->stored_bytes(chunk));
  }
  backend_->finish_pass();
  const int mode = request.only_mode();
  trace("passes", mode < 0 ? "several modes" : "mode " + std::to_string(mode), pass_begin, 0, 0);
}

std::unique_ptr<ReadAhead> Streamer::read(std::vector<std::uint64_t> chunks) {
  ReadSetup setup{tensor_, slots_.size(), scratch_};
  setup.destination = [this](std::uint64_t chunk, std::size_t slot) {
    backend_->wait_slot(static_cast<int>(slot));
    const std::span<std::byte> own = packed_->of(chunk);
    return own.empty() ? slots_[slot]->bytes() : own;
  };
  setup.ended = [this](std::size_t reader, std::uint64_t chunk, TraceTime begin, TraceTime end) {
    if (trace_ == nullptr) return;
    trace_->add({"reader " + std::to_string(reader), "read", begin, end, chunk, tensor_->stored_bytes(chunk)});
  };
  return jobs_ != nullptr ? read_cooperatively(setup, std::move(chunks), *jobs_)
                          : read_by_threads(setup, std::move(chunks));
}

void Streamer::submit_read(std::uint64_t chunk, std::size_t at, const ChunkView& view) {
  const auto slot = static_cast<int>(at);
  bytes_read_ += tensor_->stored_bytes(chunk);
  if (plan_.tiers[chunk] == Tier::streamed) return backend_->submit(slot, view);
  residents_[chunk] = backend_->keep(slot, view, plan_.tiers[chunk]);
  backend_->submit_resident(*residents_[chunk]);
}

void Streamer::trace(const std::string& track, std::string_view name, TraceTime begin, std::uint64_t chunk,
                     std::uint64_t bytes) const {
  if (trace_ != nullptr) trace_->add({track, name, begin, std::chrono::steady_clock::now(), chunk, bytes});
}

}  // namespace blco
