// Zeroed, cache-line aligned memory for large arrays, returned to the system as soon as it is freed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/account.hpp"

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

// From where owners take memory. In a dry run nothing is allocated, and an account is told what would be: so the
// constructor of an owner is the one list of what it takes.
class MemorySource {
 public:
  MemorySource() = default;  // the system
  // A dry run; `account` must outlive this.
  explicit MemorySource(Account& account) : account_(&account) {}

  // The same source for another term; `name` is a literal.
  MemorySource of(std::string_view name, bool by_rank = false) const {
    MemorySource source = *this;
    source.term_ = {.name = name, .by_rank = by_rank};
    return source;
  }
  MemorySource by_rank(std::string_view name) const { return of(name, true); }

  // Both zeroed; in a dry run nullptr, and empty. Pages are those of map_zeroed().
  void* pages(std::uint64_t bytes) const { return counts(mapped_bytes(bytes)) ? nullptr : detail::map_zeroed(bytes); }
  template <class T>
  std::vector<T> vector(std::uint64_t size) const {
    return std::vector<T>(counts(size * sizeof(T)) ? 0 : static_cast<std::size_t>(size));
  }

 private:
  // Whether this is a dry run, which only counts the bytes.
  bool counts(std::uint64_t bytes) const {
    if (account_ != nullptr) account_->take(MemoryTerm{term_.name, bytes, term_.by_rank});
    return account_ != nullptr;
  }

  Account* account_ = nullptr;  // null: no dry run
  MemoryTerm term_;
};

// What an owner that is made of these arguments takes. Its constructor's last parameter is a MemorySource.
template <class Owner, class... Arguments>
std::uint64_t bytes_of(Arguments&&... arguments) {
  Account account;
  const Owner dry(std::forward<Arguments>(arguments)..., MemorySource(account));
  return account.bytes();
}

// Move-only owner of `size` zeroed numbers or entries. Untouched pages cost no memory. In a dry run there are none.
template <class T>
class AlignedBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(std::uint64_t size, const MemorySource& memory = {})
      : data_(static_cast<T*>(memory.pages(size * sizeof(T)))), size_(size) {}
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
