// Workers in threads of this process that serve as processes do, and counts of what each sends and receives.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/work/serving_threads.hpp"

namespace blco {

// Of a process: what it sends and receives.
struct Traffic {
  std::size_t bytes = 0;
  std::size_t messages = 0;
};

class CountingPeers final : public Peers {
 public:
  // For the thread that makes it, rank 0 of `size`; the others compute by `compute`.
  CountingPeers(const Tensor& tensor, int size, const Compute& compute = {}) : threads_(workers_of(size, compute)) {
    for (std::size_t rank = 0; rank < threads_.size(); ++rank) {
      Compute& own = threads_.compute(rank);
      counted_.push_back(std::make_unique<Counted>(*own.peers));
      own.peers = counted_.back().get();
    }
    threads_.serve(tensor);
  }

  int rank() const override { return 0; }
  int size() const override { return static_cast<int>(threads_.size()); }
  int neighbours() const override { return size(); }
  void send(int to, std::span<const std::byte> message) override { counted_[0]->send(to, message); }
  std::vector<std::byte> receive(int from) override { return counted_[0]->receive(from); }

  // Of each process, while no job is at work.
  std::vector<Traffic> traffic() const {
    std::vector<Traffic> list;
    for (const auto& counted : counted_) list.push_back(counted->traffic);
    return list;
  }

 private:
  // Of one thread, whose name is that of a process.
  struct Counted final : Peers {
    explicit Counted(Peers& peers) : inner(&peers) {}

    int rank() const override { return inner->rank(); }
    int size() const override { return inner->size(); }
    int neighbours() const override { return inner->neighbours(); }
    void send(int to, std::span<const std::byte> message) override {
      count(message.size());
      inner->send(to, message);
    }
    std::vector<std::byte> receive(int from) override {
      std::vector<std::byte> message = inner->receive(from);
      count(message.size());
      return message;
    }
    void count(std::size_t bytes) {
      traffic.bytes += bytes;
      ++traffic.messages;
    }

    Peers* inner;
    Traffic traffic;
  };

  static std::vector<ThreadWorker> workers_of(int size, const Compute& compute) {
    std::vector<ThreadWorker> workers;
    for (int rank = 0; rank < size; ++rank) workers.push_back({.compute = compute, .name = {}});
    return workers;
  }

  std::vector<std::unique_ptr<Counted>> counted_;
  ServingThreads threads_;
};

}  // namespace blco
