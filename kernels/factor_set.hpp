// The factor matrices of a backend, how often each has been changed and, optionally, each as it was before its last
// update.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "blco/error.hpp"

namespace blco {

template <class Matrix>
class FactorSet {
 public:
  // Adds make(), and if previous factors are kept, another one for the factor before.
  template <class Make>
  void add(bool keep_previous, const Make& make) {
    current_.push_back(make());
    versions_.push_back(0);
    if (keep_previous) previous_.push_back(make());
  }

  Matrix& operator[](int mode) { return current_[static_cast<std::size_t>(mode)]; }
  const Matrix& operator[](int mode) const { return current_[static_cast<std::size_t>(mode)]; }

  // Rises with begin_update, restore and mark_changed, which other writers of the matrix call.
  std::uint64_t version(int mode) const { return versions_[static_cast<std::size_t>(mode)]; }
  void mark_changed(int mode) { ++versions_[static_cast<std::size_t>(mode)]; }

  // Returns the matrix to overwrite with the new factor. If previous factors are kept, the current one becomes
  // previous.
  Matrix& begin_update(int mode) {
    mark_changed(mode);
    if (!previous_.empty()) swap(mode);
    return (*this)[mode];
  }

  // The matrix as it was before begin_update; it is the one to overwrite if previous factors are not kept.
  const Matrix& before_update(int mode) const {
    return previous_.empty() ? (*this)[mode] : previous_[static_cast<std::size_t>(mode)];
  }

  // Undoes the last update of a mode. Throws Error{invalid_argument} if previous factors are not kept.
  void restore(int mode) {
    if (previous_.empty()) throw Error(ErrorKind::invalid_argument, "factors before their update were not kept");
    mark_changed(mode);
    swap(mode);
  }

  // Moves a matrix out at the end; after that, restore() throws.
  Matrix take(int mode) {
    previous_.clear();
    return std::exchange((*this)[mode], Matrix());
  }

 private:
  void swap(int mode) { std::swap((*this)[mode], previous_[static_cast<std::size_t>(mode)]); }

  std::vector<Matrix> current_;
  std::vector<std::uint64_t> versions_;
  std::vector<Matrix> previous_;  // empty: not kept
};

}  // namespace blco
