// Peers that are threads of this process.
#pragma once

#include <blco/peers.hpp>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace blco {

// What has been sent from each to each, and counts of it.
class Mailboxes {
 public:
  void put(int from, int to, std::span<const std::byte> message) {
    const std::lock_guard lock(mutex_);
    boxes_[{from, to}].emplace_back(message.begin(), message.end());
    // Rank 0 is on one end of each.
    Traffic& traffic = traffic_[from + to];
    traffic.bytes += message.size();
    ++traffic.messages;
    arrived_.notify_all();
  }
  std::vector<std::byte> take(int from, int to) {
    std::unique_lock lock(mutex_);
    auto& box = boxes_[{from, to}];
    arrived_.wait(lock, [&] { return !box.empty(); });
    std::vector<std::byte> message = std::move(box.front());
    box.pop_front();
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
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> boxes_;
  std::map<int, Traffic> traffic_;
};

class ThreadPeer final : public Peers {
 public:
  ThreadPeer(Mailboxes& mail, int rank, int size) : mail_(&mail), rank_(rank), size_(size) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int neighbours() const override { return size_; }
  void send(int to, std::span<const std::byte> message) override { mail_->put(rank_, to, message); }
  std::vector<std::byte> receive(int from) override { return mail_->take(from, rank_); }

 private:
  Mailboxes* mail_;
  int rank_;
  int size_;
};

// Serves by threads of their own as long as it lives; lead() is the rank 0 for the jobs of the thread that made it.
class ServingThreads {
 public:
  ServingThreads(const Tensor& tensor, int size, const Compute& compute = {}) : lead_(mail_, 0, size) {
    for (int rank = 1; rank < size; ++rank) {
      threads_.emplace_back([this, &tensor, compute, rank, size] {
        ThreadPeer peer(mail_, rank, size);
        serve([&]() -> const Tensor& { return tensor; }, compute, peer);
      });
    }
  }
  ~ServingThreads() {
    dismiss(lead_);
    for (std::thread& thread : threads_) thread.join();
  }
  ServingThreads(const ServingThreads&) = delete;
  ServingThreads& operator=(const ServingThreads&) = delete;

  Peers& lead() { return lead_; }
  const Mailboxes& mail() const { return mail_; }

 private:
  Mailboxes mail_;
  ThreadPeer lead_;
  std::vector<std::thread> threads_;
};

}  // namespace blco
