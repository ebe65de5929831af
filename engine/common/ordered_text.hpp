// Text that all threads make and a sink receives in order: while a round is made, that of the last one goes out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blco/executor.hpp"

namespace blco {

class OrderedText {
 public:
  // Both arguments must outlive this.
  OrderedText(Executor& executor, const std::function<void(std::string_view)>& sink)
      : executor_(executor), sink_(sink) {}

  // make(task, text) appends the text of a task to an empty string. Any thread.
  template <class Make>
  void add_round(std::size_t tasks, const Make& make) {
    making_.resize(std::max(making_.size(), tasks));
    executor_.run(tasks + 1, [&](std::size_t task) {
      if (task == 0) return finish();
      making_[task - 1].clear();
      make(task - 1, making_[task - 1]);
    });
    std::swap(made_, making_);
    made_count_ = tasks;
  }

  // Call after the last round.
  void finish() {
    for (const std::string& text : std::span(made_).first(std::exchange(made_count_, 0))) write(text);
  }

  // Directly, such as a header before the first round.
  void write(std::string_view text) {
    sink_(text);
    bytes_ += text.size();
  }

  // Written so far.
  std::uint64_t bytes() const { return bytes_; }

 private:
  Executor& executor_;
  const std::function<void(std::string_view)>& sink_;
  std::vector<std::string> made_;
  std::vector<std::string> making_;
  std::size_t made_count_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace blco
