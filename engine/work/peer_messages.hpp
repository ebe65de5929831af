// What a process and its parent send each other. All are processes of one build on one kind of machine, so numbers and
// structs travel as they lie in memory.
#pragma once

#include <algorithm>
#include <array>
#include <blco/peers.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "blco/error.hpp"
#include "engine/work/chunk_share.hpp"
#include "kernels/backend.hpp"

namespace blco {

enum class MessageKind : std::uint64_t {
  begin,    // JobOrder; answered by done or failed
  load,     // RowRun and rows of a factor
  pass,     // PassOrder and chunk numbers; answered by done and rows of each output, or by failed
  end,      // of the job; answered by ended, after which nothing of the job is on its way
  dismiss,  // of serve()
  done,     // PassReply; of a begin, then which rows the chunks there and below have
  ended,
  failed,  // ErrorKind and its message
  rows,    // RowRun and rows of an output
};

// What a peer must know of a job; its tensor must be rank 0's.
struct JobOrder {
  std::array<char, 16> version{};
  std::uint64_t nnz = 0;
  double sum_of_squares = 0;
  std::uint32_t chunks_crc = 0;  // crc_of_chunks()
  int columns = 0;               // of the factors
  Precision precision = Precision::f64;
  bool all_outputs = false;
  bool loss_passes = false;
  bool deterministic = false;
  bool single_pass = false;  // keeping chunks does not pay
  bool of_thread = false;    // JobNeeds::of_thread
  bool draws = false;        // JobNeeds::draws
  int value_exponent = 0;    // JobNeeds::value_exponent
};

// Of the rows that the chunks of the peer and of those below it have, so many from the first one on.
struct RowRun {
  int mode = 0;
  std::uint64_t first_row = 0;
  std::uint64_t count = 0;
};

struct PassOrder {
  PassRequest request = PassRequest(0);
  bool some_chunks = false;  // those whose numbers follow, else all
  bool forward = true;
};

struct PassReply {
  double sum_of_terms = 0;
  std::uint64_t bytes_read = 0;  // since the job began
};

// One message being put together.
class Message {
 public:
  explicit Message(MessageKind kind) { put(kind); }

  template <class T>
  Message& put(const T& item) {
    static_assert(std::is_trivially_copyable_v<T>);
    return put(std::span(&item, 1));
  }
  template <class T>
  Message& put(std::span<T> items) {
    const auto bytes = std::as_bytes(items);
    const std::size_t at = bytes_.size();
    bytes_.resize(at + bytes.size());
    if (!bytes.empty()) std::memcpy(bytes_.data() + at, bytes.data(), bytes.size());
    return *this;
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// One that has been received, taken apart in the same order.
class ReceivedMessage {
 public:
  explicit ReceivedMessage(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) { kind_ = take<MessageKind>(); }

  MessageKind kind() const { return kind_; }

  template <class T>
  T take() {
    T item{};
    const std::span<const std::byte> from = take_bytes(sizeof(T));
    std::memcpy(static_cast<void*>(&item), from.data(), from.size());
    return item;
  }
  template <class T>
  std::vector<T> take(std::size_t count) {
    std::vector<T> items(count);
    const std::span<const std::byte> from = take_bytes(count * sizeof(T));
    if (!items.empty()) std::memcpy(items.data(), from.data(), from.size());
    return items;
  }
  // All that is left.
  template <class T>
  std::vector<T> take_rest() {
    return take<T>((bytes_.size() - at_) / sizeof(T));
  }

 private:
  std::span<const std::byte> take_bytes(std::size_t count) {
    if (count > bytes_.size() - at_) {
      throw Error(ErrorKind::io, "a message from another process is shorter than it must be; all must be of one build");
    }
    at_ += count;
    return std::span(bytes_).subspan(at_ - count, count);
  }

  std::vector<std::byte> bytes_;
  std::size_t at_ = 0;
  MessageKind kind_;
};

// Rows of a message, or of a block that is put together: about half a mebibyte of numbers.
constexpr std::uint64_t rows_of_message(int columns) {
  constexpr std::uint64_t numbers = 1 << 16;
  return std::max<std::uint64_t>(1, numbers / static_cast<std::uint64_t>(columns));
}
constexpr std::uint64_t message_bytes(int columns) {
  return rows_of_message(columns) * static_cast<std::uint64_t>(columns) * sizeof(double) + 4096;
}
// How many are there at once, as blocks and as messages, beside what the transport keeps.
constexpr std::uint64_t messages_at_once = 6;
// Of the rows that a peer's chunks have, beside those that stay, while they are sent.
constexpr std::uint64_t bitmaps_at_once = 2;

// Rows on their way to a peer, as many in a message as it has room for.
class RowSender {
 public:
  RowSender(Peers& peers, int to, MessageKind kind, int mode, int columns)
      : peers_(&peers), to_(to), kind_(kind), run_{.mode = mode}, columns_(columns) {}

  void add(std::uint64_t number, std::span<const double> row) {
    if (run_.count == 0) run_.first_row = number;
    numbers_.insert(numbers_.end(), row.begin(), row.end());
    if (++run_.count == rows_of_message(columns_)) send();
  }
  // Call at the end.
  void send() {
    if (run_.count > 0) peers_->send(to_, Message(kind_).put(run_).put(std::span(numbers_)).bytes());
    run_.count = 0;
    numbers_.clear();
  }

 private:
  Peers* peers_;
  int to_;
  MessageKind kind_;
  RowRun run_;
  int columns_;
  std::vector<double> numbers_;
};

// Calls visit(an IndexRange) for each block of rows from `begin` to `end` - 1.
template <class Visit>
void for_each_message_block(std::uint64_t begin, std::uint64_t end, int columns, const Visit& visit) {
  const std::uint64_t most = rows_of_message(columns);
  for (std::uint64_t row = begin; row < end; row += most) visit(IndexRange{row, std::min(row + most, end)});
}

}  // namespace blco
