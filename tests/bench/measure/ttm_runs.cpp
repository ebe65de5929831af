#include <algorithm>
#include <blco/ttm.hpp>
#include <limits>
#include <numeric>
#include <utility>

#include "blco/layout.hpp"
#include "tests/bench/measure/product_run.hpp"
#include "tests/bench/measure/stopwatch.hpp"
#include "tests/bench/rivals/csf/ttm_tree.hpp"

namespace blco {
namespace {

constexpr double number_bytes = sizeof(double);

class OurTtm final : public FormatRun {
 public:
  // By for_each_fiber() into memory that later passes use again, or by ttm(), which allocates it.
  OurTtm(const ProductSetup& setup, std::uint64_t memory_bytes, bool keeps_memory)
      : setup_(&setup),
        options_{.memory_bytes = memory_bytes, .threads = setup.options.compute.threads},
        keeps_memory_(keeps_memory) {}

  void pass(int mode) override {
    const auto n = static_cast<std::size_t>(mode);
    const MatrixView matrix{setup_->matrices[n].data(), setup_->natural.shape[n],
                            static_cast<std::size_t>(setup_->columns[n])};
    if (!keeps_memory_) {
      product_ = {};
      product_ = ttm(*setup_->tensor, n, matrix, options_);
      return;
    }
    product_.shape = setup_->natural.shape;
    product_.shape.erase(product_.shape.begin() + mode);
    product_.columns = matrix.columns;
    product_.coordinates.resize(product_.shape.size());
    product_.rows.clear();
    for (std::vector<std::uint64_t>& of_mode : product_.coordinates) of_mode.clear();
    const auto add = [&](const FiberBlock& block) {
      product_.rows.insert(product_.rows.end(), block.rows.begin(), block.rows.end());
      for (std::size_t other = 0; other < block.coordinates.size(); ++other) {
        product_.coordinates[other].insert(product_.coordinates[other].end(), block.coordinates[other].begin(),
                                           block.coordinates[other].end());
      }
    };
    for_each_fiber(*setup_->tensor, n, matrix, add, options_);
  }

  void read_output(int, std::span<double> rows) override {
    if (product_.rows.size() != rows.size()) {
      std::ranges::fill(rows, std::numeric_limits<double>::quiet_NaN());
      return;
    }
    std::vector<std::vector<std::uint32_t>> coordinates;
    for (const std::vector<std::uint64_t>& of_mode : product_.coordinates) {
      coordinates.emplace_back(of_mode.begin(), of_mode.end());
    }
    std::vector<int> modes(coordinates.size());
    std::iota(modes.begin(), modes.end(), 0);
    const CoordinateLists fibers{product_.shape, {coordinates.begin(), coordinates.end()}, {}};
    auto to = rows.begin();
    for (const std::uint32_t fiber : sorted_by(fibers, modes, *setup_->pool)) {
      const auto from = product_.rows.begin() + static_cast<std::ptrdiff_t>(fiber * product_.columns);
      to = std::copy_n(from, product_.columns, to);
    }
  }

  // An entry, line and value, is written and read as it comes from a frame, in the list of all, by the sort's two
  // scans, in its bucket, by the sort of that, as fibers are found, and as they are added up. A row is cleared, added
  // to and copied, its cell too.
  RivalWork work(int mode) const override {
    constexpr double moves = 12;
    const auto columns = static_cast<double>(product_.columns);
    const auto fibers = static_cast<double>(product_.fibers());
    const double entry = TensorLayout(setup_->natural.shape).has_high_word() ? 24 : 16;
    const double frames = 2 * number_bytes * (static_cast<double>(setup_->order()) + 1);
    const double row = columns * number_bytes + static_cast<double>(setup_->order() - 1) * number_bytes;
    const double of_nonzero = moves * entry + frames + 3 * columns * number_bytes;
    RivalWork work{2 * setup_->nnz() * columns, setup_->nnz() * of_nonzero + 3 * fibers * row};
    work.set_bytes = 2 * setup_->nnz() * entry + fibers * row + setup_->matrix_bytes(static_cast<std::size_t>(mode));
    return work;
  }

