// The engine's only view of a device: factors, MTTKRP of chunks into one mode's output, and row updates.
//
// Implementations: reference_backend.hpp (serial, the oracle), host_backend.hpp, cuda_backend.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "blco/chunk.hpp"
#include "blco/executor.hpp"
#include "blco/kernel_choice.hpp"
#include "blco/layout.hpp"
#include "blco/trace.hpp"
#include "kernels/row_solver.hpp"

namespace blco {

// Memory for packed chunks, 64-byte aligned; pinned if the device needs that.
class HostBuffer {
 public:
  virtual ~HostBuffer() = default;
  virtual std::span<std::byte> bytes() = 0;
};

// Result of update_rows for the updated mode.
struct RowUpdate {
  std::vector<double> norms;  // R: 2-norm of each column before normalisation
  double inner = 0;           // <MTTKRP output, new rows before normalisation> = <X, model>
};

// How a chunk is kept between passes.
enum class ResidentForm {
  packed,   // the payloads as they are, in a buffer that the caller keeps alive
  decoded,  // the backend's own copy, ready to use
  device,   // the backend's own copy of the payloads in device memory; same as decoded without a device
};

using ResidentId = std::size_t;

// One decomposition in progress: N factor matrices of R columns, and one output. Calls come from one thread. Rows are
// indexed by the container's coordinates. Denormal numbers of the precision may count as zero. Throws Error{corrupt}
// for a coordinate outside its mode.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string name() const = 0;

  virtual std::unique_ptr<HostBuffer> allocate_host(std::uint64_t bytes) = 0;

  // Sets rows from `first_row` on, row-major with R columns; f64 whatever the precision inside.
  virtual void load_factor(int mode, std::uint64_t first_row, std::span<const double> rows) = 0;
  // Reads the same rows back, in f64.
  virtual void store_factor(int mode, std::uint64_t first_row, std::span<double> rows) const = 0;
  // Same for scattered rows: `rows` lists their numbers, each once, and `values` holds the rows in that order. Takes
  // one call per row unless a backend does better.
  virtual void load_rows(int mode, std::span<const std::uint32_t> rows, std::span<const double> values);
  virtual void store_rows(int mode, std::span<const std::uint32_t> rows, std::span<double> values) const;
  // Returns all rows, I_n x R, in new memory; first frees the output, at the end the backend's matrix. No passes may
  // follow.
  virtual std::vector<double> take_factor(int mode) = 0;

  // Starts a pass: output_n = sum over all submitted chunks. Submit each chunk once, in the desired order.
  virtual void begin_pass(int mode) = 0;
  // The payloads lie in staging buffer `lane`, which must not change until wait_lane(lane) returns. wait_lane is
  // thread-safe, so that whoever refills the buffer may call it.
  virtual void submit(int lane, const ChunkView& chunk) = 0;
  virtual void wait_lane(int lane) = 0;
  // Keeps a chunk for all later passes; legal at any time. Unless `form` is packed, the payloads lie in staging buffer
  // `lane`, which must not change until wait_lane(lane) returns.
  virtual ResidentId keep(int lane, const ChunkView& chunk, ResidentForm form) = 0;
  virtual void submit_resident(ResidentId chunk) = 0;
  // How many of the chunks that are kept have become trees so far: after some passes, decoded ones with long fibers do.
  virtual std::uint64_t tree_chunks() const { return 0; }
  // Returns when the output is complete. Also ends a failed pass, and leaves nothing in flight.
  virtual void finish_pass() = 0;

  // Reads the finished output of the last pass, row-major I_n x R. Not after update_rows, which may overwrite it.
  virtual void read_output(std::span<double> rows) const = 0;

  // factor_n = solve(output_n); then normalises its columns by their 2-norm (a zero column stays) and updates its Gram.
  // The order of sums depends on neither threads nor budgets. After Error{cancelled} only restore_factor and what
  // follows it are legal.
  virtual RowUpdate update_rows(int mode, const RowSolver& solver) = 0;
  // Undoes a mode's last update_rows and restores the factor before it. At most once per update; requires
  // keep_previous, and no passes may follow.
  virtual void restore_factor(int mode) = 0;

  // A_n^T A_n of the current factor, row-major R x R.
  virtual std::span<const double> gram(int mode) = 0;
};

// Bytes of a number of a factor, and of the output.
constexpr std::uint64_t factor_number_bytes(Precision precision) {
  return precision == Precision::f64 ? sizeof(double) : sizeof(float);
}
constexpr std::uint64_t output_number_bytes(Precision precision) {
  return precision == Precision::f32 ? sizeof(float) : sizeof(double);
}

struct BackendConfig {
  TensorLayout layout;
  int rank = 1;
  Precision precision = Precision::f64;
  std::uint64_t private_bytes = 0;  // for private copies of the output; 0: none
  std::uint64_t sorted_bytes = 0;   // for other forms of decoded chunks, sorted per mode or trees; 0: none
  bool fiber_trees = true;          // within sorted_bytes, on several CPU threads: trees of chunks with long fibers
  bool keep_previous = false;       // keep each factor as it was before its last update; doubles their memory
  // Ends the host backend's long steps on matrices of thousands of columns (update_rows, gram) by Error{cancelled}.
  StopPoll stop = {};
  TraceSink* trace = nullptr;  // receives the times of kernels and, on a device, of copies
};

}  // namespace blco
