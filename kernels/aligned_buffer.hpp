// Zeroed, cache-line aligned memory for large arrays, returned to the system as soon as it is freed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace blco {

inline constexpr std::size_t cache_line_bytes = 64;

namespace detail {
// Maps zeroed pages; large ones may be huge pages. nullptr for 0 bytes. Throws Error{out_of_memory}.
void* map_zeroed(std::uint64_t bytes);
void unmap(void* data, std::uint64_t bytes) noexcept;
}  // namespace detail

inline constexpr std::uint64_t page_bytes = 4096;

// Memory that an AlignedBuffer of `bytes` takes: whole pages.
constexpr std::uint64_t mapped_bytes(std::uint64_t bytes) { return (bytes + page_bytes - 1) / page_bytes * page_bytes; }

// Move-only owner of `size` zeroed numbers or entries. Untouched pages cost no memory.
template <class T>
class AlignedBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(std::uint64_t size)
      : data_(static_cast<T*>(detail::map_zeroed(size * sizeof(T)))), size_(size) {}
  ~AlignedBuffer() { detail::unmap(data_, size_ * sizeof(T)); }
  AlignedBuffer(AlignedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::uint64_t size() const { return size_; }
  std::span<T> span() { return {data_, static_cast<std::size_t>(size_)}; }

 private:
  T* data_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace blco
