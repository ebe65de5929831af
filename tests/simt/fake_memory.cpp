#include "tests/simt/fake_memory.hpp"

#include <cstdlib>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace simt {
namespace {

// Of cudaMalloc. The size is not rounded up, so that the address sanitizer sees what lies beyond.
constexpr std::size_t alignment = 256;
constexpr int pattern = 0xcd;

}  // namespace

void* FakeMemory::allocate(std::size_t bytes) {
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, bytes) != 0) return nullptr;
  std::memset(memory, pattern, bytes);
  open();
  ranges_.emplace(static_cast<const std::byte*>(memory), bytes);
  return memory;
}

void FakeMemory::release(void* memory) {
  ranges_.erase(static_cast<const std::byte*>(memory));
  std::free(memory);
}

std::size_t FakeMemory::size(const void* memory) const {
  const auto range = ranges_.find(static_cast<const std::byte*>(memory));
  return range == ranges_.end() ? 0 : range->second;
}

bool FakeMemory::contains(const void* memory, std::size_t bytes) const {
  const auto* first = static_cast<const std::byte*>(memory);
  auto range = ranges_.upper_bound(first);
  if (range == ranges_.begin()) return false;
  --range;
  const auto offset = static_cast<std::size_t>(first - range->first);
  return offset <= range->second && bytes <= range->second - offset;
}

void FakeMemory::open() {
#if defined(__SANITIZE_ADDRESS__)
  if (!closed_) return;
  for (const auto& [memory, bytes] : ranges_) __asan_unpoison_memory_region(memory, bytes);
#endif
  closed_ = false;
}

void FakeMemory::close() {
#if defined(__SANITIZE_ADDRESS__)
  if (closed_) return;
  for (const auto& [memory, bytes] : ranges_) __asan_poison_memory_region(memory, bytes);
#endif
  closed_ = true;
}

}  // namespace simt
