// The engine's only view of a device.
//
// device_kind.hpp makes them; the serial reference_backend.hpp is the oracle of their tests.
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
#include "kernels/gpu_kernels.hpp"
#include "kernels/passes.hpp"
#include "kernels/row_index.hpp"
#include "kernels/rows.hpp"
#include "kernels/steps.hpp"
#include "kernels/stop_poll.hpp"

namespace blco {

// What methods know of the devices that hold factors.
class Factors : public Rows, public Steps {};

// One decomposition in progress: its factors and outputs, and passes over chunks that fill the outputs.
class Backend : public Passes, public Factors {};

// Bytes of a number of a factor, and of the output.
constexpr std::uint64_t factor_number_bytes(Precision precision) {
  return precision == Precision::f64 ? sizeof(double) : sizeof(float);
}
constexpr std::uint64_t output_number_bytes(Precision precision) {
  return precision == Precision::f32 ? sizeof(float) : sizeof(double);
}

// Calls visit.operator()<Sum, Factor>() with these two types.
template <class Visit>
auto with_precision(Precision precision, const Visit& visit) {
  switch (precision) {
    case Precision::f32:
      return visit.template operator()<float, float>();
    case Precision::mixed:
      return visit.template operator()<double, float>();
    case Precision::f64:
      break;
  }
  return visit.template operator()<double, double>();
}

struct BackendConfig {
  TensorLayout layout;  // of the whole tensor
  int rank = 1;
  Precision precision = Precision::f64;
  std::uint64_t private_bytes = 0;   // for private copies of the output; 0: none
  std::uint64_t arranged_bytes = 0;  // for copies of decoded chunks that are arranged for a mode; 0: none
  bool keep_previous = false;        // keep each factor as it was before its last update; doubles their memory
  bool loss_passes = false;          // there are loss passes, which take memory beside the outputs
  bool all_outputs = false;          // room for the outputs of all modes at once, for loss passes; implies the former
  ModeSet dual_modes = 0;            // modes that update_rows solves by ADMM
  // Columns of each mode's factor, up to `rank`, for Kronecker products; empty: `rank`. CUDA has them of three modes or
  // more.
  std::vector<int> columns = {};
  // Per mode, the rows that the backend holds: all that its chunks touch. Rows and Steps then count by places among
  // these; chunks have the tensor's coordinates. Empty, or null for a mode: all rows. Not with `orders`.
  std::vector<std::shared_ptr<const RowIndex>> held = {};
  // On the CPU, per mode: how the lines of chunks in its order have their bits. Such a chunk serves passes that fill
  // the output of that mode alone, or none. Empty: no chunk is in its order.
  std::vector<BitModes> orders = {};
  bool natural_chunks = true;             // chunks in the natural order come too
  std::vector<VectorShape> vectors = {};  // see Rows::load_vector
  // Of a GPU: device buffers, each with its stream, at least as many as staging buffers; the bytes of each, enough for
  // any chunk that crosses the link; room for the chunks that stay.
  int slots = 2;
  std::uint64_t slot_bytes = 0;
  std::uint64_t resident_bytes = 0;
  GpuKernels gpu = {};
  // Of `vectors`, how many lie in device memory, the first ones. Kernels reach the others in pinned memory of the host.
  std::size_t device_vectors = 0;
  // Ends the host's long steps on thousands of columns (update_rows, gram, Kronecker products) by Error{cancelled}.
  StopPoll stop = {};
  TraceSink* trace = nullptr;  // receives the times of kernels and, on a device, of copies

  bool holds_all(int mode) const { return held.empty() || held[static_cast<std::size_t>(mode)] == nullptr; }
  // Of a mode's factor and output.
  std::uint64_t rows_of(int mode) const {
    return holds_all(mode) ? layout.mode(mode).length : held[static_cast<std::size_t>(mode)]->count();
  }
  // The same of each mode.
  std::vector<std::uint64_t> rows() const {
    std::vector<std::uint64_t> counts;
    for (int mode = 0; mode < layout.order(); ++mode) counts.push_back(rows_of(mode));
    return counts;
  }
  int columns_of(int mode) const { return columns.empty() ? rank : columns[static_cast<std::size_t>(mode)]; }
  // Of a mode's output: with `columns`, the product of the others'.
  std::uint64_t output_columns_of(int mode) const {
    if (columns.empty()) return static_cast<std::uint64_t>(rank);
    std::uint64_t product = 1;
    for (int other = 0; other < layout.order(); ++other) {
      if (other != mode) product *= static_cast<std::uint64_t>(columns_of(other));
    }
    return product;
  }
};

}  // namespace blco
