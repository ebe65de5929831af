// Memory ranges allocated by the fake runtime, on the device or pinned.
#pragma once

#include <cstddef>
#include <map>

namespace simt {

class FakeMemory {
 public:
  // Filled with a pattern. Null if memory is exhausted.
  void* allocate(std::size_t bytes);
  // The memory was allocated here and is open.
  void release(void* memory);

  // Bytes of the allocation that begins at `memory`; 0 if none does.
  std::size_t size(const void* memory) const;
  // True if [memory, memory + bytes) lies in one allocation.
  bool contains(const void* memory, std::size_t bytes) const;
  std::size_t count() const { return ranges_.size(); }

  // With the address sanitizer, touching closed memory ends the program. New memory is open.
  void open();
  void close();

 private:
  std::map<const std::byte*, std::size_t> ranges_;
  bool closed_ = false;
};

}  // namespace simt
