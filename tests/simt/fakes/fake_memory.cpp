#include "tests/simt/fakes/fake_memory.hpp"

#include <cstdlib>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace simt {
namespace {

// Of cudaMalloc. The memory is no longer than asked for, so that the address sanitizer sees what lies beyond.
constexpr std::size_t alignment = 256;
constexpr int pattern = 0xff;

}  // namespace

void* FakeMemory::allocate(std::size_t bytes, std::size_t granule, int device) {
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, bytes) != 0) return nullptr;
  std::memset(memory, pattern, bytes);
  open(device);
  ranges_.emplace(static_cast<const std::byte*>(memory),
                  Range{bytes, (bytes + granule - 1) / granule * granule, device});
  return memory;
}

void FakeMemory::release(void* memory) {
  ranges_.erase(static_cast<const std::byte*>(memory));
  std::free(memory);
}

std::size_t FakeMemory::size(const void* memory) const {
  const auto range = ranges_.find(static_cast<const std::byte*>(memory));
  return range == ranges_.end() ? 0 : range->second.bytes;
}

std::size_t FakeMemory::taken(const void* memory) const {
  return ranges_.at(static_cast<const std::byte*>(memory)).taken;
}

std::optional<int> FakeMemory::device_of(const void* memory, std::size_t bytes) const {
  const auto* first = static_cast<const std::byte*>(memory);
  auto range = ranges_.upper_bound(first);
  if (range == ranges_.begin()) return std::nullopt;
  --range;
  const auto offset = static_cast<std::size_t>(first - range->first);
  const std::size_t all = range->second.bytes;
  return offset <= all && bytes <= all - offset ? std::optional(range->second.device) : std::nullopt;
}

std::size_t FakeMemory::taken_of(int device) const {
  std::size_t sum = 0;
  for (const auto& [memory, range] : ranges_) sum += range.device == device ? range.taken : 0;
  return sum;
}

void FakeMemory::open(int device) {
  if (open_ == device) return;
  close();
#if defined(__SANITIZE_ADDRESS__)
  for (const auto& [memory, range] : ranges_) {
    if (range.device == device) __asan_unpoison_memory_region(memory, range.bytes);
  }
#endif
  open_ = device;
}

void FakeMemory::close() {
#if defined(__SANITIZE_ADDRESS__)
  if (!open_) return;
  for (const auto& [memory, range] : ranges_) __asan_poison_memory_region(memory, range.bytes);
#endif
  open_.reset();
}

}  // namespace simt
