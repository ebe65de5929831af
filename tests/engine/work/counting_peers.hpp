// Workers in threads of this process that serve as processes do, and counts of what goes to and from rank 0.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/work/serving_threads.hpp"

namespace blco {

class CountingPeers final : public Peers {
 public:
  // For the thread that makes it, rank 0 of `size`; the others compute by `compute`.
  CountingPeers(const Tensor& tensor, int size, const Compute& compute = {}) : threads_(workers_of(size, compute)) {
    threads_.serve(tensor);
  }

  int rank() const override { return 0; }
  int size() const override { return static_cast<int>(threads_.size()); }
  int neighbours() const override { return size(); }
  void send(int to, std::span<const std::byte> message) override {
    count(to, message.size());
    threads_.lead().send(to, message);
  }
  std::vector<std::byte> receive(int from) override {
    std::vector<std::byte> message = threads_.lead().receive(from);
    count(from, message.size());
    return message;
  }

  // To and from each rank but 0.
  struct Traffic {
    std::size_t bytes = 0;
    std::size_t messages = 0;
  };
  const std::map<int, Traffic>& traffic() const { return traffic_; }
  Traffic total() const {
    Traffic sum;
    for (const auto& [rank, of_rank] : traffic_) {
      sum.bytes += of_rank.bytes;
      sum.messages += of_rank.messages;
    }
    return sum;
  }

 private:
  static std::vector<ThreadWorker> workers_of(int size, const Compute& compute) {
    std::vector<ThreadWorker> workers;
    for (int rank = 0; rank < size; ++rank) workers.push_back({.compute = compute, .name = {}});
    return workers;
  }
  void count(int rank, std::size_t bytes) {
    traffic_[rank].bytes += bytes;
    ++traffic_[rank].messages;
  }

  ServingThreads threads_;
  std::map<int, Traffic> traffic_;
};

}  // namespace blco
