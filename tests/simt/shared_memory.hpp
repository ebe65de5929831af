// The dynamic shared memory of one block: exactly as large as requested, so that the address sanitizer detects accesses
// beyond it, and filled with a pattern.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

namespace simt {

class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    void* memory = nullptr;
#ifdef SIMT_TSAN
    // Fresh memory from the system has no history with ThreadSanitizer, and leaves none when returned.
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
#else
    // CUDA guarantees no larger alignment unless a kernel asks for it.
    if (posix_memalign(&memory, alignment, bytes) != 0) throw std::bad_alloc();
    std::memset(memory, pattern, bytes);
#endif
    data_ = static_cast<std::byte*>(memory);
  }
  ~SharedMemory() {
    if (data_ == nullptr) return;
#ifdef SIMT_TSAN
    munmap(data_, bytes_);
#else
    std::free(data_);
#endif
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::byte* data() const { return data_; }

 private:
  static constexpr std::size_t alignment = 16;
  static constexpr int pattern = 0xcd;

  std::byte* data_ = nullptr;
  std::size_t bytes_;
};

}  // namespace simt
