// A worker in another process, and all below it, as its parent sees them.
#pragma once

#include <blco/peers.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/work/chunk_share.hpp"
#include "engine/work/peer_messages.hpp"
#include "engine/work/touched_rows.hpp"
#include "io/container/chunk_source.hpp"
#include "kernels/rows.hpp"

namespace blco {

// What went wrong in another process, whose name the message begins with.
class PeerError : public Error {
 public:
  using Error::Error;
};

class RemoteWorker {
 public:
  // Begins a job there. Arguments must outlive this.
  RemoteWorker(Peers& peers, int peer, const ChunkSource& tensor, const JobOrder& order);
  // Waits until the job has ended there too.
  ~RemoteWorker();
  RemoteWorker(const RemoteWorker&) = delete;
  RemoteWorker& operator=(const RemoteWorker&) = delete;

  // Returns what keeps it from that, if anything.
  std::optional<PeerError> await_ready();
  // Those that its chunks, and the chunks below it, have.
  const TouchedRows& rows() const { return rows_; }
  // Sends them, of modes that have changed since.
  void load_changed(const Rows& factors, ModeSet modes);
  // Begins a pass over its share of the tensor, or of `chunks`, numbered from the parent's first one on.
  void begin_pass(const PassOrder& order, std::span<const std::uint64_t> chunks);
  // Waits for the end of its pass. Returns what went wrong there, if anything.
  std::optional<PeerError> await_pass();
  // Adds its rows of the next block to `numbers`, which are those of the block. Returns whether it has any.
  bool add_rows(int mode, const IndexRange& block, std::span<double> numbers);
  // Receives its rows and forgets them.
  void drop_rows(ModeSet outputs);

  double sum_of_terms() const { return reply_.sum_of_terms; }
  std::uint64_t bytes_read() const { return reply_.bytes_read; }

 private:
  ReceivedMessage receive() { return ReceivedMessage(peers_->receive(peer_)); }
  void receive_rows(int mode, std::uint64_t row);
  // What an answer other than `done` says.
  static std::optional<PeerError> failure_of(ReceivedMessage& answer);

  Peers* peers_;
  int peer_;
  int columns_;
  IndexRange chunks_;  // numbered from the parent's first one on
  std::vector<std::uint64_t> lengths_;
  TouchedRows rows_;
  std::vector<std::optional<std::uint64_t>> versions_;  // of the factors as it has them
  PassReply reply_;
  std::vector<double> received_;  // rows, from the next one on not yet added
  std::size_t next_ = 0;
};

}  // namespace blco
