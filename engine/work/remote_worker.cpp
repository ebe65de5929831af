#include "engine/work/remote_worker.hpp"

#include <algorithm>

namespace blco {

RemoteWorker::RemoteWorker(Peers& peers, int peer, const ChunkSource& tensor, const JobOrder& order)
    : peers_(&peers),
      peer_(peer),
      columns_(order.columns),
      chunks_(chunk_range_of_subtree(tensor.info().chunk_count(), peer, peers)),
      lengths_(tensor.info().shape),
      rows_(lengths_),
      versions_(lengths_.size()) {
  const std::uint64_t first = chunk_range(tensor.info().chunk_count(), peers.rank(), peers).begin;
  chunks_ = {chunks_.begin - first, chunks_.end - first};
  peers.send(peer, Message(MessageKind::begin).put(order).bytes());
}

RemoteWorker::~RemoteWorker() {
  try {
    peers_->send(peer_, Message(MessageKind::end).bytes());
    // After a failure, rows may still be on their way.
    while (receive().kind() != MessageKind::ended) {
    }
  } catch (...) {
    // Whoever ends the job because of that has told why.
  }
}

std::optional<PeerError> RemoteWorker::failure_of(ReceivedMessage& answer) {
  if (answer.kind() == MessageKind::done) return std::nullopt;
  const auto kind = answer.take<ErrorKind>();
  const std::vector<char> text = answer.take_rest<char>();
  return PeerError(kind, std::string(text.begin(), text.end()));
}

std::optional<PeerError> RemoteWorker::await_ready() {
  ReceivedMessage answer = receive();
  const std::optional<PeerError> failure = failure_of(answer);
  if (failure) return failure;
  reply_ = answer.take<PassReply>();
  rows_.set_words(answer.take_rest<std::uint64_t>());
  return std::nullopt;
}

void RemoteWorker::load_changed(const Rows& factors, ModeSet modes) {
  const auto columns = static_cast<std::size_t>(columns_);
  std::vector<double> numbers;
  for (std::size_t n = 0; n < lengths_.size(); ++n) {
    const int mode = static_cast<int>(n);
    const std::uint64_t version = factors.version(mode);
    if (!has_mode(modes, mode) || versions_[n] == version) continue;
    RowSender sender(*peers_, peer_, MessageKind::load, mode, columns_);
    for_each_message_block(0, lengths_[n], columns_, [&](const IndexRange& block) {
      if (!rows_.any(n, block)) return;
      numbers.resize(static_cast<std::size_t>(block.end - block.begin) * columns);
      factors.store_factor(mode, block.begin, numbers);
      rows_.for_each(n, block, [&](std::uint64_t row) {
        sender.add(row, std::span(numbers).subspan(static_cast<std::size_t>(row - block.begin) * columns, columns));
      });
    });
    sender.send();
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

std::optional<PeerError> RemoteWorker::await_pass() {
  ReceivedMessage answer = receive();
  std::optional<PeerError> failure = failure_of(answer);
  if (!failure) reply_ = answer.take<PassReply>();
  return failure;
}

bool RemoteWorker::add_rows(int mode, const IndexRange& block, std::span<double> numbers) {
  const auto columns = static_cast<std::size_t>(columns_);
  bool has_any = false;
  rows_.for_each(static_cast<std::size_t>(mode), block, [&](std::uint64_t row) {
    if (next_ == received_.size()) receive_rows(mode, row);
    double* const sum = numbers.data() + static_cast<std::size_t>(row - block.begin) * columns;
    for (std::size_t r = 0; r < columns; ++r) sum[r] += received_[next_++];
    has_any = true;
  });
  return has_any;
}

void RemoteWorker::receive_rows(int mode, std::uint64_t row) {
  ReceivedMessage message = receive();
  if (message.kind() == MessageKind::failed) throw *failure_of(message);
  const auto run = message.take<RowRun>();
  if (message.kind() != MessageKind::rows || run.mode != mode || run.first_row != row || run.count == 0) {
    throw Error(ErrorKind::io, peers_->name(peer_) + " has sent rows out of turn");
  }
  received_ = message.take<double>(static_cast<std::size_t>(run.count) * static_cast<std::size_t>(columns_));
  next_ = 0;
}

void RemoteWorker::drop_rows(ModeSet outputs) {
  std::vector<double> numbers;
  for (std::size_t n = 0; n < lengths_.size(); ++n) {
    if (!has_mode(outputs, static_cast<int>(n))) continue;
    for_each_message_block(0, lengths_[n], columns_, [&](const IndexRange& block) {
      numbers.resize(static_cast<std::size_t>(block.end - block.begin) * static_cast<std::size_t>(columns_));
      add_rows(static_cast<int>(n), block, numbers);
    });
  }
}

}  // namespace blco
