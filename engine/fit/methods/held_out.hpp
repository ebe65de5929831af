// Entries that a fit does not see, and the model's error on them.
#pragma once

#include <blco/tensor.hpp>
#include <cstdint>

#include "engine/work/worker_group.hpp"

namespace blco {

class HeldOut {
 public:
  // The error of the workers' factors. Each argument must outlive this.
  HeldOut(const Tensor& entries, WorkerGroup& workers);

  // Throw Error{invalid_argument} if the entries' indices are not those of `tensor`: another shape; labels, where both
  // have them, or stored indices of another order. The second reads these, in turn for each mode.
  static void check_shape(const TensorSummary& tensor, const TensorSummary& entries);
  static void check_indices(const Tensor& tensor, const Tensor& entries);
  // Host memory, that of the entries themselves included.
  static std::uint64_t host_bytes(const Tensor& entries);
  // Of the largest chunk, for which the slots of a device must have room.
  static std::uint64_t slot_bytes(const Tensor& entries);

  // Root mean square of x - m over all entries, by one pass over them.
  double error();

 private:
  const Tensor* entries_;
  WorkerGroup* workers_;
};

}  // namespace blco
