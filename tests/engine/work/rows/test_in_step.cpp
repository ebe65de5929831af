// A worker that cannot take part in an exchange, while others wait for it: all end, with its message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/cpd.hpp>
#include <blco/generate.hpp>
#include <blco/tensor_file.hpp>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/work/serving_threads.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

// Has no memory left for the exchange of that number, from 1 on; 0: has enough.
class ShortOfMemory final : public Peers {
 public:
  ShortOfMemory(Peers& inner, int fails_at) : inner_(&inner), fails_at_(fails_at) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  int neighbours() const override { return size(); }
  std::string name(int rank) const override { return inner_->name(rank); }
  void send(int to, std::span<const std::byte> message) override { inner_->send(to, message); }
  std::vector<std::byte> receive(int from) override { return inner_->receive(from); }
  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in, const TakeMessage& take) override {
    if (++exchanges_ == fails_at_) throw std::bad_alloc();
    inner_->exchange(out, in, take);
  }
  void leave(const Error& why) override { inner_->leave(why); }

 private:
  Peers* inner_;
  int fails_at_;
  int exchanges_ = 0;
};

TEST(InStep, EndsAllWhenOneHasNoMemoryForAnExchange) {
  const TemporaryFolder folder;
  generate_container({.shape = {50, 60, 70}, .nnz = 5000, .seed = 2}, folder / "in.blco", {.chunk_nnz = 500});
  const TensorFile tensor(folder / "in.blco");
  constexpr int size = 3;
  for (int failing = 0; failing < size; ++failing) {
    // Which rows are touched; rows that rank 0 loads, and that it reads at the end; rows of passes.
    for (const int exchange : {1, 2, 4, 9, 12}) {
      SCOPED_TRACE(std::to_string(failing) + " fails at " + std::to_string(exchange));
      std::vector<std::unique_ptr<ShortOfMemory>> peers;
      std::vector<ThreadWorker> workers;
      for (int rank = 0; rank < size; ++rank) {
        workers.push_back({.compute = {.threads = 1}, .name = "worker " + std::to_string(rank)});
      }
      ServingThreads threads(std::move(workers));
      for (std::size_t rank = 0; rank < threads.size(); ++rank) {
        Compute& compute = threads.compute(rank);
        const bool fails = static_cast<int>(rank) == failing;
        peers.push_back(std::make_unique<ShortOfMemory>(*compute.peers, fails ? exchange : 0));
        compute.peers = peers.back().get();
      }
      threads.serve(tensor);
      try {
        fit_cpd(tensor, {.rank = 4, .max_sweeps = 3, .compute = {.peers = peers[0].get()}});
        FAIL() << "must end";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::io);
        EXPECT_EQ(error.what(), "worker " + std::to_string(failing) + ": the system has no more memory");
      }
    }
  }
}

}  // namespace
}  // namespace blco