  void describe(MeasuredFormat& format) const override {
    const TensorSummary& summary = setup_->tensor->summary();
    format.index_bytes = summary.index.streamed_bytes + summary.high_word.streamed_bytes;
    format.value_bytes = summary.value.streamed_bytes;
    format.settings = "sorted each time";
  }
  std::uint64_t host_bytes() const override { return 0; }

 private:
  const ProductSetup* setup_;
  TtmOptions options_;
  bool keeps_memory_;
  SemiSparseTensor product_;
};

// A tree for each mode, and an output for any of them.
struct TtmTrees {
  explicit TtmTrees(const ProductSetup& setup) {
    std::uint64_t most = 0;
    build_seconds = seconds_of([&] {
      for (int mode = 0; mode < static_cast<int>(setup.order()); ++mode) {
        of_mode.emplace_back(setup.natural.view(), mode, *setup.pool);
        most = std::max(most, of_mode.back().fibers());
      }
    });
    rows.resize(most * static_cast<std::uint64_t>(setup.columns.front()));
  }

  std::vector<TtmTree> of_mode;
  std::vector<double> rows;
  double build_seconds = 0;
};

class TreeRun final : public FormatRun {
 public:
  TreeRun(const ProductSetup& setup, std::shared_ptr<TtmTrees> trees, TtmThread thread)
      : setup_(&setup), trees_(std::move(trees)), thread_(thread) {}

  void pass(int mode) override {
    const auto n = static_cast<std::size_t>(mode);
    trees_->of_mode[n].multiply(thread_, setup_->matrices[n], static_cast<std::size_t>(setup_->columns[n]),
                                trees_->rows);
  }
  void read_output(int, std::span<double> rows) override {
    std::copy_n(trees_->rows.begin(), rows.size(), rows.begin());
    // The other run on these trees has to write them all.
    std::ranges::fill(trees_->rows, std::numeric_limits<double>::quiet_NaN());
  }

  RivalWork work(int mode) const override {
    const auto n = static_cast<std::size_t>(mode);
    const TtmTree& tree = trees_->of_mode[n];
    const auto columns = static_cast<std::size_t>(setup_->columns[n]);
    RivalWork work = ttm_work(thread_, tree.fibers(), tree.nnz(), columns, sizeof(double));
    // Of the tree, leaves and pointers to them.
    work.set_bytes = 12 * setup_->nnz() +
                     static_cast<double>(tree.fibers()) * (4 + static_cast<double>(columns) * number_bytes) +
                     setup_->matrix_bytes(n);
    return work;
  }

  void describe(MeasuredFormat& format) const override {
    for (const TtmTree& tree : trees_->of_mode) {
      format.index_bytes += tree.index_bytes();
      format.value_bytes += tree.nnz() * sizeof(double);
    }
    format.copies = static_cast<int>(trees_->of_mode.size());
    format.build_seconds = trees_->build_seconds;
  }
  std::uint64_t host_bytes() const override { return 0; }

 private:
  const ProductSetup* setup_;
  std::shared_ptr<TtmTrees> trees_;
  TtmThread thread_;
};

}  // namespace

std::vector<NamedRun> make_ttm_runs(const ProductSetup& setup, std::uint64_t memory_bytes) {
  const auto trees = std::make_shared<TtmTrees>(setup);
  std::vector<NamedRun> runs;
  runs.push_back({"ours", std::make_unique<OurTtm>(setup, memory_bytes, false)});
  runs.push_back({"ours-fibers", std::make_unique<OurTtm>(setup, memory_bytes, true)});
  runs.push_back({"csf-element", std::make_unique<TreeRun>(setup, trees, TtmThread::element)});
  runs.push_back({"csf-fiber", std::make_unique<TreeRun>(setup, trees, TtmThread::fiber)});
  return runs;
}

}  // namespace blco
