// Plans of all processes of a declared cluster.
#pragma once

#include <blco/cluster.hpp>
#include <blco/peers.hpp>

#include "engine/work/job.hpp"

namespace blco {

// One of the processes, which sends nothing.
class DeclaredPeers final : public Peers {
 public:
  DeclaredPeers(const DeclaredCluster& cluster, int rank)
      : rank_(rank), neighbours_(cluster.processes_per_node), size_(cluster.nodes * neighbours_) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int neighbours() const override { return neighbours_; }
  void send(int to, std::span<const std::byte> message) override;
  std::vector<std::byte> receive(int from) override;

 private:
  int rank_;
  int neighbours_;
  int size_;
};

// `first` is the job of rank 0 by `compute`, whose peers are DeclaredPeers. `updated`: the modes whose factors change.
ClusterPlan plan_processes(const Tensor& tensor, Job& first, const Compute& compute, ModeSet updated,
                           const DeclaredCluster& cluster, const DeclaredGpu* gpu);

}  // namespace blco
