// Vectors for numbers that are written before they are read: resize() leaves new elements uninitialised and their pages
// untouched, so the threads that fill them share the cost of page faults.
#pragma once

#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace blco {

template <class T>
struct RawAllocator : std::allocator<T> {
  static_assert(std::is_trivial_v<T>);

  template <class U>
  struct rebind {
    using other = RawAllocator<U>;
  };

  RawAllocator() = default;
  template <class U>
  RawAllocator(const RawAllocator<U>&) {}

  template <class U>
  void construct(U* at) noexcept {
    ::new (static_cast<void*>(at)) U;
  }
  template <class U, class... Arguments>
  void construct(U* at, Arguments&&... arguments) {
    ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
  }
};

template <class T>
using RawVector = std::vector<T, RawAllocator<T>>;

// Empties a vector and frees its memory, which `vector = {}` would keep.
template <class Vector>
void free_memory(Vector& vector) {
  Vector().swap(vector);
}

}  // namespace blco
