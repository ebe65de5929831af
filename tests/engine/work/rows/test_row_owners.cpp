// Who owns which rows, and the exchange by which rows get from one worker to another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "engine/work/peer_messages.hpp"
#include "engine/work/rows/row_moves.hpp"
#include "engine/work/rows/row_owners.hpp"
#include "engine/work/serving_threads.hpp"
#include "tests/bench/measure/discarding_backend.hpp"

namespace blco {
namespace {

// Workers of such shares, whose messages are never sent.
class Shares final : public Peers {
 public:
  explicit Shares(std::vector<double> shares) : shares_(std::move(shares)) {}
  int rank() const override { return 0; }
  int size() const override { return static_cast<int>(shares_.size()); }
  int neighbours() const override { return size(); }
  double share(int rank) const override { return shares_[static_cast<std::size_t>(rank)]; }
  void send(int, std::span<const std::byte>) override {}
  std::vector<std::byte> receive(int) override { return {}; }

 private:
  std::vector<double> shares_;
};

TEST(RowOwners, HaveAboutAsManyTouchesAsTheirShares) {
  // Of the rows of the first mode the first two have half of all touches; of the second mode one row has them all.
  const std::vector<double> touches = {1, 1, 2, 0, 0, 7};
  const RowOwners equal = RowOwners::by_touches({4, 2}, Shares({1, 1}), touches);
  EXPECT_THAT(equal.first_rows(), testing::ElementsAre(0, 2, 4, 0, 1, 2));
  const RowOwners unequal = RowOwners::by_touches({4, 2}, Shares({1, 7}), touches);
  EXPECT_THAT(unequal.first_rows(), testing::ElementsAre(0, 0, 4, 0, 1, 2));
  const std::vector<IndexRange> expected = {{2, 4}, {1, 2}};
  EXPECT_EQ(equal.rows_of(1), expected);
  // Units of two rows.
  std::vector<double> of_long_mode(4500);
  of_long_mode[1] = 1;
  of_long_mode[4499] = 1;
  const RowOwners owners = RowOwners::by_touches({8999}, Shares({1, 1}), of_long_mode);
  EXPECT_THAT(owners.first_rows(), testing::ElementsAre(0, 4, 8999));
}

TEST(RowOwners, MayBeWithoutRows) {
  const RowOwners owners = RowOwners::by_touches({1}, Shares({1, 1, 1}), std::vector<double>{2});
  EXPECT_THAT(owners.first_rows(), testing::ElementsAre(0, 0, 1, 1));
}

// Has the default of Peers::exchange on top of messages of threads.
class ByMessages final : public Peers {
 public:
  explicit ByMessages(Peers& inner) : inner_(&inner) {}
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  int neighbours() const override { return inner_->neighbours(); }
  void send(int to, std::span<const std::byte> message) override { inner_->send(to, message); }
  std::vector<std::byte> receive(int from) override { return inner_->receive(from); }

