// How rows get from the workers that have them to the workers that need them.
#pragma once

#include <blco/peers.hpp>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <vector>

#include "engine/work/row_owners.hpp"
#include "engine/work/touched_rows.hpp"
#include "kernels/rows.hpp"

namespace blco {

// Which rows a move is about: those of a mode in one of the matrices of Rows.
struct MovedRows {
  enum class Matrix : std::uint8_t { factor, output, dual, vector };

  Matrix matrix = Matrix::factor;
  int mode = 0;
  int vector = 0;
};

// What a move does. Rank 0 is the worker that leads.
enum class Move : std::uint8_t {
  to_touchers,  // owners' rows to the workers whose chunks have them
  to_leader,    // owners' rows to rank 0
  from_leader,  // rows of rank 0 to their owners
  sum,          // outputs: what the workers have added up, each for the rows of its chunks, is added up by the owners
  sum_all,      // the same, where rank 0 has sums for any rows
};

class RowMoves {
 public:
  // Tells the owners which of their rows this worker touches: all workers make one at the same time. `rows` is this
  // worker's, and must outlive this, as `peers` must. `shape` is that of the tensor; rows have `columns` numbers.
  // `on_device`: single rows are slow to access.
  RowMoves(Peers& peers, RowOwners owners, TouchedRows touched, const std::vector<std::uint64_t>& shape, int columns,
           Rows& rows, bool on_device);

  // Of one of so many workers, beside its bits.
  static std::uint64_t memory_bytes(const std::vector<std::uint64_t>& shape, int columns, int workers);

  // Whether the chunks of this worker have all rows of the mode.
  bool touches_all(int mode) const;
  // All workers make the same moves, one after the other. What fails here alone is thrown at the end, so that no other
  // worker waits for this one.
  void make(Move move, const MovedRows& what);

 private:
  // Rows of a worker that are moved in the same round.
  IndexRange block(std::size_t mode, std::size_t worker, std::uint64_t round) const;
  template <class Visit>
  void for_each_moved(Move move, std::size_t mode, std::size_t other, const IndexRange& block,
                      const Visit& visit) const;
  std::uint64_t count_moved(Move move, std::size_t mode, std::size_t other, const IndexRange& block) const;
  template <class Part>
  void unless_failed(const Part& part);
  void make_round(Move move, const MovedRows& what, std::uint64_t round);
  std::span<const double> pack(Move move, const MovedRows& what, std::size_t other, const IndexRange& block,
                               std::vector<double>& out);
  void unpack(Move move, const MovedRows& what, std::size_t other, const IndexRange& block, std::span<const double> in);
  void read_block(const MovedRows& what, const IndexRange& block);
  void read_rows(const MovedRows& what, std::uint64_t first_row, std::span<double> rows) const;
  void write_rows(const MovedRows& what, std::uint64_t first_row, std::span<const double> rows);

  Peers* peers_;
  RowOwners owners_;
  Rows* rows_;
  bool on_device_;
  std::size_t rank_;
  std::size_t columns_;
  std::uint64_t block_rows_;
  std::vector<TouchedRows> touched_;           // by each worker, of the rows that this one owns; by this one, all
  std::vector<std::vector<double>> messages_;  // to each worker
  std::vector<double> block_;                  // rows of a block
  bool is_read_ = false;                       // they are there
  std::vector<std::uint32_t> numbers_of_rows_;
  std::exception_ptr failure_;     // of this move
  std::span<const double> whole_;  // a message with all rows of this worker's block
};

}  // namespace blco
