#include "engine/stream/chunk_queue.hpp"

#include <algorithm>

namespace blco {

void ChunkQueue::put(std::uint64_t chunk, const Shared& shared) {
  const std::lock_guard lock(mutex_);
  shared_.insert_or_assign(chunk, shared);
}

void ChunkQueue::remove_all_of(std::size_t worker) {
  const std::lock_guard lock(mutex_);
  std::erase_if(shared_, [worker](const auto& item) { return item.second.worker == worker; });
  parts_[worker] = {};
}

bool ChunkQueue::contains(std::uint64_t chunk) const {
  const std::lock_guard lock(mutex_);
  return shared_.contains(chunk);
}

std::optional<ChunkView> ChunkQueue::packed(std::uint64_t chunk) const {
  const std::lock_guard lock(mutex_);
  const auto found = shared_.find(chunk);
  return found == shared_.end() ? std::nullopt : found->second.packed;
}

void ChunkQueue::begin(std::span<const std::uint64_t> chunks, bool forward) {
  const std::lock_guard lock(mutex_);
  forward_ = forward;
  chunks_.clear();
  std::vector<std::size_t> weights(parts_.size());
  for (const std::uint64_t chunk : chunks) {
    const auto found = shared_.find(chunk);
    if (found == shared_.end()) continue;
    chunks_.push_back(chunk);
    ++weights[found->second.worker];
  }
  std::size_t all = 0;
  for (const Part& part : parts_) all += part.taken;
  for (std::size_t worker = 0; all > 0 && worker < parts_.size(); ++worker) weights[worker] = parts_[worker].taken;
  if (all == 0) all = std::max<std::size_t>(1, chunks_.size());
  std::size_t place = 0;
  std::size_t before = 0;
  for (std::size_t worker = 0; worker < parts_.size(); ++worker) {
    before += weights[worker];
    const std::size_t end = chunks_.size() * before / all;
    parts_[worker] = {place, end};
    place = end;
  }
}

std::optional<std::uint64_t> ChunkQueue::take(std::size_t worker) {
  const std::lock_guard lock(mutex_);
  const bool is_own = parts_[worker].left() > 0;
  const std::size_t from =
      is_own ? worker : static_cast<std::size_t>(std::ranges::max_element(parts_, {}, &Part::left) - parts_.begin());
  Part& part = parts_[from];
  if (part.left() == 0) return std::nullopt;
  ++parts_[worker].taken;
  return chunks_[ascends(from) == is_own ? part.begin++ : --part.end];
}

std::optional<std::uint64_t> ChunkQueue::peek(std::size_t worker, std::size_t ahead) const {
  const std::lock_guard lock(mutex_);
  const Part& part = parts_[worker];
  if (ahead >= part.left()) return std::nullopt;
  return chunks_[ascends(worker) ? part.begin + ahead : part.end - 1 - ahead];
}

void ChunkQueue::close() {
  const std::lock_guard lock(mutex_);
  for (Part& part : parts_) part.begin = part.end;
}

}  // namespace blco
