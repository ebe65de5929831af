// Several processes at one job: each has the factors and a share of the tensor's chunks, and rank 0 leads.
//
// Rank 0 calls fit_cpd(), or another function that has Compute::peers; all others call serve(), which computes what
// rank 0 asks for. A pass adds up the nonzeros of each share where it lies; the sums go up a binomial tree of the
// ranks, each process adding those of its children to its own in the order of ranks, and rank 0 updates the factors,
// whose rows go down the tree. So methods, stops, checkpoints and errors are those of one process.
#pragma once

#include <algorithm>
#include <blco/compute.hpp>
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
  // Messages from one process to another arrive in the order in which they are sent. They go along the tree alone.
  virtual void send(int to, std::span<const std::byte> message) = 0;
  // Waits for the next message.
  virtual std::vector<std::byte> receive(int from) = 0;
};

// For ranks above 0: computes for rank 0 until it calls dismiss(). open() gives the tensor that all ranks see; it is
// called for the first job, and the tensor must outlive the call. `compute` gives memory, threads and device of this
// process; its other options come from rank 0. Throws Error{io} if its parent cannot be reached, or at the end a child;
// any other failure is thrown at rank 0.
void serve(const std::function<const Tensor&()>& open, const Compute& compute, Peers& peers);

// For rank 0, after its last job: the others' serve() returns. Throws Error{io} if a child cannot be reached, once the
// others have been told.
void dismiss(Peers& peers);

}  // namespace blco
