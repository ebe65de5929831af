#include "engine/work/row_moves.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace blco {
namespace {

// Of all rows that a worker sends in a round, and of all that it receives: a move takes few rounds, because many
// messages take longer than their bytes.
std::uint64_t numbers_at_once(std::uint64_t longest_mode, std::uint64_t columns, std::uint64_t workers) {
  constexpr std::uint64_t least = 1 << 17;
  constexpr std::uint64_t of_a_message = 1 << 14;
  constexpr std::uint64_t rounds = 8;
  const std::uint64_t all = longest_mode * columns;
  return std::max({least, std::min(all, workers * of_a_message), all / rounds, workers * columns});
}

bool is_from_owners(Move move) { return move == Move::to_touchers || move == Move::to_leader; }
bool is_of_leader(Move move) { return move == Move::to_leader || move == Move::from_leader; }

// Whether all rows are moved between their owners and that worker, not only those that it touches.
bool moves_all(Move move, std::size_t worker) { return worker == 0 && (is_of_leader(move) || move == Move::sum_all); }

}  // namespace

RowMoves::RowMoves(Peers& peers, RowOwners owners, TouchedRows touched, const std::vector<std::uint64_t>& shape,
                   int columns, Rows& rows, bool on_device)
    : peers_(&peers),
      owners_(std::move(owners)),
      rows_(&rows),
      on_device_(on_device),
      rank_(static_cast<std::size_t>(peers.rank())),
      columns_(static_cast<std::size_t>(columns)),
      block_rows_(numbers_at_once(std::ranges::max(shape), columns_, owners_.workers()) / columns_ / owners_.workers()),
      messages_(owners_.workers()) {
  const auto most_numbers = static_cast<std::size_t>(block_rows_) * columns_;
  block_.reserve(most_numbers);
  for (std::vector<double>& message : messages_) message.reserve(most_numbers);
  const auto rows_of = [&](std::size_t worker) {
    std::vector<IndexRange> ranges;
    for (std::size_t mode = 0; mode < shape.size(); ++mode) ranges.push_back(owners_.rows(mode, worker));
    return ranges;
  };
  std::vector<TouchedRows> parts;
  for (std::size_t worker = 0; worker < owners_.workers(); ++worker) {
    parts.push_back(touched.part(rows_of(worker)));
    touched_.emplace_back(rows_of(rank_));
  }
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (std::size_t worker = 0; worker < owners_.workers(); ++worker) {
    if (worker == rank_) continue;
    const int peer = static_cast<int>(worker);
    if (!parts[worker].words().empty()) out.push_back({peer, std::as_bytes(parts[worker].words())});
    if (!parts[rank_].words().empty()) in.push_back({peer, parts[rank_].words().size_bytes()});
  }
  peers_->exchange(out, in, [&](std::size_t i, std::span<const std::byte> message) {
    std::ranges::copy(message, std::as_writable_bytes(touched_[static_cast<std::size_t>(in[i].peer)].words()).begin());
  });
  touched_[rank_] = std::move(touched);
}

// What is sent and what is received at once, and a block.
std::uint64_t RowMoves::memory_bytes(const std::vector<std::uint64_t>& shape, int columns, int workers) {
  return 3 * sizeof(double) *
         numbers_at_once(std::ranges::max(shape), static_cast<std::uint64_t>(columns),
                         static_cast<std::uint64_t>(workers));
}

bool RowMoves::touches_all(int mode) const {
  const auto n = static_cast<std::size_t>(mode);
  const std::uint64_t length = owners_.rows(n, owners_.workers() - 1).end;
  return touched_[rank_].count(n, {0, length}) == length;
}

IndexRange RowMoves::block(std::size_t mode, std::size_t worker, std::uint64_t round) const {
  const IndexRange rows = owners_.rows(mode, worker);
  const std::uint64_t begin = std::min(rows.end, rows.begin + round * block_rows_);
  return {begin, std::min(rows.end, begin + block_rows_)};
}

// Calls visit(row) for each row of a block that its owner and another worker send each other.
template <class Visit>
void RowMoves::for_each_moved(Move move, std::size_t mode, std::size_t other, const IndexRange& block,
                              const Visit& visit) const {
  if (moves_all(move, other)) {
    for (std::uint64_t row = block.begin; row < block.end; ++row) visit(row);
  } else if (!is_of_leader(move)) {
    touched_[other].for_each(mode, block, visit);
  }
}

std::uint64_t RowMoves::count_moved(Move move, std::size_t mode, std::size_t other, const IndexRange& block) const {
  if (moves_all(move, other)) return block.end - block.begin;
  return is_of_leader(move) ? 0 : touched_[other].count(mode, block);
}

void RowMoves::make(Move move, const MovedRows& what) {
  const auto mode = static_cast<std::size_t>(what.mode);
  std::uint64_t longest = 0;
  for (std::size_t worker = 0; worker < owners_.workers(); ++worker) {
    longest = std::max(longest, owners_.rows(mode, worker).end - owners_.rows(mode, worker).begin);
  }
  failure_ = nullptr;
  for (std::uint64_t round = 0; round * block_rows_ < longest; ++round) make_round(move, what, round);
  if (failure_) std::rethrow_exception(failure_);
}

// Whoever fails goes on, with messages of the same lengths, since the others wait for them.
template <class Part>
void RowMoves::unless_failed(const Part& part) {
  if (failure_) return;
  try {
    part();
  } catch (...) {
    failure_ = std::current_exception();
  }
}

