// Peers by MPI, a module of its own: only processes that an MPI launcher has started load it, so the programs run where
// no MPI is.
//
// MPI waits by polling, which takes a processor; here a wait polls for some milliseconds where processes have processors
// of their own, and then sleeps. A process that is stopped, or whose machine is gone, must not make the others wait for
// ever: each says every second that it is there.
#include "tools/mpi/mpi_peers.hpp"

#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <blco/error.hpp>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace blco {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int data_tag = 0;
constexpr int alive_tag = 1;
constexpr int exchange_tag = 2;
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
      MPI_Finalize();
      throw Error(ErrorKind::io,
                  "this MPI lets one thread of a process call it only; install one with MPI_THREAD_SERIALIZED");
    }
    look_at_machine();
    signs_.assign(static_cast<std::size_t>(size_), MPI_REQUEST_NULL);
    last_signs_.assign(static_cast<std::size_t>(size_), Clock::now());
    signs_of_life_ = std::thread([this] { show_life(); });
  }

  // All processes come here, unless one is lost, when the job is aborted.
  ~MpiPeers() override {
    ends_ = true;
    signs_of_life_.join();
    MPI_Barrier(MPI_COMM_WORLD);
    take_signs();
    MPI_Finalize();
  }
  MpiPeers(const MpiPeers&) = delete;
  MpiPeers& operator=(const MpiPeers&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int neighbours() const override { return neighbours_; }
  int processor_sharers() const override { return processor_sharers_; }
  int gpu_sharers() const override { return gpu_sharers_; }
  int gpu_rank() const override { return gpu_rank_; }

  void send(int to, std::span<const std::byte> message) override {
    const int bytes = length_of(message.size());
    MPI_Request request = MPI_REQUEST_NULL;
    {
      const std::lock_guard lock(mutex_);
      MPI_Isend(message.data(), bytes, MPI_BYTE, to, data_tag, MPI_COMM_WORLD, &request);
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

  // All at once, in whatever order MPI finds best.
  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in, const TakeMessage& take) override {
    std::vector<MPI_Request> sent(out.size(), MPI_REQUEST_NULL);
    std::vector<MPI_Request> received(in.size(), MPI_REQUEST_NULL);
    std::vector<std::vector<std::byte>> rooms;  // of messages that have none
    std::vector<std::span<std::byte>> messages;
    for (const Incoming& from : in) {
      if (from.room.empty()) rooms.emplace_back(from.bytes);
      messages.push_back(from.room.empty() ? std::span(rooms.back()) : from.room);
      length_of(from.bytes);
    }
    for (const Outgoing& to : out) length_of(to.message.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      const int bytes = length_of(in[i].bytes);
      const std::lock_guard lock(mutex_);
      MPI_Irecv(messages[i].data(), bytes, MPI_BYTE, in[i].peer, exchange_tag, MPI_COMM_WORLD, &received[i]);
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      const int bytes = length_of(out[i].message.size());
      const std::lock_guard lock(mutex_);
      MPI_Isend(out[i].message.data(), bytes, MPI_BYTE, out[i].peer, exchange_tag, MPI_COMM_WORLD, &sent[i]);
    }
    std::exception_ptr failure;  // which leaves nothing on its way
    for (std::size_t i = 0; i < in.size(); ++i) {
      MPI_Status status;
      wait_for(received[i], in[i].peer, &status);
      int bytes = 0;
      MPI_Get_count(&status, MPI_BYTE, &bytes);
      try {
        check_length(in[i], static_cast<std::size_t>(bytes));
        if (!failure) take(i, messages[i]);
      } catch (...) {
        failure = std::current_exception();
      }
    }
    for (std::size_t i = 0; i < out.size(); ++i) wait_for(sent[i], out[i].peer);
    if (failure) std::rethrow_exception(failure);
  }

 private:
  using MachineName = std::array<char, MPI_MAX_PROCESSOR_NAME>;

  static int length_of(std::size_t bytes) {
    if (bytes > std::numeric_limits<int>::max()) {
      throw Error(ErrorKind::io, "a message of more than 2 GiB: modes of so many rows cannot be shared by processes");
    }
    return static_cast<int>(bytes);
  }

  void wait_for(MPI_Request& request, int peer, MPI_Status* status = MPI_STATUS_IGNORE) {
    wait(peer, [&] {
      int is_done = 0;
      MPI_Test(&request, &is_done, status);
      return is_done != 0;
    });
  }

  // How many processes run on this machine, on the processors of this one, and on its GPUs.
  void look_at_machine() {
    MPI_Comm of_machine = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &of_machine);
    MPI_Comm_size(of_machine, &neighbours_);
    count_gpu_sharers(of_machine);
    cpu_set_t own;
    CPU_ZERO(&own);
    static_cast<void>(sched_getaffinity(0, sizeof(own), &own));
    std::vector<cpu_set_t> all(static_cast<std::size_t>(neighbours_));
    MPI_Allgather(&own, sizeof(own), MPI_BYTE, all.data(), sizeof(own), MPI_BYTE, of_machine);
    MPI_Comm_free(&of_machine);
    processor_sharers_ = static_cast<int>(std::count_if(all.begin(), all.end(), [&own](const cpu_set_t& other) {
      cpu_set_t both;
      CPU_AND(&both, &own, &other);
      return CPU_COUNT(&both) > 0;
    }));
    processor_sharers_ = std::max(1, processor_sharers_);
    if (processor_sharers_ <= CPU_COUNT(&own)) polling_time_ = std::chrono::milliseconds(5);
    machines_.resize(static_cast<std::size_t>(size_));
    MachineName name{};
    int length = 0;
    MPI_Get_processor_name(name.data(), &length);
    MPI_Allgather(name.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR, machines_.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR,
                  MPI_COMM_WORLD);
  }

  // Launchers part GPUs by a variable. Who is left one has it for itself; others share those of an equal value.
  void count_gpu_sharers(MPI_Comm of_machine) {
    const char* const variable = std::getenv("CUDA_VISIBLE_DEVICES");
    const std::string_view visible = variable == nullptr ? "" : variable;
    const std::size_t own = std::hash<std::string_view>()(visible);
    std::vector<std::size_t> all(static_cast<std::size_t>(neighbours_));
    MPI_Allgather(&own, sizeof(own), MPI_BYTE, all.data(), sizeof(own), MPI_BYTE, of_machine);
    int number = 0;
    MPI_Comm_rank(of_machine, &number);
    if (!visible.empty() && visible.find(',') == visible.npos) return;
    gpu_sharers_ = static_cast<int>(std::count(all.begin(), all.end(), own));
    gpu_rank_ = static_cast<int>(std::count(all.begin(), all.begin() + number, own));
  }

  // Until is_done(), which calls MPI. Throws Error{io} once the peer has shown no life for so long; from then on MPI is
  // not called, which may still hold the memory of a message.
  template <class IsDone>
  void wait(int peer, const IsDone& is_done) {
    const Clock::time_point begin = Clock::now();
    for (;;) {
      {
        const std::lock_guard lock(mutex_);
        check_lost();
        if (is_done()) return;
        take_signs();
        const Clock::time_point last_sign = std::max(begin, last_signs_[static_cast<std::size_t>(peer)]);
        if (std::chrono::duration<double>(Clock::now() - last_sign).count() > timeout_) lost_ = peer;
        check_lost();
      }
      if (Clock::now() - begin < polling_time_) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    }
  }

  void check_lost() const {
    if (lost_ < 0) return;
    throw Error(ErrorKind::io, "process " + std::to_string(lost_) + " of " + std::to_string(size_) + ", on " +
                                   machines_[static_cast<std::size_t>(lost_)].data() + ", has shown no life for " +
                                   std::to_string(static_cast<int>(timeout_)) +
                                   " seconds: it is stopped, or its machine cannot be reached");
  }

  // Of all, so that none pile up.
  void take_signs() {
    for (;;) {
      int is_there = 0;
      MPI_Status status;
      MPI_Iprobe(MPI_ANY_SOURCE, alive_tag, MPI_COMM_WORLD, &is_there, &status);
      if (is_there == 0) return;
      MPI_Recv(nullptr, 0, MPI_BYTE, status.MPI_SOURCE, alive_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      last_signs_[static_cast<std::size_t>(status.MPI_SOURCE)] = Clock::now();
    }
  }

  // To all others, who may wait for this process. Who does not take the last sign gets no other.
  void show_life() {
    for (Clock::time_point next = Clock::now(); !ends_; std::this_thread::sleep_for(std::chrono::milliseconds(50))) {
      if (Clock::now() < next) continue;
      next += between_signs_of_life;
      const std::lock_guard lock(mutex_);
      if (lost_ >= 0) return;
      take_signs();
      for (int peer = 0; peer < size_; ++peer) {
        MPI_Request& sign = signs_[static_cast<std::size_t>(peer)];
        int is_sent = 0;
        MPI_Test(&sign, &is_sent, MPI_STATUS_IGNORE);
        if (peer == rank_ || is_sent == 0) continue;
        MPI_Isend(nullptr, 0, MPI_BYTE, peer, alive_tag, MPI_COMM_WORLD, &sign);
      }
    }
    const std::lock_guard lock(mutex_);
    MPI_Waitall(static_cast<int>(signs_.size()), signs_.data(), MPI_STATUSES_IGNORE);
  }

  double timeout_;
  int rank_ = 0;
  int size_ = 1;
  int neighbours_ = 1;
  int processor_sharers_ = 1;
  int gpu_sharers_ = 1;
  int gpu_rank_ = 0;
  Clock::duration polling_time_ = std::chrono::microseconds(100);  // of a wait, before it sleeps
  std::vector<MachineName> machines_;
  std::mutex mutex_;                           // of all calls of MPI
  int lost_ = -1;                              // a peer
  std::vector<MPI_Request> signs_;             // to each process
  std::vector<Clock::time_point> last_signs_;  // of each
  std::atomic<bool> ends_ = false;
  std::thread signs_of_life_;
};

}  // namespace
}  // namespace blco

extern "C" blco::Peers* blco_join_mpi(double timeout_seconds) { return new blco::MpiPeers(timeout_seconds); }
extern "C" void blco_leave_mpi(blco::Peers* peers) { delete peers; }
extern "C" void blco_abort_mpi(int exit_code) { MPI_Abort(MPI_COMM_WORLD, exit_code); }
