// What processes send each other along their tree. All are of one build on one kind of machine, so numbers and structs
// travel as they lie in memory.
#pragma once

#include <algorithm>
#include <blco/peers.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "blco/error.hpp"
#include "kernels/backend.hpp"

namespace blco {

// Orders of rank 0, which go down the tree, and answers, which come up. Nobody answers an order that has no numbers to
// return, nor waits for it: moves but those of is_of_caller(), passes but those of PassOrder::is_answered, and
// steps and orders about numbers or matrices for which combining_of() says none. The answer to others is done, or
// failed if the process or one below it could not do this order or one since the last answer.
enum class MessageKind : std::uint32_t {
  begin,       // begin_order(); answered with how often each unit of rows is touched (TouchedRows::counts)
  owners,      // the first rows of RowOwners; answered with how many workers have no room for previous factors
  move,        // Move, MovedRows and CallersRows::listed: all processes move rows among each other
  pass,        // PassOrder and chunk numbers; answered with the sum of the terms
  step,        // StepOrder and its numbers; answered with those of take_step
  numbers,     // NumbersOrder and its numbers; answered with those of OwnNumbers
  matrices,    // MatrixOrder and its numbers; answered with those of OwnMatrices
  bytes_read,  // answered with how many bytes the job's passes have read
  end,         // of the job
  dismiss,     // of serve(), which nobody answers
  done,        // numbers
  failed,      // ErrorKind and its message
};

struct PassOrder {
  PassRequest request = PassRequest(0);
  bool some_chunks = false;  // those whose numbers follow, else all
  bool forward = true;
  bool is_answered = false;
};

// One message being put together.
class Message {
 public:
  explicit Message(MessageKind kind) { put(Head{.kind = kind}); }

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
  std::span<const std::byte> bytes() {
    const std::uint64_t length = bytes_.size();
    std::memcpy(bytes_.data() + offsetof(Head, bytes), &length, sizeof(length));
    return bytes_;
  }

 private:
  friend class ReceivedMessage;
  // What a message begins with.
  struct Head {
    std::uint32_t magic = 0x6f636c62;  // "blco"
    MessageKind kind;
    std::uint64_t bytes = 0;  // of the whole message
  };

  std::vector<std::byte> bytes_;
};

// One that has been received, taken apart in the same order.
class ReceivedMessage {
 public:
  // Throws Error{io} for what is no message.
  explicit ReceivedMessage(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {
    const auto head = take<Message::Head>();
    if (head.magic != Message::Head{}.magic || head.bytes != bytes_.size()) refuse();
    kind_ = head.kind;
  }

  MessageKind kind() const { return kind_; }
  std::span<const std::byte> bytes() const { return bytes_; }

  // What the message begins with, which is not taken.
  template <class T>
  T first() const {
    T item{};
    if (sizeof(Message::Head) + sizeof(T) > bytes_.size()) refuse();
    std::memcpy(static_cast<void*>(&item), bytes_.data() + sizeof(Message::Head), sizeof(T));
    return item;
  }
  template <class T>
  T take() {
    T item{};
    const std::span<const std::byte> from = take_bytes(sizeof(T));
    std::memcpy(static_cast<void*>(&item), from.data(), from.size());
    return item;
  }
  // All that is left.
  template <class T>
  std::vector<T> take_rest() {
    std::vector<T> items((bytes_.size() - at_) / sizeof(T));
    const std::span<const std::byte> from = take_bytes(bytes_.size() - at_);
    if (from.size() != items.size() * sizeof(T)) refuse();
    if (!items.empty()) std::memcpy(items.data(), from.data(), from.size());
    return items;
  }

 private:
  [[noreturn]] static void refuse() {
    throw Error(ErrorKind::io, "a message from another process is not one of this build; all must be of one build");
  }
  std::span<const std::byte> take_bytes(std::size_t count) {
    if (count > bytes_.size() - at_) refuse();
    at_ += count;
    return std::span(bytes_).subspan(at_ - count, count);
  }

  std::vector<std::byte> bytes_;
  std::size_t at_ = 0;
  MessageKind kind_ = MessageKind::failed;
};

}  // namespace blco
