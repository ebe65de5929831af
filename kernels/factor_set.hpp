// The factor matrices of a backend and, where that is wanted, what each was before its last update.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "blco/error.hpp"

namespace blco {

template <class Matrix>
class FactorSet {
 public:
  void add(Matrix current) { current_.push_back(std::move(current)); }
  // `previous` is of the same size; its contents do not matter.
  void add(Matrix current, Matrix previous) {
    add(std::move(current));
    previous_.push_back(std::move(previous));
  }

  Matrix& operator[](int mode) { return current_[static_cast<std::size_t>(mode)]; }
  const Matrix& operator[](int mode) const { return current_[static_cast<std::size_t>(mode)]; }

  // The matrix to overwrite with the new factor. Where previous ones are kept, the factor so far becomes that.
  Matrix& begin_update(int mode) {
    if (!previous_.empty()) swap(mode);
    return (*this)[mode];
  }

  // Takes the last update of a mode back. Throws Error{invalid_argument} where previous ones are not kept.
  void restore(int mode) {
    if (previous_.empty()) throw Error(ErrorKind::invalid_argument, "factors before their update were not kept");
    swap(mode);
  }

  // Hands a matrix out at the end; from then on nothing can be restored.
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