// Every worker has a block of its own rows, and exchanges some of them with each other worker.
void RowMoves::make_round(Move move, const MovedRows& what, std::uint64_t round) {
  const auto mode = static_cast<std::size_t>(what.mode);
  const bool from_owners = is_from_owners(move);
  const IndexRange own = block(mode, rank_, round);
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  is_read_ = false;
  whole_ = {};
  for (std::size_t worker = 0; worker < owners_.workers(); ++worker) {
    if (worker == rank_) continue;
    const int peer = static_cast<int>(worker);
    const IndexRange theirs = block(mode, worker, round);
    if (!from_owners) is_read_ = false;
    const std::size_t other = from_owners ? worker : rank_;
    const IndexRange& block_sent = from_owners ? own : theirs;
    std::span<const double> sent;
    unless_failed([&] { sent = pack(move, what, other, block_sent, messages_[worker]); });
    if (failure_) {
      messages_[worker].resize(static_cast<std::size_t>(count_moved(move, mode, other, block_sent)) * columns_);
      sent = messages_[worker];
    }
    if (!sent.empty()) out.push_back({peer, std::as_bytes(sent)});
    const std::uint64_t rows = count_moved(move, mode, from_owners ? rank_ : worker, from_owners ? theirs : own);
    if (rows > 0) in.push_back({peer, static_cast<std::size_t>(rows) * columns_ * sizeof(double)});
  }
  // Sums of a row are added up in the order of workers, after the owner's own.
  is_read_ = false;
  peers_->exchange(out, in, [&](std::size_t i, std::span<const std::byte> message) {
    unless_failed([&] {
      const auto worker = static_cast<std::size_t>(in[i].peer);
      unpack(move, what, from_owners ? rank_ : worker, from_owners ? block(mode, worker, round) : own,
             {reinterpret_cast<const double*>(message.data()), message.size() / sizeof(double)});
    });
  });
  unless_failed([&] {
    if (!from_owners && is_read_) write_rows(what, own.begin, block_);
  });
}

// Rows of a whole block are not copied once more, and an owner's only once for all who get them.
std::span<const double> RowMoves::pack(Move move, const MovedRows& what, std::size_t other, const IndexRange& block,
                                       std::vector<double>& out) {
  const auto mode = static_cast<std::size_t>(what.mode);
  const std::uint64_t count = count_moved(move, mode, other, block);
  out.clear();
  if (count > 0 && count == block.end - block.begin) {
    if (is_from_owners(move) && !whole_.empty()) return whole_;
    out.resize(static_cast<std::size_t>(count) * columns_);
    read_rows(what, block.begin, out);
    whole_ = out;
    return out;
  }
  for_each_moved(move, mode, other, block, [&](std::uint64_t row) {
    if (!is_read_) read_block(what, block);
    const auto numbers = std::span(block_).subspan(static_cast<std::size_t>(row - block.begin) * columns_, columns_);
    out.insert(out.end(), numbers.begin(), numbers.end());
  });
  return out;
}

void RowMoves::unpack(Move move, const MovedRows& what, std::size_t other, const IndexRange& block,
                      std::span<const double> in) {
  const bool adds = move == Move::sum || move == Move::sum_all;
  if (!adds && in.size() == static_cast<std::size_t>(block.end - block.begin) * columns_) {
    return write_rows(what, block.begin, in);
  }
  // Single rows, where that is cheap.
  if (is_from_owners(move) && what.matrix == MovedRows::Matrix::factor && !on_device_) {
    numbers_of_rows_.clear();
    for_each_moved(move, static_cast<std::size_t>(what.mode), other, block,
                   [&](std::uint64_t row) { numbers_of_rows_.push_back(static_cast<std::uint32_t>(row)); });
    return rows_->load_rows(what.mode, numbers_of_rows_, in);
  }
  if (is_from_owners(move) || !is_read_) read_block(what, block);
  for_each_moved(move, static_cast<std::size_t>(what.mode), other, block, [&](std::uint64_t row) {
    double* const to = block_.data() + static_cast<std::size_t>(row - block.begin) * columns_;
    for (std::size_t r = 0; r < columns_; ++r) to[r] = adds ? to[r] + in[r] : in[r];
    in = in.subspan(columns_);
  });
  if (is_from_owners(move)) write_rows(what, block.begin, block_);
}

void RowMoves::read_block(const MovedRows& what, const IndexRange& block) {
  block_.resize(static_cast<std::size_t>(block.end - block.begin) * columns_);
  read_rows(what, block.begin, block_);
  is_read_ = true;
}

void RowMoves::read_rows(const MovedRows& what, std::uint64_t first_row, std::span<double> rows) const {
  switch (what.matrix) {
    case MovedRows::Matrix::factor:
      return rows_->store_factor(what.mode, first_row, rows);
    case MovedRows::Matrix::output:
      return rows_->read_output(what.mode, first_row, rows);
    case MovedRows::Matrix::dual:
      return rows_->store_dual(what.mode, first_row, rows);
    case MovedRows::Matrix::vector:
      return rows_->store_vector(what.vector, what.mode, first_row, rows);
  }
}

void RowMoves::write_rows(const MovedRows& what, std::uint64_t first_row, std::span<const double> rows) {
  switch (what.matrix) {
    case MovedRows::Matrix::factor:
      return rows_->load_factor(what.mode, first_row, rows);
    case MovedRows::Matrix::output:
      return rows_->load_output(what.mode, first_row, rows);
    case MovedRows::Matrix::dual:
      return rows_->load_dual(what.mode, first_row, rows);
    case MovedRows::Matrix::vector:
      return rows_->load_vector(what.vector, what.mode, first_row, rows);
  }
}

}  // namespace blco
