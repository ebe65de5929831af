#include "engine/work/rows/row_moves.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "engine/work/rows/in_step.hpp"

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

// Whether that worker has a part of all rows, not only of those that it touches.
bool moves_all(Move move, std::size_t worker) { return worker == 0 && move == Move::sum_all; }

// Where two ranges overlap; empty ranges may lie anywhere.
IndexRange common_part(const IndexRange& a, const IndexRange& b) {
  const std::uint64_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

std::span<const double> numbers_of(std::span<const std::byte> message) {
  return {reinterpret_cast<const double*>(message.data()), message.size() / sizeof(double)};
}

}  // namespace

RowMoves::RowMoves(Peers& peers, RowOwners owners, TouchedRows touched, const std::vector<std::uint64_t>& shape,
                   int columns, bool holds_all)
    : peers_(&peers),
      owners_(std::move(owners)),
      rank_(static_cast<std::size_t>(peers.rank())),
      columns_(static_cast<std::size_t>(columns)),
      block_rows_(numbers_at_once(std::ranges::max(shape), columns_, owners_.workers()) / columns_ /
                  owners_.workers()) {
  std::vector<TouchedRows> parts;
  for (std::size_t worker = 0; worker < owners_.workers(); ++worker) {
    parts.push_back(touched.part(owners_.rows_of(worker)));
    touched_.emplace_back(owners_.rows_of(rank_));
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
  touched.add(owners_.rows_of(rank_));
  if (!holds_all) held_ = touched.index(shape);
  touched_[rank_] = std::move(touched);
  out_ = Messages(block_rows_ * owners_.workers() * columns_);
  in_ = Messages(block_rows_ * owners_.workers() * columns_);
  listed_.reserve(static_cast<std::size_t>(block_rows_));
}

// What is sent and what is received at once, and the places of a block.
std::uint64_t RowMoves::memory_bytes(const std::vector<std::uint64_t>& shape, int columns, int workers) {
  const auto width = static_cast<std::uint64_t>(columns);
  const auto parts = static_cast<std::uint64_t>(workers);
  const std::uint64_t numbers = numbers_at_once(std::ranges::max(shape), width, parts);
  return 2 * mapped_bytes(numbers * sizeof(double)) + numbers / width / parts * sizeof(std::uint32_t);
}

IndexRange RowMoves::places(std::size_t mode, const IndexRange& rows) const {
  if (holds_all(static_cast<int>(mode))) return rows;
  return {held_[mode]->place_of(rows.begin), held_[mode]->place_of(rows.end)};
}

std::vector<OwnedRows> RowMoves::owned() const {
  std::vector<OwnedRows> owned;
  for (std::size_t mode = 0; const IndexRange& rows : owners_.rows_of(rank_)) {
    const IndexRange held = places(mode++, rows);
    owned.push_back({held.begin, held.end});
  }
  return owned;
}

bool RowMoves::has_all(int mode) const {
  const auto n = static_cast<std::size_t>(mode);
  const std::uint64_t length = owners_.rows(n, owners_.workers() - 1).end;
  return touched_[rank_].count(n, {0, length}) == length;
}

bool RowMoves::holds_all(int mode) const { return held_.empty() || held_[static_cast<std::size_t>(mode)] == nullptr; }

IndexRange RowMoves::block(std::size_t mode, std::size_t worker, std::uint64_t round) const {
  const IndexRange rows = owners_.rows(mode, worker);
  const std::uint64_t begin = std::min(rows.end, rows.begin + round * block_rows_);
  return {begin, std::min(rows.end, begin + block_rows_)};
}

// Calls visit(row) for each row of a block that its owner and another worker send each other.
template <class Visit>
void RowMoves::for_each_moved(Move move, std::size_t mode, std::size_t other, const IndexRange& block,
                              const Visit& visit) const {
  if (!moves_all(move, other)) return touched_[other].for_each(mode, block, visit);
  for (std::uint64_t row = block.begin; row < block.end; ++row) visit(row);
}

std::uint64_t RowMoves::count_moved(Move move, std::size_t mode, std::size_t other, const IndexRange& block) const {
  return moves_all(move, other) ? block.end - block.begin : touched_[other].count(mode, block);
}

void RowMoves::make(Move move, const MovedRows& what, Rows& rows, const CallersRows& callers) {
  rows_ = &rows;
  failure_ = nullptr;
  in_step(*peers_, [&] {
    if (is_of_caller(move)) return carry(move, what, callers);
    const auto mode = static_cast<std::size_t>(what.mode);
    std::uint64_t longest = 0;
    for (std::size_t worker = 0; worker < owners_.workers(); ++worker) {
      longest = std::max(longest, owners_.rows(mode, worker).end - owners_.rows(mode, worker).begin);
    }
    for (std::uint64_t round = 0; round * block_rows_ < longest; ++round) make_round(move, what.mode, round);
  });
  if (failure_) std::rethrow_exception(failure_);
}

// Whoever fails goes on, with messages of the same lengths, since the others wait for them.
template <class Action>
void RowMoves::unless_failed(const Action& action) {
  if (failure_) return;
  try {
    action();
  } catch (...) {
    failure_ = std::current_exception();
  }
}

// Every worker has a block of its own rows, and exchanges some of them with each other worker.
void RowMoves::make_round(Move move, int mode, std::uint64_t round) {
  const auto n = static_cast<std::size_t>(mode);
  const bool from_owners = move == Move::to_touchers;
  const IndexRange own = block(n, rank_, round);
  std::span<const double> whole;  // a message with all rows of the block, for all who get these
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  out_.clear();
  in_.clear();
  for (std::size_t worker = 0; worker < owners_.workers(); ++worker) {
    if (worker == rank_) continue;
    const int peer = static_cast<int>(worker);
    const IndexRange theirs = block(n, worker, round);
    const std::size_t other = from_owners ? worker : rank_;
    const IndexRange& rows_out = from_owners ? own : theirs;
    const std::uint64_t count_out = count_moved(move, n, other, rows_out);
    const std::uint64_t count_in = count_moved(move, n, from_owners ? rank_ : worker, from_owners ? theirs : own);
    if (count_in > 0) in.push_back(awaited(peer, count_in));
    if (count_out == 0) continue;
    const bool is_whole = from_owners && count_out == own.end - own.begin;
    std::span<const double> sent = whole;
    if (!is_whole || whole.empty()) {
      const std::span<double> numbers = out_.add(static_cast<std::size_t>(count_out) * columns_);
      unless_failed([&] { read_moved(move, mode, other, rows_out, numbers); });
      sent = numbers;
    }
    if (is_whole) whole = sent;
    out.push_back({peer, std::as_bytes(sent)});
  }
  // Sums of a row are added up in the order of workers, after the owner's own.
  peers_->exchange(out, in, [&](std::size_t i, std::span<const std::byte> message) {
    const auto worker = static_cast<std::size_t>(in[i].peer);
    unless_failed([&] {
      write_moved(move, mode, from_owners ? rank_ : worker, from_owners ? block(n, worker, round) : own,
                  numbers_of(message));
    });
  });
}

Incoming RowMoves::awaited(int peer, std::uint64_t rows) {
  const std::span<double> numbers = in_.add(static_cast<std::size_t>(rows) * columns_);
  return {peer, numbers.size_bytes(), std::as_writable_bytes(numbers)};
}

// The places of those rows of a block that its owner and another worker send each other, where all of the block are
// held.
std::span<const std::uint32_t> RowMoves::list_moved(Move move, std::size_t mode, std::size_t other,
                                                    const IndexRange& block) {
  const std::uint64_t first_place = places(mode, block).begin;
  listed_.clear();
  for_each_moved(move, mode, other, block, [&](std::uint64_t row) {
    listed_.push_back(static_cast<std::uint32_t>(first_place + (row - block.begin)));
  });
  return listed_;
}

void RowMoves::read_moved(Move move, int mode, std::size_t other, const IndexRange& block, std::span<double> numbers) {
  const auto n = static_cast<std::size_t>(mode);
  const bool reads_factor = move == Move::to_touchers;
  const IndexRange held = places(n, block);
  if (numbers.size() == static_cast<std::size_t>(held.end - held.begin) * columns_) {
    return reads_factor ? rows_->store_factor(mode, held.begin, numbers)
                        : rows_->read_output(mode, held.begin, numbers);
  }
  const std::span<const std::uint32_t> listed = list_moved(move, n, other, block);
  return reads_factor ? rows_->store_rows(mode, listed, numbers) : rows_->read_output_rows(mode, listed, numbers);
}

void RowMoves::write_moved(Move move, int mode, std::size_t other, const IndexRange& block,
                           std::span<const double> numbers) {
  const auto n = static_cast<std::size_t>(mode);
  if (move != Move::to_touchers) return rows_->add_output_rows(mode, list_moved(move, n, other, block), numbers);
  const IndexRange held = places(n, block);
  if (numbers.size() == static_cast<std::size_t>(held.end - held.begin) * columns_) {
    return rows_->load_factor(mode, held.begin, numbers);
  }
  rows_->load_rows(mode, list_moved(move, n, other, block), numbers);
}

std::vector<RowMoves::Part> RowMoves::parts_of(const MovedRows& what, const CallersRows& callers) const {
  const auto mode = static_cast<std::size_t>(what.mode);
  std::vector<Part> parts(owners_.workers());
  for (std::size_t worker = 0; worker < parts.size(); ++worker) {
    parts[worker].rows = common_part(what.rows, owners_.rows(mode, worker));
    parts[worker].count = parts[worker].rows.end - parts[worker].rows.begin;
  }
  for (std::size_t i = 0; i < callers.listed.size(); ++i) {
    Part& part = parts[owners_.owner_of(mode, callers.listed[i])];
    part.listed.push_back(i);
    ++part.count;
  }
  return parts;
}

// Calls visit(number of the caller's, number of the part's, how many) for numbers that lie side by side in both.
template <class Visit>
void RowMoves::for_each_stretch(const MovedRows& what, const Part& part, const Visit& visit) const {
  if (part.listed.empty()) {
    visit(static_cast<std::size_t>(part.rows.begin - what.rows.begin) * columns_, 0,
          static_cast<std::size_t>(part.count) * columns_);
  }
  for (std::size_t k = 0; k < part.listed.size(); ++k) visit(part.listed[k] * columns_, k * columns_, columns_);
}

// Rank 0 exchanges a part with each owner, itself among them.
void RowMoves::carry(Move move, const MovedRows& what, const CallersRows& callers) {
  const bool to_owners = move == Move::to_owners;
  const auto get = [&](const Part& part, std::span<double> numbers) {
    if (!to_owners) return read_part(what, callers, part, numbers);
    for_each_stretch(what, part, [&](std::size_t from, std::size_t to, std::size_t count) {
      std::ranges::copy(callers.to_owners.subspan(from, count), numbers.subspan(to).begin());
    });
  };
  const auto put = [&](const Part& part, std::span<const double> numbers) {
    if (to_owners) return write_part(what, callers, part, numbers);
    for_each_stretch(what, part, [&](std::size_t to, std::size_t from, std::size_t count) {
      std::ranges::copy(numbers.subspan(from, count), callers.to_caller.subspan(to).begin());
    });
  };
  const std::vector<Part> parts = parts_of(what, callers);
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  std::vector<const Part*> incoming;
  out_.clear();
  in_.clear();
  for (std::size_t worker = 0; worker < parts.size(); ++worker) {
    const Part& part = parts[worker];
    if (part.count == 0 || (rank_ != 0 && rank_ != worker)) continue;
    const int peer = rank_ == 0 ? static_cast<int>(worker) : 0;
    if (worker != 0 && to_owners != (rank_ == 0)) {
      in.push_back(awaited(peer, part.count));
      incoming.push_back(&part);
      continue;
    }
    const std::span<double> numbers = out_.add(static_cast<std::size_t>(part.count) * columns_);
    unless_failed([&] {
      get(part, numbers);
      if (worker == 0) put(part, numbers);
    });
    if (worker != 0) out.push_back({peer, std::as_bytes(numbers)});
  }
  peers_->exchange(out, in, [&](std::size_t i, std::span<const std::byte> message) {
    unless_failed([&] { put(*incoming[i], numbers_of(message)); });
  });
}

std::vector<std::uint32_t> RowMoves::places_of(const MovedRows& what, const CallersRows& callers,
                                               const Part& own) const {
  std::vector<std::uint32_t> found;
  for (const std::size_t i : own.listed) {
    const std::uint64_t row = callers.listed[i];
    found.push_back(static_cast<std::uint32_t>(places(static_cast<std::size_t>(what.mode), {row, row}).begin));
  }
  return found;
}

void RowMoves::write_part(const MovedRows& what, const CallersRows& callers, const Part& own,
                          std::span<const double> numbers) {
  if (!own.listed.empty()) return rows_->load_rows(what.mode, places_of(what, callers, own), numbers);
  write_rows(what, places(static_cast<std::size_t>(what.mode), own.rows).begin, numbers);
}

void RowMoves::read_part(const MovedRows& what, const CallersRows& callers, const Part& own,
                         std::span<double> numbers) const {
  if (!own.listed.empty()) return rows_->store_rows(what.mode, places_of(what, callers, own), numbers);
  read_rows(what, places(static_cast<std::size_t>(what.mode), own.rows).begin, numbers);
}

void RowMoves::read_rows(const MovedRows& what, std::uint64_t first_place, std::span<double> rows) const {
  switch (what.matrix) {
    case MovedRows::Matrix::factor:
      return rows_->store_factor(what.mode, first_place, rows);
    case MovedRows::Matrix::output:
      return rows_->read_output(what.mode, first_place, rows);
    case MovedRows::Matrix::dual:
      return rows_->store_dual(what.mode, first_place, rows);
    case MovedRows::Matrix::vector:
      return rows_->store_vector(what.vector, what.mode, first_place, rows);
  }
}

void RowMoves::write_rows(const MovedRows& what, std::uint64_t first_place, std::span<const double> rows) {
  switch (what.matrix) {
    case MovedRows::Matrix::factor:
      return rows_->load_factor(what.mode, first_place, rows);
    case MovedRows::Matrix::output:
      return rows_->load_output(what.mode, first_place, rows);
    case MovedRows::Matrix::dual:
      return rows_->load_dual(what.mode, first_place, rows);
    case MovedRows::Matrix::vector:
      return rows_->load_vector(what.vector, what.mode, first_place, rows);
  }
}

}  // namespace blco
