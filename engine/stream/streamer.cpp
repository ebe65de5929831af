// Reads fill the ring of slots in the order of the pass; the caller's thread submits in the same order.
#include "engine/stream/streamer.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "kernels/aligned_buffer.hpp"
#include "kernels/device_kind.hpp"

namespace blco {

Streamer::Streamer(const ChunkSource& tensor, const StreamPlan& plan, Passes& passes, SideJobs* jobs, TraceSink* trace,
                   ProgressMeter* meter, const QueueShare& share)
    : tensor_(&tensor),
      plan_(plan),
      passes_(&passes),
      jobs_(jobs),
      trace_(trace),
      meter_(meter),
      share_(share),
      residents_(plan.tiers.size()) {
  for (int slot = 0; slot < plan.slots; ++slot) slots_.push_back(passes.allocate_host(plan.slot_bytes));
  scratch_.assign(static_cast<std::size_t>(plan.readers),
                  std::vector<std::byte>(plan.scratch_bytes + plan.direct_bytes));
  allocate_packed();
  for (std::uint64_t chunk = 0; share_.queue != nullptr && chunk < plan_.tiers.size(); ++chunk) {
    if (plan_.tiers[chunk] == Tier::streamed) share_.queue->add(share_.worker, share_.first + chunk);
  }
}

void Streamer::allocate_packed() {
  std::vector<std::uint64_t> bytes(plan_.tiers.size());
  for (std::uint64_t chunk = 0; chunk < bytes.size(); ++chunk) {
    if (plan_.tiers[chunk] == Tier::packed) bytes[chunk] = tensor_->buffer_bytes(share_.first + chunk);
  }
  packed_.emplace(
      [this](std::uint64_t slab) {
        return share_.gpu ? pinned_memory(slab, *share_.gpu) : passes_->allocate_host(slab);
      },
      bytes);
  plan_.shortage = packed_->shortage();
  for (std::uint64_t chunk = 0; chunk < bytes.size(); ++chunk) {
    if (bytes[chunk] == 0 || !packed_->of(chunk).empty()) continue;
    plan_.tiers[chunk] = Tier::streamed;
    const std::uint64_t stored = tensor_->stored_bytes(share_.first + chunk);
    plan_.disk_bytes_per_pass += plan_.bytes_per_pass(chunk, stored * static_cast<std::uint64_t>(passes_->slabs()));
    plan_.demoted_bytes += mapped_bytes(bytes[chunk]);
    ++plan_.demoted_chunks;
  }
}

Streamer::~Streamer() {
  if (share_.queue != nullptr) share_.queue->remove_all_of(share_.worker);
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    try {
      passes_->wait_slot(static_cast<int>(slot));
    } catch (...) {
      // A failed device copies nothing more, and the pass has already thrown its error.
    }
  }
}

void Streamer::pass(const PassRequest& request, Direction direction) {
  const ChunkRange range = plan_.chunks_of(request);
  std::vector<std::uint64_t> chunks(range.end - range.first);
  std::iota(chunks.begin(), chunks.end(), range.first);
  if (direction == Direction::backward) std::ranges::reverse(chunks);
  pass(request, chunks);
}

void Streamer::pass(const PassRequest& request, std::span<const std::uint64_t> chunks) {
  std::vector<std::uint64_t> own;
  for (const std::uint64_t chunk : chunks) {
    if (share_.queue == nullptr || !share_.queue->contains(share_.first + chunk)) own.push_back(share_.first + chunk);
  }
  std::vector<std::uint64_t> drawn;
  try {
    PassRequest of_slab = request;
    for (; of_slab.slab < passes_->slabs(); ++of_slab.slab) run_pass(of_slab, own, drawn);
  } catch (...) {
    if (share_.queue != nullptr) share_.queue->close();
    drain();
    throw;
  }
  expected_ = drawn.size();
}

// Waits for copies in flight, which read the slots and the packed chunks; a finished pass has none.
void Streamer::drain() noexcept {
  try {
    passes_->finish_pass();
  } catch (...) {
    // The caller gets the error that ended the pass.
  }
}

