// Memory ranges allocated by the fake runtime, on the device or pinned.
#pragma once

#include <cstddef>
#include <map>
#include <optional>

namespace simt {

class FakeMemory {
 public:
  // Filled with NaNs; takes whole granules. Null if memory is exhausted.
  void* allocate(std::size_t bytes, std::size_t granule, int device = 0);
  // The memory was allocated here and is open.
  void release(void* memory);

  // Bytes of the allocation that begins at `memory`; 0 if none does. Those that it takes are whole granules.
  std::size_t size(const void* memory) const;
  std::size_t taken(const void* memory) const;
  // The device of the allocation that [memory, memory + bytes) lies in; none: it does not lie in one.
  std::optional<int> device_of(const void* memory, std::size_t bytes) const;
  bool contains(const void* memory, std::size_t bytes) const { return device_of(memory, bytes).has_value(); }
  std::size_t count() const { return ranges_.size(); }
  std::size_t taken_of(int device) const;  // by all allocations

  // With the address sanitizer, touching closed memory ends the program. That of one device is open, at most. New
  // memory is open.
  void open(int device);
  void close();

 private:
  struct Range {
    std::size_t bytes;
    std::size_t taken;
    int device;
  };

  std::map<const std::byte*, Range> ranges_;
  std::optional<int> open_ = 0;  // a device
};

}  // namespace simt
