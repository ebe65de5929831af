// Peers by MPI, a module of its own: only processes that an MPI launcher has started load it, so the programs run where
// no MPI is.
//
// MPI waits by polling, which takes a processor; here a wait sleeps soon. A process that is stopped, or whose machine
// is gone, must not make the others wait for ever: all but rank 0 say each second that they are there.
#include "tools/mpi/mpi_peers.hpp"

#include <mpi.h>

#include <array>
#include <atomic>
#include <blco/error.hpp>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace blco {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int data_tag = 0;
constexpr int alive_tag = 1;
constexpr auto between_signs_of_life = std::chrono::seconds(1);

class MpiPeers final : public Peers {
 public:
  explicit MpiPeers(double timeout_seconds) : timeout_(timeout_seconds) {
    int provided = 0;
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS) {
      throw Error(ErrorKind::io, "MPI could not start");
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    if (provided < MPI_THREAD_SERIALIZED) {
      throw Error(ErrorKind::io,
                  "this MPI lets one thread of a process call it only; install one with MPI_THREAD_SERIALIZED");
    }
    MPI_Comm of_machine = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &of_machine);
    MPI_Comm_size(of_machine, &neighbours_);
    MPI_Comm_free(&of_machine);
    machines_.resize(static_cast<std::size_t>(size_));
    std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
    int length = 0;
    MPI_Get_processor_name(name.data(), &length);
    MPI_Allgather(name.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR, machines_.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR,
                  MPI_COMM_WORLD);
    if (rank_ != 0) signs_of_life_ = std::thread([this] { show_life(); });
  }

  ~MpiPeers() override {
    ends_ = true;
    if (signs_of_life_.joinable()) signs_of_life_.join();
    MPI_Finalize();
  }
  MpiPeers(const MpiPeers&) = delete;
  MpiPeers& operator=(const MpiPeers&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int neighbours() const override { return neighbours_; }

  void send(int to, std::span<const std::byte> message) override {
    MPI_Request request = MPI_REQUEST_NULL;
    {
      const std::lock_guard lock(mutex_);
      MPI_Isend(message.data(), static_cast<int>(message.size()), MPI_BYTE, to, data_tag, MPI_COMM_WORLD, &request);
    }
    wait_for(request, to);
  }

  std::vector<std::byte> receive(int from) override {
    MPI_Message found = MPI_MESSAGE_NULL;
    int bytes = 0;
    wait(from, [&] {
      int is_there = 0;
      MPI_Status status;
      MPI_Improbe(from, data_tag, MPI_COMM_WORLD, &is_there, &found, &status);
      if (is_there != 0) MPI_Get_count(&status, MPI_BYTE, &bytes);
      return is_there != 0;
    });
    std::vector<std::byte> message(static_cast<std::size_t>(bytes));
    MPI_Request request = MPI_REQUEST_NULL;
    {
      const std::lock_guard lock(mutex_);
      MPI_Imrecv(message.data(), bytes, MPI_BYTE, &found, &request);
    }
    wait_for(request, from);
    return message;
  }

 private:
  using MachineName = std::array<char, MPI_MAX_PROCESSOR_NAME>;

  void wait_for(MPI_Request& request, int peer) {
    wait(peer, [&] {
      int is_done = 0;
      MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
      return is_done != 0;
    });
  }

  // Until is_done(), which calls MPI. Throws Error{io} once the peer has shown no life for so long.
  template <class IsDone>
  void wait(int peer, const IsDone& is_done) {
    constexpr int eager_polls = 200;
    Clock::time_point last_sign = Clock::now();
    for (int poll = 0;; ++poll) {
      {
        const std::lock_guard lock(mutex_);
        if (is_done()) return;
        if (rank_ == 0 && has_shown_life(peer)) last_sign = Clock::now();
      }
      if (rank_ == 0 && std::chrono::duration<double>(Clock::now() - last_sign).count() > timeout_) {
        throw Error(ErrorKind::io, "process " + std::to_string(peer) + " of " + std::to_string(size_) + ", on " +
                                       machines_[static_cast<std::size_t>(peer)].data() + ", has shown no life for " +
                                       std::to_string(static_cast<int>(timeout_)) +
                                       " seconds: it is stopped, or its machine cannot be reached");
      }
      if (poll < eager_polls) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    }
  }

  static bool has_shown_life(int peer) {
    bool has_sign = false;
    for (int is_there = 1; is_there != 0;) {
      MPI_Iprobe(peer, alive_tag, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
      if (is_there == 0) break;
      MPI_Recv(nullptr, 0, MPI_BYTE, peer, alive_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      has_sign = true;
    }
    return has_sign;
  }

  void show_life() {
    for (Clock::time_point next = Clock::now(); !ends_; std::this_thread::sleep_for(std::chrono::milliseconds(50))) {
      if (Clock::now() < next) continue;
      next += between_signs_of_life;
      const std::lock_guard lock(mutex_);
      MPI_Send(nullptr, 0, MPI_BYTE, 0, alive_tag, MPI_COMM_WORLD);
    }
  }

  double timeout_;
  int rank_ = 0;
  int size_ = 1;
  int neighbours_ = 1;
  std::vector<MachineName> machines_;
  std::mutex mutex_;  // of all calls of MPI
  std::atomic<bool> ends_ = false;
  std::thread signs_of_life_;  // not of rank 0
};

}  // namespace
}  // namespace blco

extern "C" blco::Peers* blco_join_mpi(double timeout_seconds) { return new blco::MpiPeers(timeout_seconds); }
extern "C" void blco_leave_mpi(blco::Peers* peers) { delete peers; }
extern "C" void blco_abort_mpi(int exit_code) { MPI_Abort(MPI_COMM_WORLD, exit_code); }
