// The factor matrices of a backend and, optionally, each as it was before its last update.
#pragma once

#include <cstddef>
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
    if (keep_previous) previous_.push_back(make());
  }

  Matrix& operator[](int mode) { return current_[static_cast<std::size_t>(mode)]; }
  const Matrix& operator[](int mode) const { return current_[static_cast<std::size_t>(mode)]; }

  // Returns the matrix to overwrite with the new factor. If previous factors are kept, the current one becomes
  // previous.
  Matrix& begin_update(int mode) {
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
  std::vector<Matrix> previous_;  // empty: not kept
};

}  // namespace blco
