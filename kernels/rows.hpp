// The numbers that a device holds: rows of the factors, of the outputs, and of what methods keep beside them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace blco {

// A matrix of f64 that a method keeps beside the factors, for the rows of one mode at a time, from its first row on, or
// of all modes, one after the other.
struct VectorShape {
  std::uint64_t rows = 0;
  bool has_all_modes = false;
  std::string_view name = "vectors of the method";  // in an Account
};

// N factor matrices of R columns, and one output, or one per mode with BackendConfig::all_outputs. Calls come from one
// thread. A row's number is the container's coordinate, or its place among BackendConfig::held. Denormal numbers of the
// precision may count as zero.
class Rows {
 public:
  virtual ~Rows() = default;

  // Sets rows from `first_row` on, row-major with R columns; f64 whatever the precision inside.
  virtual void load_factor(int mode, std::uint64_t first_row, std::span<const double> rows) = 0;
  // Reads the same rows back, in f64.
  virtual void store_factor(int mode, std::uint64_t first_row, std::span<double> rows) const = 0;
  // Same for scattered rows: `rows` lists their numbers, each once, and `values` holds the rows in that order. As the
  // other functions for scattered rows, they take one call per row unless a backend does better.
  virtual void load_rows(int mode, std::span<const std::uint32_t> rows, std::span<const double> values) {
    for_each_of(rows, values, [&](auto row, auto numbers) { load_factor(mode, row, numbers); });
  }
  virtual void store_rows(int mode, std::span<const std::uint32_t> rows, std::span<double> values) const {
    for_each_of(rows, values, [&](auto row, auto numbers) { store_factor(mode, row, numbers); });
  }
  // Equal numbers: the rows have not been changed in between.
  virtual std::uint64_t version(int mode) const = 0;
  // Duals of a mode of BackendConfig::dual_modes, zero at first: as load_factor and store_factor.
  virtual void load_dual(int mode, std::uint64_t first_row, std::span<const double> rows) = 0;
  virtual void store_dual(int mode, std::uint64_t first_row, std::span<double> rows) const = 0;

  // Reads rows of the finished output of `mode` from `first_row` on, row-major with R columns, after a pass that filled
  // it. Not after update_rows, which may overwrite it.
  virtual void read_output(int mode, std::uint64_t first_row, std::span<double> rows) const = 0;
  virtual void load_output(int mode, std::uint64_t first_row, std::span<const double> rows) = 0;
  // Reads scattered rows of it, or adds what other workers have added up for them.
  virtual void read_output_rows(int mode, std::span<const std::uint32_t> rows, std::span<double> values) const {
    for_each_of(rows, values, [&](auto row, auto numbers) { read_output(mode, row, numbers); });
  }
  virtual void add_output_rows(int mode, std::span<const std::uint32_t> rows, std::span<const double> values) {
    std::vector<double> sums;
    for_each_of(rows, values, [&](auto row, auto numbers) {
      sums.resize(numbers.size());
      read_output(mode, row, sums);
      for (std::size_t r = 0; r < sums.size(); ++r) sums[r] += numbers[r];
      load_output(mode, row, sums);
    });
  }

  // Vectors that a method keeps beside the factors: BackendConfig::vectors. Zero at first.
  virtual void load_vector(int vector, int mode, std::uint64_t first_row, std::span<const double> rows) = 0;
  virtual void store_vector(int vector, int mode, std::uint64_t first_row, std::span<double> rows) const = 0;
  // The whole vector, into one of the same shape.
  virtual void copy_vector(int from, int to) = 0;
  // The rows of a mode, from its factor or into it.
  virtual void copy_to_vector(int mode, int vector) = 0;
  virtual void copy_from_vector(int mode, int vector) = 0;

  // Returns all rows, R numbers each, in new memory; first frees the output, at the end the backend's matrix. No
  // passes may follow.
  virtual std::vector<double> take_factor(int mode) = 0;

 private:
  // Calls visit(row, its numbers) for each row that is listed.
  template <class Number, class Visit>
  static void for_each_of(std::span<const std::uint32_t> rows, std::span<Number> values, const Visit& visit) {
    const std::size_t rank = rows.empty() ? 0 : values.size() / rows.size();
    for (std::size_t i = 0; i < rows.size(); ++i) visit(rows[i], values.subspan(i * rank, rank));
  }
};

}  // namespace blco
