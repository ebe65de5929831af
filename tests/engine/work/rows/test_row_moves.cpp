// Moves of rows between threads of one process: which rows arrive, and how often they are copied.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "engine/work/rows/row_moves.hpp"
#include "engine/work/serving_threads.hpp"
#include "tests/bench/measure/discarding_backend.hpp"

namespace blco {
namespace {

using Numbers = std::pair<const double*, std::size_t>;

constexpr std::size_t columns = 4;
constexpr std::uint64_t length = 700;

// The rows of one mode, which note the memory that rows are read into and written from.
class NotedRows final : public DiscardingBackend {
 public:
  NotedRows(std::vector<std::uint64_t> rows, double number) : rows_(std::move(rows)) {
    factor.assign(rows_.size() * columns, number);
    output.assign(rows_.size() * columns, number);
  }

  double* factor_row(std::uint64_t row) { return factor.data() + place_of(row) * columns; }
  double* output_row(std::uint64_t row) { return output.data() + place_of(row) * columns; }
  const std::vector<std::uint64_t>& rows() const { return rows_; }

  void load_factor(int, std::uint64_t first_row, std::span<const double> from) override {
    written.emplace(from.data(), from.size());
    std::ranges::copy(from, factor.begin() + static_cast<std::ptrdiff_t>(first_row * columns));
  }
  void store_factor(int, std::uint64_t first_row, std::span<double> to) const override {
    read.emplace(to.data(), to.size());
    std::copy_n(factor.begin() + static_cast<std::ptrdiff_t>(first_row * columns), to.size(), to.begin());
  }
  void load_rows(int, std::span<const std::uint32_t> listed, std::span<const double> from) override {
    written.emplace(from.data(), from.size());
    for (std::size_t i = 0; i < from.size(); ++i) factor[listed[i / columns] * columns + i % columns] = from[i];
  }
  void store_rows(int, std::span<const std::uint32_t> listed, std::span<double> to) const override {
    read.emplace(to.data(), to.size());
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = factor[listed[i / columns] * columns + i % columns];
  }
  void read_output(int, std::uint64_t first_row, std::span<double> to) const override {
    read.emplace(to.data(), to.size());
    std::copy_n(output.begin() + static_cast<std::ptrdiff_t>(first_row * columns), to.size(), to.begin());
  }
  void read_output_rows(int, std::span<const std::uint32_t> listed, std::span<double> to) const override {
    read.emplace(to.data(), to.size());
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = output[listed[i / columns] * columns + i % columns];
  }
  void add_output_rows(int, std::span<const std::uint32_t> listed, std::span<const double> from) override {
    written.emplace(from.data(), from.size());
    for (std::size_t i = 0; i < from.size(); ++i) output[listed[i / columns] * columns + i % columns] += from[i];
  }

  std::vector<double> factor;
  std::vector<double> output;
  mutable std::multiset<Numbers> read;
  std::multiset<Numbers> written;

 private:
  std::size_t place_of(std::uint64_t row) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(rows_, row) - rows_.begin());
  }

  std::vector<std::uint64_t> rows_;  // that are held
};

// Three workers, each of which touches about every third row, and the second one none in the first half.
class RowMovesOf : public ::testing::TestWithParam<bool> {
 protected:
  static constexpr std::size_t workers = 3;

  RowMovesOf() : threads_(std::vector<ThreadWorker>(workers)) {
    std::mt19937_64 random(7);
    for (std::size_t worker = 0; worker < workers; ++worker) {
      std::vector<std::uint64_t> held;
      for (std::uint64_t row = 0; row < length; ++row) {
        if (random() % 3 == 0 && !(worker == 1 && row < length / 2)) touched_[worker].insert(row);
        if (GetParam() || touched_[worker].contains(row) || owner_of(row) == worker) held.push_back(row);
      }
      rows_.push_back(std::make_unique<NotedRows>(held, static_cast<double>(worker)));
    }
  }

  static std::size_t owner_of(std::uint64_t row) { return row < 200 ? 0 : row < 210 ? 1 : 2; }

  // All workers make a move.
  void make(Move move, MovedRows::Matrix matrix) {
    std::vector<std::thread> running;
    for (std::size_t worker = 0; worker < workers; ++worker) {
      running.emplace_back([&, worker] {
        // Of another mode, which nobody touches, each worker holds so few rows that it does not hold all.
        const std::vector<std::uint64_t> shape{length, 30000};
        TouchedRows touched(shape);
        for (const std::uint64_t row : touched_[worker]) touched.add(0, {row, row + 1});
        RowMoves moves(*threads_.compute(worker).peers,
                       RowOwners(workers, {0, 200, 210, length, 0, 10000, 20000, shape[1]}), touched, shape, columns,
                       GetParam());
        EXPECT_EQ(moves.holds_all(0), GetParam());
        moves.make(move, {.matrix = matrix}, *rows_[worker]);
      });
    }
    for (std::thread& thread : running) thread.join();
  }

  // Of all messages, each row was copied in once and out once: what a worker writes from is what another one has read
  // into. Returns how many rows arrived.
  std::size_t expect_two_copies() const {
    std::set<Numbers> sent;
    std::size_t numbers = 0;
    for (const auto& rows : rows_) sent.insert(rows->read.begin(), rows->read.end());
    for (const auto& rows : rows_) {
      for (const Numbers& message : rows->written) {
        EXPECT_TRUE(sent.contains(message));
        numbers += message.second;
      }
    }
    return numbers / columns;
  }

  ServingThreads threads_;
  std::array<std::set<std::uint64_t>, workers> touched_;
  std::vector<std::unique_ptr<NotedRows>> rows_;
};

TEST_P(RowMovesOf, BringOwnersRowsToThoseWhoTouchThem) {
  make(Move::to_touchers, MovedRows::Matrix::factor);

  std::size_t moved = 0;
  for (std::size_t worker = 0; worker < workers; ++worker) {
    for (const std::uint64_t row : rows_[worker]->rows()) {
      const bool is_moved = touched_[worker].contains(row) && owner_of(row) != worker;
      const std::size_t from = is_moved ? owner_of(row) : worker;
      for (std::size_t r = 0; r < columns; ++r) {
        EXPECT_EQ(rows_[worker]->factor_row(row)[r], static_cast<double>(from)) << "row " << row << " of " << worker;
      }
      moved += is_moved ? 1 : 0;
    }
  }
  EXPECT_EQ(expect_two_copies(), moved);
}

TEST_P(RowMovesOf, AddUpSumsWhereRowsAreOwned) {
  make(Move::sum, MovedRows::Matrix::output);

  std::size_t moved = 0;
  for (std::uint64_t row = 0; row < length; ++row) {
    auto wanted = static_cast<double>(owner_of(row));
    for (std::size_t worker = 0; worker < workers; ++worker) {
      if (worker == owner_of(row) || !touched_[worker].contains(row)) continue;
      wanted += static_cast<double>(worker);
      ++moved;
    }
    for (std::size_t r = 0; r < columns; ++r) EXPECT_EQ(rows_[owner_of(row)]->output_row(row)[r], wanted) << row;
  }
  EXPECT_EQ(expect_two_copies(), moved);
}

INSTANTIATE_TEST_SUITE_P(RowMoves, RowMovesOf, ::testing::Bool(),
                         [](const auto& holds_all) { return holds_all.param ? "AllHeld" : "SomeHeld"; });

}  // namespace
}  // namespace blco
