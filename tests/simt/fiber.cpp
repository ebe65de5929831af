#include "tests/simt/fiber.hpp"

#include <sys/mman.h>

#include <boost/context/detail/fcontext.hpp>
#include <new>

#include "tests/simt/race_context.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace simt {
namespace {

namespace context = boost::context::detail;

constexpr std::size_t stack_bytes = 256 << 10;
constexpr std::size_t guard_bytes = 4096;

#if defined(__SANITIZE_ADDRESS__)
void begin_switch(void** fake_stack, const void* stack, std::size_t bytes) {
  __sanitizer_start_switch_fiber(fake_stack, stack, bytes);
}
void end_switch(void* fake_stack, const void** old_stack, std::size_t* old_bytes) {
  __sanitizer_finish_switch_fiber(fake_stack, old_stack, old_bytes);
}
// What ended on this stack before left its redzones behind.
void clean(std::span<char> stack) { __asan_unpoison_memory_region(stack.data(), stack.size()); }
#else
void begin_switch(void**, const void*, std::size_t) {}
void end_switch(void*, const void**, std::size_t*) {}
void clean(std::span<char>) {}
#endif

}  // namespace

Stack::Stack() {
  void* memory = mmap(nullptr, guard_bytes + stack_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, guard_bytes, PROT_NONE) != 0) throw std::bad_alloc();
  bytes_ = {static_cast<char*>(memory) + guard_bytes, stack_bytes};
}

Stack::~Stack() {
  clean(bytes_);
  munmap(bytes_.data() - guard_bytes, guard_bytes + bytes_.size());
}

void Fiber::start(const Stack& stack, void* race_context, Entry entry, void* argument) {
  stack_ = stack.bytes();
  clean(stack_);
  entry_ = entry;
  argument_ = argument;
  race_context_ = race_context;
  context_ = context::make_fcontext(stack_.data() + stack_.size(), stack_.size(), [](context::transfer_t transfer) {
    auto& fiber = *static_cast<Fiber*>(transfer.data);
    fiber.context_ = transfer.fctx;
    end_switch(nullptr, &fiber.resumer_stack_, &fiber.resumer_stack_bytes_);
    fiber.entry_(fiber.argument_);
  });
}

void Fiber::resume() {
  resumer_race_context_ = current_race_context();
  begin_switch(&resumer_fake_stack_, stack_.data(), stack_.size());
  enter_race_context(race_context_);
  context_ = context::jump_fcontext(context_, this).fctx;
  end_switch(resumer_fake_stack_, nullptr, nullptr);
}

void Fiber::suspend(bool for_the_last_time) {
  void* fake_stack = nullptr;
  begin_switch(for_the_last_time ? nullptr : &fake_stack, resumer_stack_, resumer_stack_bytes_);
  enter_race_context(resumer_race_context_);
  context_ = context::jump_fcontext(context_, nullptr).fctx;
  end_switch(fake_stack, &resumer_stack_, &resumer_stack_bytes_);  // this time it may be another thread
}

void Fiber::release(void* place) { release_in(race_context_, place); }
void Fiber::acquire(void* place) { acquire_in(race_context_, place); }

}  // namespace simt
