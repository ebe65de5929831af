// A call with a stack of its own that can be left in its middle: what an emulated CUDA thread runs on.
#pragma once

#include <cstddef>
#include <span>

namespace simt {

class Stack {
 public:
  Stack();
  ~Stack();
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  std::span<char> bytes() const { return bytes_; }

 private:
  std::span<char> bytes_;
};

// Not movable while it runs.
class Fiber {
 public:
  using Entry = void (*)(void* argument);

  Fiber() = default;
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // `entry` runs on `stack` from the first resume() on, and to ThreadSanitizer in `race_context`. It must not return,
  // but suspend for the last time.
  void start(const Stack& stack, void* race_context, Entry entry, void* argument = nullptr);
  void* race_context() const { return race_context_; }
  // Runs the fiber until it suspends.
  void resume();
  // Called on the fiber: goes back to who resumed it.
  void suspend(bool for_the_last_time);

  // Tells ThreadSanitizer that what this fiber did so far comes before all that fibers do after acquire(place).
  void release(void* place);
  void acquire(void* place);

 private:
  std::span<char> stack_;
  Entry entry_ = nullptr;
  void* argument_ = nullptr;
  void* context_ = nullptr;  // where this fiber goes on, or, while it runs, who resumed it
  void* race_context_ = nullptr;
  void* resumer_race_context_ = nullptr;
  void* resumer_fake_stack_ = nullptr;
  const void* resumer_stack_ = nullptr;
  std::size_t resumer_stack_bytes_ = 0;
};

}  // namespace simt
