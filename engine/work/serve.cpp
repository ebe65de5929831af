// What processes above rank 0 do: they carry out the orders of rank 0, and send them on to the processes below.
#include <algorithm>
#include <blco/peers.hpp>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blco/error.hpp"
#include "blco/refuse.hpp"
#include "engine/common/check_callable.hpp"
#include "engine/work/job.hpp"
#include "engine/work/job_order.hpp"
#include "engine/work/order_tree.hpp"
#include "engine/work/rows/in_step.hpp"
#include "engine/work/rows/own_matrices.hpp"
#include "engine/work/rows/own_numbers.hpp"
#include "engine/work/rows/row_moves.hpp"
#include "engine/work/rows/touched_rows.hpp"

namespace blco {
namespace {

// One job, from begin to end.
class ServedJob {
 public:
  // `known` has the rows of the process's chunks, once a job has read them.
  ServedJob(const Tensor& tensor, const Compute& compute, const JobNeeds& needs, std::optional<TouchedRows>& known)
      : shape_(tensor.shape()),
        job_(tensor, compute, needs),
        touched_(known && !needs.draws ? *known : job_.touched_rows()) {
    if (!known && !needs.draws && needs.best_tier != Tier::streamed) known = touched_;
  }

  // The answer to `begin`.
  std::vector<double> touches() const { return touched_.counts(shape_); }

  // The answer to `owners`.
  std::vector<double> take_rows(ReceivedMessage& message, const Peers& peers) {
    RowOwners owners(static_cast<std::size_t>(peers.size()), message.take_rest<std::uint64_t>());
    moves_ = job_.take_rows(std::move(owners), std::move(touched_));
    numbers_ = job_.make_numbers(moves_.get());
    matrices_ = job_.make_matrices(moves_.get());
    streamer_ = job_.make_streamer();
    return {job_.plan().keep_previous ? 0.0 : 1.0};
  }

  std::vector<double> bytes_read() const { return {static_cast<double>(streamer_->bytes_read())}; }

  void move(ReceivedMessage& message, const Peers& peers) {
    const auto move = message.take<Move>();
    const auto what = message.take<MovedRows>();
    const auto listed = in_step(peers, [&] { return message.take_rest<std::uint32_t>(); });
    if (moves_ == nullptr) refuse("its parent moves rows that have no owners");
    moves_->make(move, what, job_.backend(), {.listed = listed});
  }

  std::vector<double> pass(ReceivedMessage& message) {
    const auto order = message.take<PassOrder>();
    run_pass(*streamer_, order, message.take_rest<std::uint64_t>(), job_.first_chunk());
    return {job_.backend().sum_of_terms()};
  }

  std::vector<double> step(ReceivedMessage& message) {
    const auto order = message.take<StepOrder>();
    return take_step(job_.backend(), order, message.take_rest<double>());
  }

  std::vector<double> numbers(ReceivedMessage& message) {
    const auto order = message.take<NumbersOrder>();
    if (numbers_ == nullptr) refuse("its parent moves numbers that this job does not have");
    return numbers_->take(order, message.take_rest<double>(), job_.backend());
  }

  std::vector<double> matrices(ReceivedMessage& message) {
    const auto order = message.take<MatrixOrder>();
    if (matrices_ == nullptr) refuse("its parent changes matrices that this job does not have");
    return matrices_->take(order, message.take_rest<double>(), job_.backend());
  }

 private:
  std::vector<std::uint64_t> shape_;
  Job job_;
  TouchedRows touched_;              // until rows have owners
  std::unique_ptr<RowMoves> moves_;  // from then on, as the next one
  std::unique_ptr<OwnNumbers> numbers_;
  std::unique_ptr<OwnMatrices> matrices_;
  std::unique_ptr<Streamer> streamer_;
};

// None: nobody waits for an answer.
std::optional<Combining> combining_of(const ReceivedMessage& message) {
  const auto sums_if = [](bool is_answered) { return is_answered ? std::optional(Combining::sums) : std::nullopt; };
  switch (message.kind()) {
    case MessageKind::move:
      return sums_if(is_of_caller(message.first<Move>()));
    case MessageKind::pass:
      return sums_if(message.first<PassOrder>().is_answered);
    case MessageKind::step:
      return blco::combining_of(message.first<StepOrder>().kind);
    case MessageKind::numbers:
      return blco::combining_of(message.first<NumbersOrder>());
    case MessageKind::matrices:
      return blco::combining_of(message.first<MatrixOrder>().step);
    default:
      return Combining::sums;
  }
}

class Server {
 public:
  Server(const std::function<const Tensor&()>& open, const Compute& compute, Peers& peers)
      : open_(open), compute_(compute), peers_(peers), tree_(peers) {
    compute_.trace.clear();
    compute_.peers = &peers;
  }

