// The other end of RemoteWorker: a process that computes what its parent asks for, and has its children do their part.
#include <algorithm>
#include <blco/peers.hpp>
#include <blco/version.hpp>
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
#include "engine/work/peer_messages.hpp"
#include "engine/work/touched_rows.hpp"

namespace blco {
namespace {

// One job, from begin to end.
class ServedJob {
 public:
  // `known` has the rows of the process's chunks, once a job has read them.
  ServedJob(const Tensor& tensor, const Compute& compute, const JobOrder& order, std::optional<TouchedRows>& known)
      : shape_(tensor.shape()), columns_(order.columns), job_(tensor, compute, needs_of(tensor, order)), rows_(shape_) {
    job_.begin_peers();
    if (order.draws) {
      rows_ = TouchedRows::all(shape_);
    } else {
      if (!order.single_pass && !known) known = TouchedRows::of_nonzeros(job_.chunks(), job_.pool());
      rows_ = known ? *known : TouchedRows::between_bounds(job_.chunks());
    }
    job_.make_backend();
    workers_ = job_.make_workers(nullptr, &rows_);
  }

  const TouchedRows& rows() const { return rows_; }

  void load(ReceivedMessage& message) {
    const auto run = message.take<RowRun>();
    const auto mode = static_cast<std::size_t>(run.mode);
    const auto columns = static_cast<std::size_t>(columns_);
    const std::vector<double> theirs = message.take_rest<double>();
    std::size_t at = 0;
    for (std::uint64_t row = run.first_row; at < theirs.size() && row < shape_[mode];) {
      const IndexRange block{row, std::min(row + rows_of_message(columns_), shape_[mode])};
      row = block.end;
      if (!rows_.any(mode, block)) continue;
      numbers_.resize(static_cast<std::size_t>(block.end - block.begin) * columns);
      job_.backend().store_factor(run.mode, block.begin, numbers_);
      rows_.for_each(mode, block, [&](std::uint64_t touched) {
        if (at == theirs.size()) return;
        std::copy_n(theirs.data() + at, columns,
                    numbers_.data() + static_cast<std::size_t>(touched - block.begin) * columns);
        at += columns;
      });
      job_.backend().load_factor(run.mode, block.begin, numbers_);
    }
  }

  void pass(ReceivedMessage& message, Peers& peers) {
    const auto order = message.take<PassOrder>();
    workers_->pass(order, message.take_rest<std::uint64_t>());
    const PassReply reply{workers_->sum_of_terms(), workers_->bytes_read()};
    peers.send(parent_of(peers.rank()), Message(MessageKind::done).put(reply).bytes());
    for (int mode = 0; mode < static_cast<int>(shape_.size()); ++mode) {
      if (has_mode(order.request.outputs, mode)) send_rows(mode, peers);
    }
  }

 private:
  void send_rows(int mode, Peers& peers) {
    const auto n = static_cast<std::size_t>(mode);
    const auto columns = static_cast<std::size_t>(columns_);
    RowSender sender(peers, parent_of(peers.rank()), MessageKind::rows, mode, columns_);
    for_each_message_block(0, shape_[n], columns_, [&](const IndexRange& block) {
      if (!rows_.any(n, block)) return;
      numbers_.resize(static_cast<std::size_t>(block.end - block.begin) * columns);
      job_.backend().read_output(mode, block.begin, numbers_);
      rows_.for_each(n, block, [&](std::uint64_t row) {
        sender.add(row, std::span(numbers_).subspan(static_cast<std::size_t>(row - block.begin) * columns, columns));
      });
    });
    sender.send();
  }

