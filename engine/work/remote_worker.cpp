#include "engine/work/remote_worker.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace blco {
RemoteWorker::RemoteWorker(Peers& peers, int peer, const ChunkSource& tensor, const JobOrder& order)
    : peers_(&peers),
      peer_(peer),
      rank_(order.rank),
      chunks_(chunk_range(tensor.info().chunk_count(), peer, peers.size())),
      lengths_(tensor.info().shape),
      versions_(lengths_.size()) {
  for (std::size_t mode = 0; mode < lengths_.size(); ++mode) rows_.push_back(rows_of_chunks(tensor, chunks_, mode));
  peers.send(peer, Message(MessageKind::begin).put(order).bytes());
}

RemoteWorker::~RemoteWorker() {
  try {
    peers_->send(peer_, Message(MessageKind::end).bytes());
  } catch (...) {
    // Whoever ends the job because of that has told why.
  }
}

std::optional<Error> RemoteWorker::failure_of(ReceivedMessage& answer) const {
  if (answer.kind() == MessageKind::done) return std::nullopt;
  const auto kind = answer.take<ErrorKind>();
  const std::vector<char> text = answer.take_rest<char>();
  return Error(kind, "process " + std::to_string(peer_) + " of " + std::to_string(peers_->size()) + ": " +
                         std::string(text.begin(), text.end()));
}

std::optional<Error> RemoteWorker::await_ready() {
  ReceivedMessage answer = receive();
  return failure_of(answer);
}

void RemoteWorker::load_changed(const Factors& factors, ModeSet modes) {
  std::vector<double> numbers;
  for (std::size_t n = 0; n < rows_.size(); ++n) {
    const int mode = static_cast<int>(n);
    const std::uint64_t version = factors.version(mode);
    if (!has_mode(modes, mode) || versions_[n] == version) continue;
    for_each_row_block(mode, rows_[n].begin, rows_[n].end, rank_, [&](const RowBlock& block) {
      numbers.resize(static_cast<std::size_t>(block.rows) * static_cast<std::size_t>(rank_));
      factors.store_factor(mode, block.first_row, numbers);
      peers_->send(peer_, Message(MessageKind::load).put(block).put(std::span(numbers)).bytes());
    });
    versions_[n] = version;
  }
}

void RemoteWorker::begin_pass(const PassOrder& order, std::span<const std::uint64_t> chunks) {
  std::vector<std::uint64_t> own;
  for (const std::uint64_t chunk : chunks) {
    if (chunk >= chunks_.begin && chunk < chunks_.end) own.push_back(chunk - chunks_.begin);
  }
  peers_->send(peer_, Message(MessageKind::pass).put(order).put(std::span(own)).bytes());
}

std::optional<Error> RemoteWorker::await_pass() {
  ReceivedMessage answer = receive();
  std::optional<Error> failure = failure_of(answer);
  if (!failure) reply_ = answer.take<PassReply>();
  return failure;
}

bool RemoteWorker::add_rows(const RowBlock& block, std::span<double> numbers) {
  if (!has_rows_in(rows_[static_cast<std::size_t>(block.mode)], block)) return false;
  ReceivedMessage message = receive();
  const auto theirs = message.take<RowBlock>();
  if (message.kind() != MessageKind::rows || theirs.mode != block.mode || theirs.first_row != block.first_row) {
    throw Error(ErrorKind::io, "process " + std::to_string(peer_) + " has sent rows out of turn");
  }
  const auto bits = message.take<std::uint64_t>((block.rows + 63) / 64);
  const std::vector<double> sums = message.take_rest<double>();
  const auto rank = static_cast<std::size_t>(rank_);
  const auto count = std::accumulate(bits.begin(), bits.end(), std::size_t{0},
                                     [](std::size_t sum, std::uint64_t word) { return sum + std::popcount(word); });
  if (count * rank != sums.size())
    throw Error(ErrorKind::io, "process " + std::to_string(peer_) + " has sent too few rows");
  std::size_t at = 0;
  for (std::size_t row = 0; row < block.rows; ++row) {
    if ((bits[row / 64] >> row % 64 & 1) == 0) continue;
    for (std::size_t r = 0; r < rank; ++r) numbers[row * rank + r] += sums[at++];
  }
  return at > 0;
}

void RemoteWorker::drop_rows(ModeSet outputs) {
  for (std::size_t n = 0; n < lengths_.size(); ++n) {
    if (!has_mode(outputs, static_cast<int>(n))) continue;
    for_each_row_block(static_cast<int>(n), 0, lengths_[n], rank_, [&](const RowBlock& block) {
      if (has_rows_in(rows_[n], block)) receive();
    });
  }
}

}  // namespace blco
