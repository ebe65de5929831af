#include "engine/work/order_tree.hpp"

#include <exception>
#include <string>

namespace blco {

void OrderTree::send_down(std::span<const std::byte> order) const {
  std::optional<Error> first;
  for (const int child : children_) {
    try {
      peers_->send(child, order);
    } catch (const Error& error) {
      if (!first) first = error;
    }
  }
  if (first) throw *first;
}

std::optional<PeerError> OrderTree::gather(std::vector<double>& numbers, Combining combining) const {
  std::optional<PeerError> first;
  for (const int child : children_) {
    ReceivedMessage answer(peers_->receive(child));
    if (answer.kind() == MessageKind::failed) {
      const auto kind = answer.take<ErrorKind>();
      const std::vector<char> text = answer.take_rest<char>();
      if (!first) first = PeerError(kind, std::string(text.begin(), text.end()));
      continue;
    }
    const std::vector<double> theirs = answer.take_rest<double>();
    if (answer.kind() != MessageKind::done || !combine(combining, numbers, theirs)) {
      throw Error(ErrorKind::io, peers_->name(child) + " has given an answer to another order");
    }
  }
  return first;
}

std::vector<double> OrderTree::order(Message& message, Combining combining,
                                     const std::function<std::vector<double>()>& own_part) const {
  begin(message);
  std::vector<double> numbers;
  std::exception_ptr own_failure;
  try {
    numbers = here(own_part);
  } catch (const OutOfStep&) {
    throw;
  } catch (...) {
    own_failure = std::current_exception();
  }
  const std::optional<PeerError> failure = gather(numbers, combining);
  if (own_failure) std::rethrow_exception(own_failure);
  if (failure) throw *failure;
  return numbers;
}

void OrderTree::post(Message& message, const std::function<std::vector<double>()>& own_part) const {
  begin(message);
  here(own_part);
}

void OrderTree::begin(Message& message) const {
  if (out_of_step_) throw *out_of_step_;
  send_down(message.bytes());
}

std::vector<double> OrderTree::here(const std::function<std::vector<double>()>& own_part) const {
  try {
    return own_part();
  } catch (const OutOfStep& failure) {
    out_of_step_ = failure;
    peers_->leave(failure);
    throw;
  }
}

JobAtPeers::~JobAtPeers() {
  if (!tree_.is_in_step()) return;
  try {
    Message message(MessageKind::end);
    tree_.order(message, Combining::sums, [] { return std::vector<double>(); });
  } catch (...) {
    // Whoever ends the job because of that has told why, and a result is read by an order that is answered.
  }
}

}  // namespace blco