  std::vector<std::uint64_t> shape_;
  int columns_;
  Job job_;
  TouchedRows rows_;  // of the chunks here and below
  std::unique_ptr<WorkerGroup> workers_;
  std::vector<double> numbers_;
};

void check_same(const Tensor& tensor, const JobOrder& order) {
  if (const std::string theirs = order.version.data(); theirs != version_string) {
    refuse("process 0 is of blco " + theirs + ", but this process is of " + version_string);
  }
  const TensorSummary& here = tensor.summary();
  if (here.nnz != order.nnz || here.sum_of_squares != order.sum_of_squares ||
      crc_of_chunks(TensorChunks::of(tensor)) != order.chunks_crc) {
    refuse("the tensor here is another one than that of process 0: give a file that all processes see");
  }
}

class Server {
 public:
  Server(const std::function<const Tensor&()>& open, const Compute& compute, Peers& peers)
      : open_(open), compute_(compute), peers_(peers) {
    compute_.trace.clear();
    compute_.peers = &peers;
  }

  // Returns whether another message is due.
  bool answer(ReceivedMessage message) {
    if (message.kind() == MessageKind::dismiss) {
      dismiss(peers_);
      return false;
    }
    const bool wants_reply = message.kind() == MessageKind::begin || message.kind() == MessageKind::pass;
    try {
      if (failure_ && message.kind() == MessageKind::pass) throw *std::exchange(failure_, std::nullopt);
      switch (message.kind()) {
        case MessageKind::begin:
          begin(message.take<JobOrder>());
          break;
        case MessageKind::load:
          job().load(message);
          break;
        case MessageKind::pass:
          job().pass(message, peers_);
          break;
        case MessageKind::end:
          job_.reset();
          failure_.reset();
          send(Message(MessageKind::ended));
          break;
        default:
          refuse("its parent has sent a message that only children send");
      }
    } catch (const PeerError& error) {
      fail(error, wants_reply);
    } catch (const Error& error) {
      fail(named(error.kind(), error.what()), wants_reply);
    } catch (const std::bad_alloc&) {
      fail(named(ErrorKind::out_of_memory, "the system has no more memory"), wants_reply);
    } catch (const std::exception& error) {
      fail(named(ErrorKind::io, error.what()), wants_reply);
    }
    return true;
  }

 private:
  void send(const Message& message) { peers_.send(parent_of(peers_.rank()), message.bytes()); }
  PeerError named(ErrorKind kind, const std::string& what) const {
    return {kind, peers_.name(peers_.rank()) + ": " + what};
  }

  void begin(const JobOrder& order) {
    failure_.reset();
    job_.reset();
    if (tensor_ == nullptr) tensor_ = &open_();
    check_same(*tensor_, order);
    compute_.precision = order.precision;
    compute_.deterministic = order.deterministic;
    job_.emplace(*tensor_, compute_, order, rows_);
    send(Message(MessageKind::done).put(PassReply{}).put(job_->rows().words()));
  }

  ServedJob& job() {
    if (!job_) refuse("its parent has begun no job here");
    return *job_;
  }

  void fail(const PeerError& error, bool wants_reply) {
    const std::string_view text = error.what();
    if (!wants_reply) {
      failure_ = error;
    } else {
      send(Message(MessageKind::failed).put(error.kind()).put(std::span(text)));
    }
  }

  std::function<const Tensor&()> open_;
  Compute compute_;
  Peers& peers_;
  const Tensor* tensor_ = nullptr;
  std::optional<TouchedRows> rows_;  // of this process's chunks, once known
  std::optional<ServedJob> job_;
  std::optional<PeerError> failure_;  // that the next reply tells
};

}  // namespace

void serve(const std::function<const Tensor&()>& open, const Compute& compute, Peers& peers) {
  check_callable(open, "function that opens the tensor");
  Server server(open, compute, peers);
  while (server.answer(ReceivedMessage(peers.receive(parent_of(peers.rank()))))) {
  }
}

void dismiss(Peers& peers) {
  std::optional<Error> first;
  for (const int peer : children_of(peers.rank(), peers.size())) {
    try {
      peers.send(peer, Message(MessageKind::dismiss).bytes());
    } catch (const Error& error) {
      if (!first) first = error;
    }
  }
  if (first) throw *first;
}

}  // namespace blco
