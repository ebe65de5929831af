// The vectors that a method keeps in a backend, and where the rows of a mode lie in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/backend_checks.hpp"

namespace blco {

// `Memory` owns the numbers of a vector: data() tells where, and size() how many. Like a view, a constant object gives
// numbers that can be written.
template <class Memory>
class MethodVectors {
 public:
  // make(shape, numbers) returns the memory of a vector, zeroed; called in their order.
  template <class Make>
  MethodVectors(const BackendConfig& config, Make make) : config_(config) {
    for (const VectorShape& vector : config.vectors) {
      memory_.push_back(make(vector, static_cast<std::size_t>(vector.rows) * static_cast<std::size_t>(config.rank)));
    }
  }

  // The rows of a mode, or a part of them from `first_row` on. All throw Error{invalid_argument} for what is not there.
  std::span<double> rows(int vector, int mode) const {
    Memory& memory = (*this)[vector];
    const VectorShape& shape = config_.vectors[static_cast<std::size_t>(vector)];
    std::uint64_t first = 0;
    for (int before = 0; before < mode && shape.has_all_modes; ++before) first += config_.rows_of(before);
    const std::uint64_t count = config_.rows_of(mode);
    require(first + count <= shape.rows,
            "vector " + std::to_string(vector) + " has no room for mode " + std::to_string(mode));
    const auto columns = static_cast<std::uint64_t>(config_.rank);
    return {memory.data() + first * columns, static_cast<std::size_t>(count * columns)};
  }
  std::span<double> part(int vector, int mode, std::uint64_t first_row, std::size_t numbers) const {
    check_row_block(config_.rows_of(mode), config_.rank, first_row, numbers);
    return rows(vector, mode)
        .subspan(static_cast<std::size_t>(first_row) * static_cast<std::size_t>(config_.rank), numbers);
  }
  Memory& operator[](int vector) const {
    require(vector >= 0 && static_cast<std::size_t>(vector) < memory_.size(),
            "vector " + std::to_string(vector) + " is not one of BackendConfig::vectors");
    return memory_[static_cast<std::size_t>(vector)];
  }
  // Both whole.
  std::pair<std::span<const double>, std::span<double>> equal_pair(int from, int to) const {
    Memory& source = (*this)[from];
    Memory& target = (*this)[to];
    require(source.size() == target.size(), "copy_vector: the vectors have different sizes");
    return {{source.data(), source.size()}, {target.data(), target.size()}};
  }

 private:
  BackendConfig config_;
  mutable std::vector<Memory> memory_;
};

}  // namespace blco
