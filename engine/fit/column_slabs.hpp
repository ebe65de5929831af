// A tensor times one column of each mode's matrix but one's, for all such choices of columns: what a core is made of.
// A slab of choices at a time is an MTTKRP, whose factors have a column for each choice; one pass may make all of them,
// as Kronecker products of rows.
#pragma once

#include <blco/compute.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/common/progress_meter.hpp"
#include "engine/work/job.hpp"
#include "engine/work/original_rows.hpp"
#include "engine/work/shared_matrices.hpp"
#include "kernels/account.hpp"

namespace blco {

// The needs of a job whose ColumnSlabs have so many columns and these matrices; `caller` beside them.
JobNeeds slab_needs(const Tensor& tensor, int columns, Precision precision, const Account& caller,
                    const MatrixSizes& matrices, const StopPoll& stop);

// What a job with a slab of so many choices takes beside its backend.
struct SlabMemory {
  Account caller;
  MatrixSizes matrices;
};

// A job with a slab of choices, and how many it has: `choices`, up to those beyond which an MTTKRP takes no less time
// per column; if more than `group`, a multiple of it. If the budget has no room for as many it has fewer, unless it
// `is_fixed`: another number rounds in other ways. Throws Error as Job does.
//
// With `columns`, the columns of each mode's matrix, and one device, the job makes whole unfoldings if the budgets have
// room, and there are no slabs. If `compute` is deterministic, both have the same bits. `lower`: JobNeeds::lower_rank.
struct SlabJob {
  SlabJob(const Tensor& tensor, const Compute& compute, std::uint64_t choices, std::uint64_t group,
          const std::function<SlabMemory(std::uint64_t slab)>& memory, const StopPoll& stop, bool is_fixed = false,
          const std::vector<int>& columns = {}, const std::string& lower = "", double share_of_rank_1 = 1);

  std::unique_ptr<Job> job;
  std::uint64_t slab = 0;  // 0: there are none

 private:
  // False if the budget has no room; if `is_last`, throws then.
  bool make(const Tensor& tensor, const Compute& compute, const JobNeeds& needs, bool is_last = false);
};

// The choices of one column of each mode's matrix but one's. The longest mode's columns vary fastest, so that passes
// load them least often.
class ColumnChoices {
 public:
  // `shape` and `columns`: per mode, the length and the columns of its matrix.
  ColumnChoices(const std::vector<std::uint64_t>& shape, std::vector<std::uint64_t> columns);

  // How many there are without `mode`, and which column of another mode's matrix one of them takes.
  std::uint64_t count(std::size_t mode) const;
  std::uint64_t column(std::size_t mode, std::uint64_t choice, std::size_t other) const;

  // Calls visit(choice, place) for `count` choices from `first` on: the place is the sum of the columns of the other
  // modes, each times its stride.
  template <class Visit>
  void for_each(std::size_t mode, std::uint64_t first, std::uint64_t count, const std::vector<std::uint64_t>& strides,
                const Visit& visit) const {
    std::vector<std::uint64_t> at(columns_.size());
    std::uint64_t place = 0;
    for (const std::size_t n : by_length_) {
      if (n != mode) place += (at[n] = column(mode, first, n)) * strides[n];
    }
    for (std::uint64_t choice = first; choice < first + count; ++choice) {
      visit(choice, place);
      for (const std::size_t n : by_length_) {
        if (n == mode) continue;
        place += strides[n];
        if (++at[n] < columns_[n]) break;
        place -= at[n] * strides[n];
        at[n] = 0;
      }
    }
  }

 private:
  std::vector<std::uint64_t> columns_;
  std::vector<std::size_t> by_length_;  // the fastest first
};

class ColumnSlabs {
 public:
  // Of the matrices that the job has, which are zero at first: row-major I_n x columns in the tensor's own indices. All
  // arguments must outlive this.
  ColumnSlabs(const Tensor& tensor, Job& job, ProgressMeter& meter);

  const ColumnChoices& choices() const { return choices_; }
  SharedMatrices& matrices() { return matrices_; }
  // A mode's matrix is another one.
  void set_changed(std::size_t mode) { loaded_[mode].clear(); }
  std::uint64_t slab() const { return sizes_.slab; }

  // Makes the unfolding of a mode, I_mode x the choices: in slabs, or by one pass of Kronecker products.
  void unfold(std::size_t mode);
  // Makes an output of the mode, I_mode x slab: a column for each choice from `first` on, zeros beyond the last.
  void pass(std::size_t mode, std::uint64_t first);
  // Sets each matrix to the leading left singular vectors of a sample of its mode's unfolding. Random numbers of `seed`
  // alone decide which sample. Throws Error{invalid_argument} if a number of it is not finite.
  void sample_vectors(std::uint64_t seed, Executor& executor);

  WorkerGroup& workers() { return *workers_; }

 private:
  // Makes of the unfolding the tensor times random normal numbers in all other modes, a column of them in each for each
  // column of a slab. It samples the range of the mode's unfolding (Halko, Martinsson & Tropp, Finding structure with
  // randomness, SIAM Review 2011, section 4.1).
  void sample(std::size_t mode, std::uint64_t seed);
  std::uint64_t length(std::size_t mode) const { return tensor_->info().shape[mode]; }
  void load(std::size_t mode, const std::vector<std::uint64_t>& chosen);
  void run_kronecker_pass(std::size_t mode);

  const ChunkSource* tensor_;
  MatrixSizes sizes_;
  ColumnChoices choices_;
  ProgressMeter* meter_;
  std::unique_ptr<WorkerGroup> workers_;
  OriginalRows rows_;
  SharedMatrices matrices_;
  std::vector<std::vector<std::uint64_t>> loaded_;  // per mode, which column of its matrix each of the factor's is
};

}  // namespace blco