void Streamer::run_pass(const PassRequest& request, std::span<const std::uint64_t> own,
                        std::vector<std::uint64_t>& drawn) {
  ReadOrder order{.worker = share_.worker};
  for (const std::uint64_t chunk : own) {
    if (!resident(chunk)) order.own.push_back(chunk);
  }
  const std::size_t own_reads = order.own.size();
  if (request.slab == 0) {
    order.queue = share_.queue;
  } else {
    order.own.insert(order.own.end(), drawn.begin(), drawn.end());
  }

  const auto pass_begin = std::chrono::steady_clock::now();
  const std::unique_ptr<ReadAhead> read_ahead = read(std::move(order));
  std::size_t reads = 0;
  const auto submit_next = [&] {
    const auto wait_begin = std::chrono::steady_clock::now();
    const std::optional<ReadChunk> next = read_ahead->wait();
    if (!next) return false;
    trace("caller", "wait for a read", wait_begin, next->chunk, 0);
    if (++reads > own_reads && request.slab == 0) drawn.push_back(next->chunk);
    submit_read(*next);
    read_ahead->submitted();
    return true;
  };
  passes_->begin_pass(request);
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (const std::optional<ResidentId> id = resident(own[i])) {
      passes_->submit_resident(*id);
      if (meter_ != nullptr) meter_->advance(tensor_->nnz_of_chunk(own[i]), 0);
    } else {
      submit_next();
    }
    // What is drawn is spread among those that stay, so that reading overlaps with computing.
    while (own_reads == 0 && reads * own.size() < expected_ * (i + 1) && submit_next()) {
    }
  }
  while (submit_next()) {
  }
  passes_->finish_pass();
  const int mode = request.only_mode();
  trace("passes", mode < 0 ? "several modes" : "mode " + std::to_string(mode), pass_begin, 0, 0);
}

std::unique_ptr<ReadAhead> Streamer::read(ReadOrder order) {
  ReadSetup setup{tensor_, slots_.size(), scratch_};
  setup.await_slot = [this](std::size_t slot) { passes_->wait_slot(static_cast<int>(slot)); };
  setup.destination = [this](std::uint64_t chunk, std::size_t slot) {
    const bool has_place = is_own(chunk) && !packed_->of(chunk - share_.first).empty();
    return has_place ? packed_->of(chunk - share_.first) : slots_[slot]->bytes();
  };
  setup.ended = [this](std::size_t reader, std::uint64_t chunk, TraceTime begin, TraceTime end) {
    if (trace_ == nullptr) return;
    trace_->add({"reader " + std::to_string(reader), "read", begin, end, chunk, tensor_->stored_bytes(chunk)});
  };
  return jobs_ != nullptr ? read_cooperatively(setup, std::move(order), *jobs_)
                          : read_by_threads(setup, std::move(order));
}

void Streamer::submit_read(const ReadChunk& read) {
  const auto slot = static_cast<int>(read.slot);
  ChunkView view = read.view;
  view.value_exponent = plan_.value_exponent;
  view.sorted_by = tensor_->sorted_by(read.chunk);
  const std::uint64_t chunk = read.chunk;
  const bool is_packed = share_.queue != nullptr && share_.queue->packed(chunk);
  const std::uint64_t bytes = is_packed ? 0 : tensor_->stored_bytes(chunk);
  bytes_read_ += bytes;
  if (tier(chunk) == Tier::streamed || is_packed) {
    passes_->submit(slot, view);
  } else if (share_.queue != nullptr && tier(chunk) == Tier::packed) {
    passes_->submit(slot, view);
    share_.queue->add(share_.worker, chunk, view);
  } else {
    std::optional<ResidentId>& id = residents_[chunk - share_.first];
    id = passes_->keep(slot, view, tier(chunk));
    passes_->submit_resident(*id);
  }
  if (meter_ != nullptr) meter_->advance(read.view.nnz, bytes);
}

void Streamer::trace(const std::string& track, std::string_view name, TraceTime begin, std::uint64_t chunk,
                     std::uint64_t bytes) const {
  if (trace_ != nullptr) trace_->add({track, name, begin, std::chrono::steady_clock::now(), chunk, bytes});
}

}  // namespace blco
