// Large arrays on large pages, left uninitialised: memory is taken as it is touched and given back at the end.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace blco {

template <class T>
class PageArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  PageArray() = default;
  // Throws std::bad_alloc.
  explicit PageArray(std::size_t count) : count_(count) {
    if (count == 0) return;
    if (count > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_alloc();
    void* pages = ::mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<T*>(pages);
    // Where the system has no large pages, small ones do.
    static_cast<void>(::madvise(pages, bytes(), MADV_HUGEPAGE));
  }
  PageArray(PageArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  PageArray& operator=(PageArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~PageArray() {
    if (data_ != nullptr) ::munmap(data_, bytes());
  }

  T* data() const { return data_; }
  T& operator[](std::size_t i) const { return data_[i]; }
  std::span<T> span() const { return {data_, count_}; }

 private:
  std::size_t bytes() const { return count_ * sizeof(T); }

  T* data_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace blco
