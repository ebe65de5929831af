#include <algorithm>

#include "blco/error.hpp"
#include "kernels/host/arranged_nonzeros.hpp"
#include "tests/bench/measure/product_run.hpp"

namespace blco {
namespace {

constexpr double double_bytes = sizeof(double);

// The columns of an unfolding, and how they are made.
class UnfoldingRun final : public FormatRun {
 public:
  UnfoldingRun(const ProductSetup& setup, bool in_slabs)
      : setup_(&setup),
        meter_(no_progress_),
        choices_(setup.natural.shape, {setup.columns.begin(), setup.columns.end()}),
        job_(make_job(in_slabs)),
        slabs_(*setup.tensor, *job_.job, meter_) {
    if (!in_slabs && job_.slab != 0) throw Error(ErrorKind::out_of_memory, "the budget holds no whole unfolding");
    for (std::size_t n = 0; n < setup.order(); ++n) slabs_.matrices().load(n, 0, setup.matrices[n]);
    settle();
  }

  // In a sweep the matrix of the mode before has just changed.
  void pass(int mode) override {
    const auto n = static_cast<std::size_t>(mode);
    slabs_.set_changed((n + setup_->order() - 1) % setup_->order());
    slabs_.unfold(n);
  }
  void read_output(int mode, std::span<double> rows) override {
    std::ranges::copy(slabs_.matrices().unfolding(static_cast<std::size_t>(mode)), rows.begin());
  }

  RivalWork work(int mode) const override {
    const auto n = static_cast<std::size_t>(mode);
    const auto numbers = static_cast<double>(setup_->natural.shape[n] * choices_.count(n));
    RivalWork work = job_.slab == 0 ? kronecker_work(n) : slab_work(n);
    // Read out, and put in the order of the choices.
    work.bytes += 4 * numbers * double_bytes;
    work.set_bytes = setup_->decoded_bytes() + 2 * numbers * double_bytes;
    for (std::size_t other = 0; other < setup_->order(); ++other) {
      if (other != n) work.set_bytes += setup_->matrix_bytes(other);
    }
    return work;
  }

  void describe(MeasuredFormat& format) const override {
    format.index_bytes = 4 * setup_->order() * setup_->natural.values.size();
    format.value_bytes = sizeof(double) * setup_->natural.values.size();
    format.auxiliary_bytes = job_.job->plan().private_bytes + job_.job->plan().arranged_bytes;
    format.settings = job_.slab == 0 ? "one pass a mode" : std::to_string(job_.slab) + " columns a pass";
  }
  std::uint64_t host_bytes() const override { return job_.job->plan().planned_bytes; }

 private:
  SlabJob make_job(bool in_slabs) {
    const std::vector<std::uint64_t>& shape = setup_->natural.shape;
    const auto longest = static_cast<std::size_t>(std::ranges::max_element(shape) - shape.begin());
    std::uint64_t most = 0;
    for (std::size_t n = 0; n < setup_->order(); ++n) most = std::max(most, choices_.count(n));
    const auto memory = [&](std::uint64_t) {
      SlabMemory needed;
      for (std::size_t n = 0; n < setup_->order(); ++n) {
        needed.matrices.columns.push_back(static_cast<std::uint64_t>(setup_->columns[n]));
        needed.matrices.unfolding.push_back(choices_.count(n));
      }
      return needed;
    };
    return SlabJob(*setup_->tensor, setup_->options.compute, most, static_cast<std::uint64_t>(setup_->columns[longest]),
                   memory, {}, false, in_slabs ? std::vector<int>() : setup_->columns);
  }

  // Chunks are arranged after some passes.
  void settle() {
    meter_.begin({.name = "product"});
    for (std::size_t n = 0; n < setup_->order(); ++n) {
      const std::uint64_t passes = job_.slab == 0 ? 1 : (choices_.count(n) + job_.slab - 1) / job_.slab;
      for (std::uint64_t done = 0; done <= passes_before_arranging; done += passes) pass(static_cast<int>(n));
    }
  }

  // A nonzero multiplies the numbers of all rows but the last with each other; these products, stored once, are then
  // multiplied by the last row and added to the output, whose row is loaded and stored for up to four nonzeros: four,
  // two or one.
  RivalWork kronecker_work(std::size_t mode) const {
    const std::size_t last = mode + 1 == setup_->order() ? mode - 1 : setup_->order() - 1;
    double products = 1;
    double flops = 0;
    double numbers = 0;  // of rows and products
    for (std::size_t other = 0; other < setup_->order(); ++other) {
      if (other == mode) continue;
      numbers += setup_->columns[other];
      if (other == last) continue;
      products *= setup_->columns[other];
      flops += products;
    }
    const auto choices = static_cast<double>(choices_.count(mode));
    numbers += 2 * products;
    std::vector<std::uint64_t> nnz_of_row(setup_->natural.shape[mode]);
    for (const std::uint32_t row : setup_->natural.coordinates[mode]) ++nnz_of_row[row];
    std::uint64_t additions = 0;
    for (const std::uint64_t nnz : nnz_of_row) additions += nnz / 4 + nnz % 4 / 2 + nnz % 2;
    return {setup_->nnz() * (flops + 2 * choices), setup_->decoded_bytes() + setup_->nnz() * numbers * double_bytes +
                                                       2 * static_cast<double>(additions) * choices * double_bytes};
  }

  RivalWork slab_work(std::size_t mode) const {
    const RivalWork one = work_of_ours(loads_of(*job_.job)[mode], setup_->decoded_bytes());
    const auto passes = static_cast<double>((choices_.count(mode) + job_.slab - 1) / job_.slab);
    return {passes * one.flops, passes * one.bytes};
  }

  const ProductSetup* setup_;
  ProgressCallback no_progress_;
  ProgressMeter meter_;
  ColumnChoices choices_;
  SlabJob job_;
  ColumnSlabs slabs_;
};

}  // namespace

std::unique_ptr<FormatRun> make_unfolding_run(const ProductSetup& setup, bool in_slabs) {
  return std::make_unique<UnfoldingRun>(setup, in_slabs);
}

}  // namespace blco
