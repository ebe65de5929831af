// Plans for processes on machines that are not here: what each of them needs, and what they send each other.
#pragma once

#include <blco/cpd.hpp>
#include <cstdint>

namespace blco {

// 1 to 4096 processes in all. The defaults are those of a network of 100 Gbit/s.
struct DeclaredCluster {
  int nodes = 1;               // machines, at least 1
  int processes_per_node = 1;  // at least 1; each on a GPU of its own if one is declared, else where Compute says
  double network_bytes_per_second = 12.5e9;  // of a node
  double message_seconds = 5e-6;             // of a message between nodes, beside its bytes
};

// Over the processes.
struct Spread {
  std::uint64_t largest = 0;
  double mean = 0;
};

struct ClusterPlan {
  int processes = 1;
  Spread chunks;
  Spread host_bytes;    // CpdPlan::planned_bytes; the budget is of each process
  Spread device_bytes;  // CpdPlan::device_planned_bytes
  Spread disk_bytes_per_pass;
  Spread link_bytes_per_pass;  // of factors and outputs too, where column_slabs is above 1
  int column_slabs = 1;        // the most of a process (CpdPlan::column_slabs)
  // What a process sends and receives once all have the factors: for GcpMethod and GcpAdamMethod in one pass
  // (is_of_pass), for the other methods in a sweep with one pass for each mode that is not held. A sweep of AprMethod
  // or CompletionMethod makes several passes for each mode. The numbers are counts, not estimates, except for AlsMethod
  // with constraints on some of the modes, which sends the rows of one mode again.
  bool is_of_pass = false;
  Spread network_bytes;
  Spread messages;
  // An estimate of the time that these messages take: each process exchanges with its children on other nodes one after
  // the other, and then each child does so with its own children; the longest way down the tree of processes counts.
  double network_seconds = 0;
};

// The plans that fit_cpd would make with so many processes. Compute::memory is that of each process, by default its
// part of this machine's memory. Reads the tensor once. Throws Error as plan_cpd does, and invalid_argument for a
// cluster that cannot be; out_of_memory names the process if it is not the first.
ClusterPlan plan_cluster(const Tensor& tensor, const CpdOptions& options, const DeclaredCluster& cluster,
                         const DeclaredGpu* gpu = nullptr);

}  // namespace blco
