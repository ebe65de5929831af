// A call with its own stack that can be suspended midway: what an emulated CUDA thread runs on.
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

  // `entry` runs on `stack` from the first resume() on; ThreadSanitizer sees it in `race_context`. It must not return,
  // but suspend one last time.
  void start(const Stack& stack, void* race_context, Entry entry, void* argument = nullptr);
  void* race_context() const { return race_context_; }
  // Runs the fiber until it suspends.
  void resume();
  // Call on the fiber: returns to whoever resumed it.
  void suspend(bool for_the_last_time);

  // Tells ThreadSanitizer that everything this fiber did so far precedes what fibers do after acquire(place).
  void release(void* place);
  void acquire(void* place);

 private:
  std::span<char> stack_;
  Entry entry_ = nullptr;
  void* argument_ = nullptr;
  void* context_ = nullptr;  // where this fiber continues; while it runs, who resumed it
  void* race_context_ = nullptr;
  void* resumer_race_context_ = nullptr;
  void* resumer_fake_stack_ = nullptr;
  const void* resumer_stack_ = nullptr;
  std::size_t resumer_stack_bytes_ = 0;
};

}  // namespace simt
