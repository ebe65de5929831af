// The tree of processes along which orders go down and answers come up (blco/peers.hpp), as one of them sees it.
#pragma once

#include <blco/peers.hpp>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/work/peer_messages.hpp"
#include "engine/work/rows/combining.hpp"
#include "engine/work/rows/in_step.hpp"

namespace blco {

// What went wrong in another process, whose name the message begins with.
class PeerError : public Error {
 public:
  using Error::Error;
};

class OrderTree {
 public:
  // `peers` must outlive this.
  explicit OrderTree(Peers& peers) : peers_(&peers), children_(children_of(peers.rank(), peers.size())) {}

  // For rank 0: sends an order to all others, does `own_part` here, and returns the numbers of all, combined in the
  // order of ranks. Throws what failed: here, or else first among the others.
  std::vector<double> order(Message& message, Combining combining,
                            const std::function<std::vector<double>()>& own_part) const;
  // The same of an order that nobody answers: what fails at another process is the answer to a later order.
  void post(Message& message, const std::function<std::vector<double>()>& own_part) const;

  // To the processes below this one. Throws Error{io} if a child cannot be reached, once the others have been told.
  void send_down(std::span<const std::byte> order) const;
  // Waits for the answers of all below, and combines their numbers with `numbers`, in the order of ranks. Returns the
  // first failure among them.
  std::optional<PeerError> gather(std::vector<double>& numbers, Combining combining) const;
  // Until an own part throws OutOfStep; from then on order() and post() throw it.
  bool is_in_step() const { return !out_of_step_; }

 private:
  void begin(Message& message) const;
  std::vector<double> here(const std::function<std::vector<double>()>& own_part) const;

  Peers* peers_;
  mutable std::optional<OutOfStep> out_of_step_;
  std::vector<int> children_;
};

// A job of rank 0 at its peers, which end it when this goes.
class JobAtPeers {
 public:
  // `peers` must outlive this.
  explicit JobAtPeers(Peers& peers) : tree_(peers) {}
  ~JobAtPeers();
  JobAtPeers(const JobAtPeers&) = delete;
  JobAtPeers& operator=(const JobAtPeers&) = delete;

  const OrderTree& tree() const { return tree_; }

 private:
  OrderTree tree_;
};

}  // namespace blco
