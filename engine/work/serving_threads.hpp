// Workers that are threads of this process: peers that pass their messages through memory.
#pragma once

#include <blco/peers.hpp>
#include <blco/tensor.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/stream/chunk_queue.hpp"

namespace blco {

struct ThreadWorker {
  Compute compute;
  std::string name;  // in messages
  double share = 1;  // of the chunks, beside the others'
  std::optional<int> gpu = {};
};

class ServingThreads {
 public:
  // The first of the workers leads, in the thread that asks for a job.
  explicit ServingThreads(std::vector<ThreadWorker> workers);
  // Ends them.
  ~ServingThreads();
  ServingThreads(const ServingThreads&) = delete;
  ServingThreads& operator=(const ServingThreads&) = delete;

  // Starts the others, unless they have been started. `tensor` must outlive this.
  void serve(const Tensor& tensor);

  std::size_t size() const { return workers_.size(); }
  // Its `peers` is the worker's own. What changes before the start takes effect.
  Compute& compute(std::size_t rank) { return workers_[rank].compute; }
  const std::string& name(std::size_t rank) const { return workers_[rank].name; }
  Peers& lead() { return *workers_[0].compute.peers; }

  // How many messages on their way to a worker there are at most: one is written while another is read.
  static constexpr std::size_t messages_on_their_way = 2;

 private:
  class Mail;
  class Peer;

  std::vector<ThreadWorker> workers_;
  std::unique_ptr<Mail> mail_;
  ChunkQueue queue_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::vector<std::thread> threads_;
};

}  // namespace blco