  // Returns whether another message is due. Whatever has failed here or below since the last answer is the answer.
  bool answer(ReceivedMessage message) {
    if (message.kind() == MessageKind::dismiss) {
      tree_.send_down(message.bytes());
      return false;
    }
    std::vector<double> numbers;
    std::optional<Combining> combining = Combining::sums;
    try_to([&] { tree_.send_down(message.bytes()); });
    try_to([&] {
      combining = combining_of(message);
      numbers = carry_out(message);
    });
    if (!combining) return true;
    try_to([&] {
      if (const std::optional<PeerError> below = tree_.gather(numbers, *combining)) throw *below;
    });
    const std::optional<PeerError> failure = std::exchange(failure_, std::nullopt);
    Message reply(failure ? MessageKind::failed : MessageKind::done);
    if (failure) {
      const std::string_view text = failure->what();
      reply.put(failure->kind()).put(std::span(text));
    } else {
      reply.put(std::span(numbers));
    }
    peers_.send(parent_of(peers_.rank()), reply.bytes());
    return true;
  }

 private:
  // Keeps the first failure, after which the job can be ended in order.
  template <class Part>
  void try_to(const Part& part) {
    const auto fail = [&](ErrorKind kind, const std::string& what) {
      if (!failure_) failure_.emplace(kind, what);
    };
    const std::string name = peers_.name(peers_.rank()) + ": ";
    try {
      part();
    } catch (const OutOfStep&) {
      throw;
    } catch (const PeerError& error) {
      fail(error.kind(), error.what());
    } catch (const Error& error) {
      fail(error.kind(), name + error.what());
    } catch (const std::bad_alloc&) {
      fail(ErrorKind::out_of_memory, name + "the system has no more memory");
    } catch (const std::exception& error) {
      fail(ErrorKind::io, name + error.what());
    }
  }

  std::vector<double> carry_out(ReceivedMessage& message) {
    switch (message.kind()) {
      case MessageKind::begin:
        return begin(message);
      case MessageKind::owners:
        return job().take_rows(message, peers_);
      case MessageKind::move:
        job().move(message, peers_);
        return {};
      case MessageKind::pass:
        return job().pass(message);
      case MessageKind::step:
        return job().step(message);
      case MessageKind::bytes_read:
        return job().bytes_read();
      case MessageKind::numbers:
        return job().numbers(message);
      case MessageKind::matrices:
        return job().matrices(message);
      case MessageKind::end:
        job_.reset();
        return {};
      default:
        refuse("its parent has sent a message that only children send");
    }
  }

  std::vector<double> begin(ReceivedMessage& order) {
    job_.reset();
    if (tensor_ == nullptr) tensor_ = &open_();
    const JobNeeds needs = needs_of(order, *tensor_);
    compute_.deterministic = needs.deterministic;
    job_.emplace(*tensor_, compute_, needs, rows_);
    return job_->touches();
  }

  ServedJob& job() {
    if (!job_) refuse("its parent has begun no job here");
    return *job_;
  }

  std::function<const Tensor&()> open_;
  Compute compute_;
  Peers& peers_;
  OrderTree tree_;
  const Tensor* tensor_ = nullptr;
  std::optional<TouchedRows> rows_;  // of this process's chunks, once known
  std::optional<ServedJob> job_;
  std::optional<PeerError> failure_;  // since the last answer
};

}  // namespace

void serve(const std::function<const Tensor&()>& open, const Compute& compute, Peers& peers) {
  check_callable(open, "function that opens the tensor");
  Server server(open, compute, peers);
  while (server.answer(ReceivedMessage(peers.receive(parent_of(peers.rank()))))) {
  }
}

void dismiss(Peers& peers) {
  Message message(MessageKind::dismiss);
  OrderTree(peers).send_down(message.bytes());
}

}  // namespace blco
