// Several processes at one job: each has a share of the tensor's chunks and owns a part of each factor's rows, and rank
// 0 leads.
//
// Rank 0 calls fit_cpd(), or another function that has Compute::peers; all others call serve(), which computes what
// rank 0 asks for. A pass adds up the nonzeros of each share where it lies. The sums of a row go to the process that
// owns the row, which adds them in the order of ranks and updates the row; the new row goes to the processes whose
// chunks have it. What rank 0 asks for goes down a binomial tree of the ranks, and numbers come up; nobody waits for an
// answer without any, and what fails is the answer to a later order. So methods, stops, checkpoints and errors are
// those of one process.
#pragma once

#include <algorithm>
#include <bit>
#include <blco/compute.hpp>
#include <blco/error.hpp>
#include <blco/tensor.hpp>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace blco {

// Who talks with whom; 0 <= rank < size. A process and all below it have consecutive ranks, from its own to
// subtree_end() - 1. The parent of 0 is 0. Children ascend.
inline int parent_of(int rank) { return rank & (rank - 1); }
inline int subtree_end(int rank, int size) { return rank == 0 ? size : std::min(size, rank + (rank & -rank)); }
inline std::vector<int> children_of(int rank, int size) {
  std::vector<int> children;
  for (int step = 1; rank + step < subtree_end(rank, size); step *= 2) children.push_back(rank + step);
  return children;
}

// What a process sends to a peer in an exchange, and how much it receives from one.
struct Outgoing {
  int peer = 0;
  std::span<const std::byte> message;
};
struct Incoming {
  int peer = 0;
  std::size_t bytes = 0;
  std::span<std::byte> room = {};  // for as many, which a transport may use; or none
};
// Called with the place of a message among those that come in.
using TakeMessage = std::function<void(std::size_t, std::span<const std::byte>)>;

class ChunkQueue;

// How the processes reach each other. All functions are called from one thread, and throw Error{io} if a peer cannot be
// reached.
class Peers {
 public:
  virtual ~Peers() = default;

  virtual int rank() const = 0;  // of this process
  virtual int size() const = 0;
  // How many processes run on this machine, this one included: by default they share its memory evenly.
  virtual int neighbours() const = 0;
  // How many processes may run on the processors of this one, this one included: neighbours() unless a launcher has
  // parted the processors among them.
  virtual int processor_sharers() const { return neighbours(); }
  // How many processes see the GPUs that this one sees, this one included, and the number of this one among them, from
  // 0: they take the GPUs in turn. neighbours() unless a launcher has parted the GPUs among them.
  virtual int gpu_sharers() const { return neighbours(); }
  virtual int gpu_rank() const { return rank() % gpu_sharers(); }
  // How many of the chunks a process takes, beside the others.
  virtual double share(int /*rank*/) const { return 1; }
  // What messages call a process.
  virtual std::string name(int rank) const {
    return "process " + std::to_string(rank) + " of " + std::to_string(size());
  }
  // Messages from one process to another arrive in the order in which they are sent. send() may wait until the peer
  // receives.
  virtual void send(int to, std::span<const std::byte> message) = 0;
  // Waits for the next message.
  virtual std::vector<std::byte> receive(int from) = 0;
  // Sends all of `out`, waits for all of `in`, at most one of each per peer, and calls take() for each message in the
  // order of `in`. All processes come to their exchanges in the same order; a process that has nothing to send or to
  // receive may leave one out. Both sides know the lengths: throws Error{io} for another one. By default pairs of
  // processes take turns with send() and receive().
  virtual void exchange(std::span<const Outgoing> out, std::span<const Incoming> in, const TakeMessage& take);

  // This process can no longer take part in exchanges, for which the others wait: has their waits fail, if they are
  // threads of this process. Processes are ended by whoever started them.
  virtual void leave(const Error& /*why*/) {}

  // Of the library's own: what workers of one process share.
  virtual ChunkQueue* chunk_queue() { return nullptr; }

 protected:
  // Throws Error{io} for a message of another length than is expected.
  void check_length(const Incoming& expected, std::size_t bytes) const;
};

// In each turn every process has one partner, so that no process waits for one that waits for another: whoever waits in
// a turn waits for a process in the same turn or in an earlier one.
inline void Peers::exchange(std::span<const Outgoing> out, std::span<const Incoming> in, const TakeMessage& take) {
  std::vector<std::vector<std::byte>> messages(in.size());
  const auto turns = std::bit_ceil(static_cast<unsigned>(size()));
  for (unsigned turn = 1; turn < turns; ++turn) {
    const int partner = static_cast<int>(static_cast<unsigned>(rank()) ^ turn);
    const auto to = std::ranges::find(out, partner, &Outgoing::peer);
    const auto from = std::ranges::find(in, partner, &Incoming::peer);
    if (rank() < partner && to != out.end()) send(partner, to->message);
    if (from != in.end()) messages[static_cast<std::size_t>(from - in.begin())] = receive(partner);
    if (rank() > partner && to != out.end()) send(partner, to->message);
  }
  for (std::size_t i = 0; i < in.size(); ++i) {
    check_length(in[i], messages[i].size());
    take(i, messages[i]);
  }
}

inline void Peers::check_length(const Incoming& expected, std::size_t bytes) const {
  if (bytes == expected.bytes) return;
  throw Error(ErrorKind::io, name(expected.peer) + " has sent " + std::to_string(bytes) + " bytes in place of " +
                                 std::to_string(expected.bytes) + "; all processes must be of one build");
}

// For ranks above 0: computes for rank 0 until it calls dismiss(). open() gives the tensor that all ranks see; it is
// called for the first job, and the tensor must outlive the call. `compute` gives memory, threads and device of this
// process; its other options come from rank 0. Throws Error{io} if its parent cannot be reached, or at the end a child,
// or if this process cannot take part in an exchange: then end the others, who wait for it. Any other failure is thrown
// at rank 0.
void serve(const std::function<const Tensor&()>& open, const Compute& compute, Peers& peers);

// For rank 0, after its last job: the others' serve() returns. Throws Error{io} if a child cannot be reached, once the
// others have been told.
void dismiss(Peers& peers);

}  // namespace blco
