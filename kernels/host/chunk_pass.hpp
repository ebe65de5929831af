// A pass on the CPU: cuts each chunk into one run of frames per thread, decodes some frames ahead of the row kernels,
// and adds their nonzeros to the outputs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/factor_set.hpp"
#include "kernels/host/frame_rows.hpp"
#include "kernels/host/loss_rows.hpp"
#include "kernels/host/mttkrp_rows.hpp"
#include "kernels/host/pass_output.hpp"
#include "kernels/host/resident_chunks.hpp"
#include "kernels/host/row_exchange.hpp"
#include "kernels/host/row_matrix.hpp"

namespace blco {

// Owns the outputs: one for the longest mode, or one per mode with config.all_outputs.
//
// In a loss pass each part computes the weights of some nonzeros at a time and adds these to all outputs, as an MTTKRP
// with the weights as values does. Where threads own the rows of some output, all parts first write the weights of many
// frames, which are then added mode by mode. Terms are added up per frame, and then in the order of frames. So neither
// sums nor outputs depend on which of both happens.
template <class Sum, class Factor>
class ChunkPass {
 public:
  using Factors = FactorSet<FactorMatrix<Factor, Sum>>;

  // Decoder, factors and executor must outlive this.
  ChunkPass(const BackendConfig& config, const FrameDecoder& decoder, const Factors& factors, Executor& executor);

  // Memory of outputs, private copies and scratch; the largest config.private_bytes of use.
  static std::uint64_t bytes(const BackendConfig& config, int threads);
  static std::uint64_t useful_private_bytes(const BackendConfig& config, int threads);

  void begin(const PassRequest& request);
  // `form` is of the same chunk, and set for MTTKRP only.
  void add(const FrameSource& source, const ChunkForm<Sum>& form);
  void finish();

  // Throws Error{invalid_argument} unless the last pass filled the output of `mode`.
  PassOutput<Sum>& output(int mode);
  const PassOutput<Sum>& output(int mode) const;
  double sum_of_terms() const { return sum_of_terms_; }
  // One per thread.
  std::span<FrameRing> rings() { return rings_; }
  // Frees the outputs. No passes may follow.
  void release() {
    for (PassOutput<Sum>& output : outputs_) output.release();
  }

 private:
  using Task = RowsTask<Sum, Factor>;
  // What a part reads and where it adds in a loss pass.
  struct LossTasks {
    Task model;
    std::vector<Task> outputs;  // empty: none, or `scatter` does it
    std::optional<ScatterTask<Sum, Factor>> scatter = {};
    double* weights = nullptr;             // of the nonzeros of a frame
    std::size_t readable = frame_entries;  // nonzeros from the first one of the frame on
  };

  std::size_t output_of(int mode) const { return outputs_.size() == 1 ? 0 : static_cast<std::size_t>(mode); }
  template <class Visit>
  void for_each_mode(const Visit& visit) const;
  Task make_task(const FrameSource& source, ModeSet read, std::size_t part);
  ScatterTask<Sum, Factor> make_scatter_task(const Task& model, std::size_t part);
  Task make_output_task(const FrameSource& source, int mode, std::size_t part);

  void add_mode(const FrameSource& source, int mode, FrameRange frames);
  void add_part(const FrameSource& source, int mode, FrameRange frames, std::size_t part);
  void add_lines(const FrameSource& source, Task task, FrameRange frames, std::size_t part);
  void add_owned(const FrameSource& source, int mode, std::size_t part, const NonzeroSpan& nonzeros);
  void add_sorted(const FrameSource& source, int mode, FrameRange frames, std::size_t part);
  void add_fibers(const FrameSource& source, int mode, std::size_t part);

  void add_losses(const FrameSource& source);
  void add_losses_by_mode(const FrameSource& source);
  void add_losses_of_part(const FrameSource& source, FrameRange frames, std::size_t part, double* weights);
  void add_losses_of_lines(const FrameSource& source, FrameRange frames, std::size_t part, LossTasks& tasks,
                           double* weights);
  void add_losses_of_frame(const FrameSource& source, std::uint64_t frame, LossTasks& tasks, std::size_t begin,
                           const double* values);

  TensorLayout layout_;
  int rank_;
  const FrameDecoder& decoder_;
  const Factors& factors_;
  Executor& executor_;
  std::optional<RowExchange> exchange_;  // set if rows may have owners
  std::vector<PassOutput<Sum>> outputs_;
  std::vector<FrameRing> rings_;    // per part
  std::uint64_t matrix_bytes_ = 0;  // of all factors
  AlignedBuffer<double> weights_;   // of a loss pass whose outputs have owned rows
  PassRequest request_ = 0;
  ChunkForm<Sum> form_;             // of the current chunk
  std::vector<double> frame_sums_;  // of its terms
  double sum_of_terms_ = 0;
};

}  // namespace blco