 private:
  Peers* inner_;
};

// Runs a task for each of so many workers, with their peers: those of threads, or the default on top of these.
void run_workers(int size, bool by_messages, const std::function<void(Peers&)>& task) {
  ServingThreads workers(std::vector<ThreadWorker>(static_cast<std::size_t>(size)));
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < workers.size(); ++rank) {
    threads.emplace_back([&, rank] {
      Peers& own = *workers.compute(rank).peers;
      ByMessages wrapped(own);
      task(by_messages ? static_cast<Peers&>(wrapped) : own);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// What a worker sends another one in a round: nothing to some of them, and else many times one byte.
std::vector<std::byte> message_of(int from, int to, int round) {
  const int kind = (3 * from + 5 * to + round) % 7;
  return std::vector<std::byte>(static_cast<std::size_t>(kind < 3 ? 0 : 1000 * kind), static_cast<std::byte>(from));
}

class Exchange : public testing::TestWithParam<bool> {};

TEST_P(Exchange, BringsEachMessageToItsWorker) {
  for (const int size : {1, 2, 3, 6}) {
    run_workers(size, GetParam(), [size](Peers& peers) {
      for (int round = 0; round < 20; ++round) {
        std::vector<std::vector<std::byte>> messages;
        std::vector<Outgoing> out;
        std::vector<Incoming> in;
        for (int peer = 0; peer < size; ++peer) messages.push_back(message_of(peers.rank(), peer, round));
        for (int peer = 0; peer < size; ++peer) {
          if (peer == peers.rank()) continue;
          if (!messages[static_cast<std::size_t>(peer)].empty()) {
            out.push_back({peer, messages[static_cast<std::size_t>(peer)]});
          }
          const std::size_t bytes = message_of(peer, peers.rank(), round).size();
          if (bytes > 0) in.push_back({peer, bytes});
        }
        std::size_t taken = 0;
        peers.exchange(out, in, [&](std::size_t i, std::span<const std::byte> message) {
          EXPECT_EQ(i, taken++);
          const std::vector<std::byte> expected = message_of(in[i].peer, peers.rank(), round);
          EXPECT_TRUE(std::ranges::equal(message, expected));
        });
        EXPECT_EQ(taken, in.size());
      }
    });
  }
}

TEST_P(Exchange, RefusesAMessageOfAnotherLength) {
  run_workers(2, GetParam(), [](Peers& peers) {
    const std::vector<std::byte> message(7);
    if (peers.rank() == 0) {
      const Outgoing out{1, message};
      peers.exchange({&out, 1}, {}, {});
      return;
    }
    const Incoming in{0, 8};
    try {
      peers.exchange({}, {&in, 1}, [](std::size_t, std::span<const std::byte>) { FAIL() << "must not be taken"; });
      FAIL() << "must be refused";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("has sent 7 bytes in place of 8"));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ways, Exchange, testing::Bool(),
                         [](const auto& test) { return test.param ? "by_messages" : "in_memory"; });

// Its factor can be read so many times, and then no more.
class FailingRows final : public DiscardingBackend {
 public:
  explicit FailingRows(int reads) : reads_(reads) {}

  void store_factor(int, std::uint64_t, std::span<double>) const override {
    if (reads_-- <= 0) throw Error(ErrorKind::cuda, "the device is gone");
  }

 private:
  mutable int reads_;
};

TEST(RowMoves, LetNobodyWaitForAWorkerThatFails) {
  const std::vector<std::uint64_t> shape = {5000};
  const RowOwners owners(2, {0, 2500, 5000});
  run_workers(2, /*by_messages=*/false, [&](Peers& peers) {
    FailingRows rows(peers.rank() == 1 ? 1 : 1000);
    RowMoves moves(peers, owners, TouchedRows::all(shape), shape, /*columns=*/64, /*holds_all=*/false);
    std::vector<double> block(2000 * 64);
    const MovedRows factor{.rows = {1500, 3500}};
    for (const Move move : {Move::to_touchers, Move::to_caller}) {
      const CallersRows callers{.to_caller = block};
      if (peers.rank() == 1) {
        EXPECT_THROW(moves.make(move, factor, rows, callers), Error);
      } else {
        moves.make(move, factor, rows, callers);
      }
    }
    moves.make(Move::to_owners, {.matrix = MovedRows::Matrix::dual, .rows = factor.rows}, rows, {.to_owners = block});
  });
}

TEST(ReceivedMessage, RefusesWhatIsNoMessage) {
  Message message(MessageKind::pass);
  message.put(std::uint64_t{5});
  const std::vector<std::byte> whole(message.bytes().begin(), message.bytes().end());
  EXPECT_EQ(ReceivedMessage(whole).take<std::uint64_t>(), 5);
  EXPECT_THROW(ReceivedMessage({}), Error);
  EXPECT_THROW(ReceivedMessage(std::vector(whole.begin(), whole.end() - 1)), Error);
  std::vector<std::byte> other = whole;
  other[0] ^= std::byte{1};
  EXPECT_THROW(ReceivedMessage{other}, Error);
  ReceivedMessage received(whole);
  received.take<std::uint32_t>();
  EXPECT_THROW(received.take<std::uint64_t>(), Error);
  EXPECT_THROW(received.take_rest<std::uint64_t>(), Error);
}

}  // namespace
}  // namespace blco
