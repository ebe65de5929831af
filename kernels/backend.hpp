// All that the engine knows of a device: factors, MTTKRP of chunks into one mode's output, and row updates.
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

// Memory for packed chunks, 64-byte aligned; pinned where the device asks for that.
class HostBuffer {
 public:
  virtual ~HostBuffer() = default;
  virtual std::span<std::byte> bytes() = 0;
};

// What update_rows reports of the mode that it has updated.
struct RowUpdate {
  std::vector<double> norms;  // R: 2-norm of each column before it was normalised
  double inner = 0;           // <MTTKRP output, new rows before normalisation> = <X, model>
};

// A way of keeping a chunk between passes.
enum class ResidentForm {
  packed,   // the payloads as they are, in the buffer that the caller keeps alive
  decoded,  // the backend's own copy, ready to use
  device,   // the backend's own copy of the payloads in device memory; the same as decoded where there is no device
};

using ResidentId = std::size_t;

// One decomposition in progress: N factor matrices of R columns and one output. Calls come from one thread.
// Rows are indexed by the coordinates of the container. Numbers too small for a normal one of the precision may count
// as zero. Throws Error{corrupt} for a coordinate outside its mode.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string name() const = 0;

  virtual std::unique_ptr<HostBuffer> allocate_host(std::uint64_t bytes) = 0;

  // Rows from `first_row` on, row-major with R columns, in f64 whatever the precision inside.
  virtual void load_factor(int mode, std::uint64_t first_row, std::span<const double> rows) = 0;
  // The same rows back, in f64.
  virtual void store_factor(int mode, std::uint64_t first_row, std::span<double> rows) const = 0;
  // The same for rows in any order: `rows` has their numbers, each once, and `values` the rows in that order. A call
  // per row unless a backend does better.
  virtual void load_rows(int mode, std::span<const std::uint32_t> rows, std::span<const double> values);
  virtual void store_rows(int mode, std::span<const std::uint32_t> rows, std::span<double> values) const;
  // All rows, I_n x R, in memory of its own; frees first the output and then the backend's matrix: there will be no
  // more passes.
  virtual std::vector<double> take_factor(int mode) = 0;

  // A pass: output_n = sum over all submitted chunks. Each chunk is submitted once, in the order that is wanted.
  virtual void begin_pass(int mode) = 0;
  // The payloads lie in staging buffer `lane`, which must stay as it is until wait_lane(lane) returns.
  // wait_lane is thread-safe and may be called by whoever refills the buffer.
  virtual void submit(int lane, const ChunkView& chunk) = 0;
  virtual void wait_lane(int lane) = 0;
  // Keeps a chunk for all later passes; legal at any time. Payloads of a form other than packed lie in staging buffer
  // `lane`, which must stay as it is until wait_lane(lane) returns.
  virtual ResidentId keep(int lane, const ChunkView& chunk, ResidentForm form) = 0;
  virtual void submit_resident(ResidentId chunk) = 0;
  // Returns when the output is complete. Also ends a pass that failed: nothing is in flight then.
  virtual void finish_pass() = 0;

  // The finished output of the last pass, row-major I_n x R; not after update_rows, which may use it up.
  virtual void read_output(std::span<double> rows) const = 0;

  // factor_n = solve(output_n), its columns normalised by their 2-norm (a zero column stays), its Gram refreshed.
  // Sums run in an order that depends on neither threads nor budgets.
  virtual RowUpdate update_rows(int mode, const RowSolver& solver) = 0;
  // Takes back a mode's last update_rows: its factor is the one before. Once per update, only where the configuration
  // keeps previous factors, and there are no more passes.
  virtual void restore_factor(int mode) = 0;

  // A_n^T A_n of the current factor, row-major R x R.
  virtual std::span<const double> gram(int mode) = 0;
};

struct BackendConfig {
  TensorLayout layout;
  int rank = 1;
  Precision precision = Precision::f64;
  std::uint64_t private_bytes = 0;  // for private copies of outputs; 0: none
  std::uint64_t sorted_bytes = 0;   // for copies of decoded chunks, sorted for each mode; 0: none
  bool keep_previous = false;       // for each factor the one before its last update, in as much memory
  TraceSink* trace = nullptr;       // told when chunks were computed and, on a device, copied
};

}  // namespace blco
