// A job before it takes memory: its device, the order of chunks that its passes read, and its plan.
#pragma once

#include <blco/compute.hpp>
#include <blco/plan.hpp>
#include <blco/tensor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/stream/chunk_queue.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "engine/work/make_plan.hpp"
#include "engine/work/pass_chunks.hpp"
#include "engine/work/rows/chunk_share.hpp"
#include "kernels/device_kind.hpp"

namespace blco {

// The budget of a job's host memory: as given, else this process's part of what is available.
std::uint64_t job_budget(const Compute& compute);

// What every job needs: the tensor's layout, rank and precision, and room for OriginalRows.
JobNeeds needs_of(const Tensor& tensor, int rank, Precision precision);

class JobPlan {
 public:
  // With Compute::peers, of this process's share of the chunks. Names at most one device. Does not plan yet. Throws
  // Error{cuda} or Error{not_built} for a GPU that is not there.
  JobPlan(const Tensor& tensor, const Compute& compute, const JobNeeds& needs, const DeclaredGpu* declared = nullptr);

  // Plans, where this worker holds all rows, or may not know yet which: without asking the peers, for an estimate of
  // these. Throws Error{out_of_memory} for a budget below its minimum.
  void plan_alone();
  const Plan& plan() const { return plan_; }
  int rank() const { return needs_.backend.rank; }
  const MatrixSizes& matrices() const { return needs_.matrices; }
  Precision precision() const { return needs_.backend.precision; }
  CpdPlan describe() const;
  // Null if the CPU computes.
  const DeviceLimits* device() const { return needs_.kind->gpu(); }
  bool has_factors_on_device() const { return device() != nullptr && !slabs_; }
  // Those of this process, where several share the job.
  const ChunkSource& chunks() const { return share_ ? *share_ : TensorChunks::of(*tensor_); }
  // Of these, or of the copies in the orders of modes, those that passes read.
  const ChunkSource& pass_chunks() const;
  // Of the tensor, the number of the first one of chunks().
  std::uint64_t first_chunk() const;

 protected:
  bool has_peers() const { return peers_ != nullptr && peers_->size() > 1; }
  // Whether the workers are threads of one process.
  bool are_threads() const { return has_peers() && peers_->chunk_queue() != nullptr; }
  // Those that needs_ has, which are all unless they are set.
  void plan_known_rows();
  // By the rows of each mode that this worker holds, and those that it owns.
  void plan_held(std::vector<std::shared_ptr<const RowIndex>> held, const std::vector<IndexRange>& owned);
  // Whether the plan leaves chunks to all workers.
  bool has_chunks_to_share() const;

  const Tensor* tensor_;
  Peers* peers_;                       // null: none
  ChunkQueue* queue_ = nullptr;        // of workers that share chunks
  std::optional<ChunkShare> share_;    // of several workers
  std::optional<PassChunks> ordered_;  // where passes read the orders of their modes
  std::optional<CurrentGpu> current_;
  std::unique_ptr<DeviceKind> gpu_;    // null: the CPU computes
  std::unique_ptr<DeviceKind> slabs_;  // of columns on the GPU; null: it has all at once
  JobNeeds needs_;
  TensorSizes sizes_;
  Plan plan_;
  bool holds_all_ = true;  // rows; else those of needs_.backend.held, once they are known, and then there is a plan
  bool is_planned_ = false;
  std::string device_note_;
  std::string backend_name_;  // once there is one

 private:
  void choose_device(const Compute& compute);
  int take_gpu_in_turn();
  void choose_slabs();
  void count_model();
  // Of so many rows of each mode, which are those of all threads of a process.
  void count_numbers(const std::vector<std::uint64_t>& rows);
  void count_moves();
  std::string obstacle_to_orders() const;
  std::string advantage_of_natural_order(const Plan& ordered) const;
  void choose_orders();
  std::uint64_t row_bytes_of_pass(std::size_t mode) const;

  std::string device_name_;  // one of Compute::devices, or empty
  std::string orders_note_;
  std::optional<std::uint64_t> least_of_orders_;  // a budget for them, where the job reads the natural order instead
  const DeclaredGpu* declared_;
};

}  // namespace blco
