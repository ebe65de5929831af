#include "engine/fit/process_plans.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "blco/error.hpp"
#include "blco/refuse.hpp"
#include "engine/work/peer_messages.hpp"
#include "engine/work/touched_rows.hpp"

namespace blco {
namespace {

struct Traffic {
  std::uint64_t bytes = 0;
  std::uint64_t messages = 0;

  Traffic& operator+=(const Traffic& other) {
    bytes += other.bytes;
    messages += other.messages;
    return *this;
  }
};

// What parents and children send each other, of each process.
class TreeTraffic {
 public:
  TreeTraffic(const ChunkSource& tensor, const JobOrder& order, ModeSet updated, const DeclaredCluster& cluster,
              ThreadPool& pool)
      : tensor_(&tensor),
        order_(&order),
        updated_(updated),
        cluster_(&cluster),
        pool_(&pool),
        peers_(cluster, 0),
        of_process_(static_cast<std::size_t>(peers_.size())),
        to_parent_(of_process_.size()) {
    visit(0);
  }

  const std::vector<Traffic>& of_processes() const { return of_process_; }
  // Of the longest way down the tree.
  double seconds() const { return seconds_of(0); }

 private:
  // Returns the rows of the process's chunks and of those below it.
  TouchedRows visit(int rank) {
    const ChunkShare share(*tensor_, chunk_range(tensor_->info().chunk_count(), rank, peers_));
    TouchedRows rows = TouchedRows::of_nonzeros(share, *pool_);
    for (const int child : children_of(rank, peers_.size())) {
      const TouchedRows below = visit(child);
      const Traffic edge = between_parent_and(below);
      of_process_[static_cast<std::size_t>(rank)] += edge;
      of_process_[static_cast<std::size_t>(child)] += edge;
      to_parent_[static_cast<std::size_t>(child)] = edge;
      rows.add(below);
    }
    return rows;
  }

  Traffic between_parent_and(const TouchedRows& rows) const {
    constexpr std::uint64_t pass_bytes = 2 * sizeof(MessageKind) + sizeof(PassOrder) + sizeof(PassReply);
    const auto columns = static_cast<std::uint64_t>(order_->columns);
    const auto passes = order_->all_outputs ? 1 : static_cast<std::uint64_t>(std::popcount(updated_));
    // The MTTKRP of the one mode that changes does not read it.
    const std::uint64_t ways = passes == 1 && !order_->loss_passes && !order_->all_outputs ? 1 : 2;
    Traffic traffic{passes * pass_bytes, passes * 2};
    for (std::size_t mode = 0; mode < tensor_->info().shape.size(); ++mode) {
      if (!has_mode(updated_, static_cast<int>(mode)) && !order_->all_outputs) continue;
      const std::uint64_t count = rows.count(mode);
      const std::uint64_t block = rows_of_message(order_->columns);
      const std::uint64_t messages = (count + block - 1) / block;
      traffic.messages += ways * messages;
      traffic.bytes += ways * (messages * (sizeof(MessageKind) + sizeof(RowRun)) + count * columns * sizeof(double));
    }
    return traffic;
  }

  double seconds_of(int rank) const {
    double own = 0;
    double below = 0;
    for (const int child : children_of(rank, peers_.size())) {
      const Traffic& edge = to_parent_[static_cast<std::size_t>(child)];
      if (child / peers_.neighbours() != rank / peers_.neighbours()) {
        own += static_cast<double>(edge.bytes) / cluster_->network_bytes_per_second +
               static_cast<double>(edge.messages) * cluster_->message_seconds;
      }
      below = std::max(below, seconds_of(child));
    }
    return own + below;
  }

  const ChunkSource* tensor_;
  const JobOrder* order_;
  ModeSet updated_;
  const DeclaredCluster* cluster_;
  ThreadPool* pool_;
  DeclaredPeers peers_;
  std::vector<Traffic> of_process_;
  std::vector<Traffic> to_parent_;
};

std::vector<CpdPlan> plans_of(const Tensor& tensor, const Job& first, Compute compute, const DeclaredCluster& cluster,
                              const DeclaredGpu* gpu) {
  std::vector<CpdPlan> plans = {first.describe()};
  plans[0].link_bytes_per_pass += plans[0].row_bytes_per_pass;
  const JobNeeds needs = needs_of(tensor, first.order());
  for (int rank = 1; rank < compute.peers->size(); ++rank) {
    DeclaredPeers peers(cluster, rank);
    Compute own = compute;
    own.peers = &peers;
    try {
      plans.push_back(Job(tensor, own, needs, gpu).describe());
      plans.back().link_bytes_per_pass += plans.back().row_bytes_per_pass;
    } catch (const Error& error) {
      throw Error(error.kind(), peers.name(rank) + ": " + error.what());
    }
  }
  return plans;
}

template <class Item, class Number>
Spread spread_of(const std::vector<Item>& items, Number Item::*number) {
  Spread spread;
  for (const Item& item : items) {
    spread.largest = std::max(spread.largest, item.*number);
    spread.mean += static_cast<double>(item.*number) / static_cast<double>(items.size());
  }
  return spread;
}

}  // namespace

void DeclaredPeers::send(int, std::span<const std::byte>) { refuse("a declared cluster only plans"); }

std::vector<std::byte> DeclaredPeers::receive(int) { refuse("a declared cluster only plans"); }

ClusterPlan plan_processes(const Tensor& tensor, Job& first, const Compute& compute, ModeSet updated,
                           const DeclaredCluster& cluster, const DeclaredGpu* gpu) {
  const std::vector<CpdPlan> plans = plans_of(tensor, first, compute, cluster, gpu);
  const JobOrder order = first.order();
  const TreeTraffic traffic(TensorChunks::of(tensor), order, updated, cluster, first.pool());

  ClusterPlan plan;
  plan.processes = static_cast<int>(plans.size());
  plan.chunks = spread_of(plans, &CpdPlan::chunk_count);
  plan.host_bytes = spread_of(plans, &CpdPlan::planned_bytes);
  plan.device_bytes = spread_of(plans, &CpdPlan::device_planned_bytes);
  plan.disk_bytes_per_pass = spread_of(plans, &CpdPlan::disk_bytes_per_pass);
  plan.link_bytes_per_pass = spread_of(plans, &CpdPlan::link_bytes_per_pass);
  plan.column_slabs = std::ranges::max(plans, {}, &CpdPlan::column_slabs).column_slabs;
  plan.is_of_pass = order.all_outputs;
  plan.network_bytes = spread_of(traffic.of_processes(), &Traffic::bytes);
  plan.messages = spread_of(traffic.of_processes(), &Traffic::messages);
  plan.network_seconds = traffic.seconds();
  return plan;
}

}  // namespace blco
