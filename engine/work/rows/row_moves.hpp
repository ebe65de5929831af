// How rows get from the workers that have them to the workers that need them.
#pragma once

#include <algorithm>
#include <blco/peers.hpp>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/work/rows/row_owners.hpp"
#include "engine/work/rows/touched_rows.hpp"
#include "kernels/aligned_buffer.hpp"
#include "kernels/backend.hpp"

namespace blco {

// Which rows a move is about: those of a mode in one of the matrices of Rows.
struct MovedRows {
  enum class Matrix : std::uint8_t { factor, output, dual, vector };

  Matrix matrix = Matrix::factor;
  int mode = 0;
  int vector = 0;
  IndexRange rows = {};  // that a caller at rank 0 has or gets; none: those that it lists
};

// What a move does. Rank 0 is the worker that leads.
enum class Move : std::uint8_t {
  to_touchers,  // owners' rows to the workers whose chunks have them
  sum,          // outputs: what the workers have added up, each for the rows of its chunks, is added up by the owners
  sum_all,      // the same, where rank 0 has sums for any rows
  to_owners,    // rows of a caller at rank 0 to their owners
  to_caller,    // owners' rows to a caller at rank 0
};

// Rank 0 waits until all have made such a move, and throws what failed. What fails in another move is the answer to a
// later order.
inline bool is_of_caller(Move move) { return move == Move::to_owners || move == Move::to_caller; }

// What a caller at rank 0 has, or gets: rows of a range, or of a factor those of a list, which all workers know.
struct CallersRows {
  std::span<const std::uint32_t> listed = {};
  std::span<const double> to_owners = {};
  std::span<double> to_caller = {};
};

// A worker holds the rows that it owns and those that it touches, or all. So of another worker's rows it holds those
// that it touches, which lie side by side. Between workers, a row is copied once into a message and once out of it; in
// a process, messages stay where they lie (ServingThreads).
class RowMoves {
 public:
  // Tells the owners which of their rows this worker touches: all workers make one at the same time. `peers` must
  // outlive this. `shape` is that of the tensor; rows have `columns` numbers. `holds_all`: this worker holds all rows.
  RowMoves(Peers& peers, RowOwners owners, TouchedRows touched, const std::vector<std::uint64_t>& shape, int columns,
           bool holds_all);

  // Of one of so many workers, beside its bits.
  static std::uint64_t memory_bytes(const std::vector<std::uint64_t>& shape, int columns, int workers);

  // BackendConfig::held, and Steps::own, of this worker.
  const std::vector<std::shared_ptr<const RowIndex>>& held() const { return held_; }
  std::vector<OwnedRows> owned() const;
  // The same of the tensor's rows.
  std::vector<IndexRange> own_rows() const { return owners_.rows_of(rank_); }
  // Whether this worker holds all rows of the mode; whether all are its own or its chunks' rows.
  bool holds_all(int mode) const;
  bool has_all(int mode) const;
  // How many rows a caller may move at once: no more than a round moves, and few enough for one message.
  std::uint64_t rows_at_once() const {
    constexpr std::uint64_t numbers_of_message = 1 << 22;
    return std::min(block_rows_ * owners_.workers(), std::max<std::uint64_t>(1, numbers_of_message / columns_));
  }
  // All workers make the same moves, one after the other, each of its own `rows`. What fails here alone is thrown at
  // the end, so that no other worker waits for this one. Throws OutOfStep if this one cannot go on.
  void make(Move move, const MovedRows& what, Rows& rows, const CallersRows& callers = {});

 private:
  // Messages of a round, one after the other, in memory that stays, since new pages take time.
  class Messages {
   public:
    Messages() = default;
    explicit Messages(std::uint64_t numbers) : numbers_(numbers) {}
    void clear() { used_ = 0; }
    // Room for so many numbers more.
    std::span<double> add(std::size_t count) {
      return numbers_.span().subspan(std::exchange(used_, used_ + count), count);
    }

   private:
    AlignedBuffer<double> numbers_;
    std::size_t used_ = 0;
  };

  // Where rows of a range lie among those that this worker holds.
  IndexRange places(std::size_t mode, const IndexRange& rows) const;
  // Rows of a worker that are moved in the same round.
  IndexRange block(std::size_t mode, std::size_t worker, std::uint64_t round) const;
  template <class Visit>
  void for_each_moved(Move move, std::size_t mode, std::size_t other, const IndexRange& block,
                      const Visit& visit) const;
  std::uint64_t count_moved(Move move, std::size_t mode, std::size_t other, const IndexRange& block) const;
  template <class Action>
  void unless_failed(const Action& action);
  void make_round(Move move, int mode, std::uint64_t round);
  Incoming awaited(int peer, std::uint64_t rows);
  std::span<const std::uint32_t> list_moved(Move move, std::size_t mode, std::size_t other, const IndexRange& block);
  void read_moved(Move move, int mode, std::size_t other, const IndexRange& block, std::span<double> numbers);
  void write_moved(Move move, int mode, std::size_t other, const IndexRange& block, std::span<const double> numbers);
  // Of the rows of a caller at rank 0, those that a worker owns.
  struct Part {
    IndexRange rows = {};
    std::vector<std::size_t> listed = {};  // their numbers in the list, if there is one
    std::uint64_t count = 0;
  };
  std::vector<Part> parts_of(const MovedRows& what, const CallersRows& callers) const;
  template <class Visit>
  void for_each_stretch(const MovedRows& what, const Part& part, const Visit& visit) const;
  // Between the caller and owners.
  void carry(Move move, const MovedRows& what, const CallersRows& callers);
  std::vector<std::uint32_t> places_of(const MovedRows& what, const CallersRows& callers, const Part& own) const;
  void write_part(const MovedRows& what, const CallersRows& callers, const Part& own, std::span<const double> numbers);
  void read_part(const MovedRows& what, const CallersRows& callers, const Part& own, std::span<double> numbers) const;
  void read_rows(const MovedRows& what, std::uint64_t first_place, std::span<double> rows) const;
  void write_rows(const MovedRows& what, std::uint64_t first_place, std::span<const double> rows);

  Peers* peers_;
  RowOwners owners_;
  std::size_t rank_;
  std::size_t columns_;
  std::uint64_t block_rows_;
  std::vector<TouchedRows> touched_;  // by each worker, of the rows that this one owns; this one's own and touched ones
  std::vector<std::shared_ptr<const RowIndex>> held_;  // per mode; none, or null: all rows
  Messages out_;
  Messages in_;
  std::vector<std::uint32_t> listed_;  // places of rows of a block
  Rows* rows_ = nullptr;               // of this move, as is the next one
  std::exception_ptr failure_;
};

}  // namespace blco
