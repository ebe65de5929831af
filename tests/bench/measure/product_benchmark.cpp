#include "tests/bench/measure/product_benchmark.hpp"

#include <algorithm>
#include <blco/tucker.hpp>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/common/memory.hpp"
#include "engine/fit/check_options.hpp"
#include "engine/fit/initial_factors.hpp"
#include "tests/bench/measure/mttkrp_oracle.hpp"
#include "tests/bench/measure/product_run.hpp"

namespace blco {
namespace {

using Matrices = std::vector<std::vector<double>>;

// The rows of all fibers, by a loop over coordinates, in lexicographic order of the other modes.
struct FiberSums {
  FiberSums(const ProductSetup& setup, std::size_t mode) {
    const auto columns = static_cast<std::size_t>(setup.columns[mode]);
    std::vector<int> others;
    for (int n = 0; n < static_cast<int>(setup.order()); ++n) {
      if (n != static_cast<int>(mode)) others.push_back(n);
    }
    const std::vector<std::uint32_t> sorted = sorted_by(setup.natural.view(), others, *setup.pool);
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      const auto is_as_before = [&](int n) {
        const auto& of_mode = setup.natural.coordinates[static_cast<std::size_t>(n)];
        return i > 0 && of_mode[sorted[i]] == of_mode[sorted[i - 1]];
      };
      if (!std::ranges::all_of(others, is_as_before)) {
        sums.resize(sums.size() + columns);
        absolute_sums.resize(sums.size());
      }
      const double* const row = setup.matrices[mode].data() + setup.natural.coordinates[mode][sorted[i]] * columns;
      for (std::size_t r = 0; r < columns; ++r) {
        const double product = setup.natural.values[sorted[i]] * row[r];
        sums[sums.size() - columns + r] += product;
        absolute_sums[sums.size() - columns + r] += std::abs(product);
      }
    }
  }

  std::vector<double> sums;
  std::vector<double> absolute_sums;
};

// The matrices of an MTTKRP that makes the unfolding of a mode.
Matrices expanded(const ProductSetup& setup, const ColumnChoices& choices, std::size_t mode) {
  Matrices matrices(setup.order());
  for (std::size_t other = 0; other < setup.order(); ++other) {
    if (other == mode) continue;
    const auto columns = static_cast<std::size_t>(setup.columns[other]);
    for (std::size_t start = 0; start < setup.matrices[other].size(); start += columns) {
      for (std::uint64_t choice = 0; choice < choices.count(mode); ++choice) {
        matrices[other].push_back(setup.matrices[other][start + choices.column(mode, choice, other)]);
      }
    }
  }
  return matrices;
}

std::uint64_t product_of(const std::vector<std::uint64_t>& lengths, std::size_t leave_out, std::uint64_t most) {
  std::uint64_t product = 1;
  for (std::size_t n = 0; n < lengths.size() && product < most; ++n) product *= n == leave_out ? 1 : lengths[n];
  return std::min(product, most);
}

class Measurement {
 public:
  Measurement(const Tensor& tensor, TensorProduct product, int repeats, const CpdOptions& options)
      : repeats_(repeats), pool_(options.compute.threads) {
    const std::vector<std::uint64_t>& shape = tensor.shape();
    setup_.tensor = &tensor;
    setup_.options = options;
    setup_.options.compute.devices = {"cpu"};
    setup_.pool = &pool_;
    setup_.columns.assign(shape.size(), options.rank);
    if (product == TensorProduct::ttmc) setup_.columns = ranks_of({.ranks = {options.rank}}, shape);
    report_.product = product;
    report_.device = "host";
    report_.threads = pool_.width();
    report_.rank = options.rank;
    report_.shape = shape;
    report_.nnz = tensor.nnz();
    report_.tolerance = 1e-12;
  }

  FormatReport run() {
    take_room();
    setup_.natural = read_natural(*setup_.tensor, pool_);
    for (std::size_t n = 0; n < report_.shape.size(); ++n) {
      setup_.matrices.emplace_back(report_.shape[n] * static_cast<std::uint64_t>(setup_.columns[n]));
      fill_initial_rows(setup_.options.seed, static_cast<int>(n), 0, setup_.columns[n], setup_.matrices.back());
    }
    report_.product == TensorProduct::ttm ? measure_ttm() : measure_ttmc();
    return std::move(report_);
  }

 private:
  // Of what is outside the budget.
  void take_room() {
    const std::uint64_t bytes = natural_bytes(report_.shape.size(), report_.nnz) + shared_bytes();
    if (bytes > room_) {
      throw Error(ErrorKind::out_of_memory,
                  "up to " + format_bytes(bytes) + " of memory are wanted, and " + format_bytes(room_) + " can be had");
    }
    room_ -= bytes;
  }

  // Trees while they are built; outputs: that of a run, the one compared, the oracle's two, and those of each run of
  // ours, which may grow by doubling, or an unfolding of each. The oracle's matrices of ttmc.
  std::uint64_t shared_bytes() const {
    const std::uint64_t order = report_.shape.size();
    std::uint64_t numbers = 0;
    for (std::size_t n = 0; n < order; ++n) {
      numbers += report_.shape[n] * static_cast<std::uint64_t>(setup_.columns[n]);
    }
    std::uint64_t of_mode = 0;
    for (std::size_t n = 0; n < order; ++n) {
      if (report_.product == TensorProduct::ttm) {
        const std::uint64_t fibers = product_of(report_.shape, n, report_.nnz);
        of_mode = std::max(of_mode, fibers * (8 * static_cast<std::uint64_t>(report_.rank) + 2 * order));
      } else {
        const ColumnChoices choices(report_.shape, {setup_.columns.begin(), setup_.columns.end()});
        std::uint64_t rows = 6 * report_.shape[n];
        for (std::size_t other = 0; other < order; ++other) rows += other == n ? 0 : report_.shape[other];
        of_mode = std::max(of_mode, rows * choices.count(n));
      }
    }
    const std::uint64_t trees = report_.product == TensorProduct::ttm ? report_.nnz * order * (8 * order + 32) : 0;
    return trees + (numbers + of_mode) * sizeof(double);
  }

  std::uint64_t budget() const {
    const std::uint64_t given = setup_.options.compute.memory.host_bytes;
    return given != 0 ? given : room_;
  }

  void measure_ttm() {
    for (NamedRun& made : make_ttm_runs(setup_, budget())) add(made.name, std::move(made.run));
    for (std::size_t n = 0; n < report_.shape.size(); ++n) {
      const FiberSums sums(setup_, n);
      measure(n, sums.sums.size(), static_cast<std::uint64_t>(report_.rank),
              [&](std::span<const double> rows) { return largest_error(rows, sums.sums, sums.absolute_sums); });
    }
  }

  void measure_ttmc() {
    add_unfolding("ours", false);
    add_unfolding("slabs", true);
    const ColumnChoices choices(report_.shape, {setup_.columns.begin(), setup_.columns.end()});
    const RivalTensor coordinates = setup_.natural.view();
    for (std::size_t n = 0; n < report_.shape.size(); ++n) {
      const Matrices matrices = expanded(setup_, choices, n);
      MttkrpOracle oracle(coordinates, matrices, static_cast<int>(choices.count(n)), pool_);
      oracle.compute(static_cast<int>(n));
      measure(n, report_.shape[n] * choices.count(n), choices.count(n),
              [&](std::span<const double> rows) { return oracle.error_of(rows); });
    }
  }

  void add_unfolding(const char* name, bool in_slabs) {
    const std::uint64_t given = std::exchange(setup_.options.compute.memory.host_bytes, budget());
    try {
      add(name, make_unfolding_run(setup_, in_slabs));
      room_ -= std::min(room_, runs_.back()->host_bytes());
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::out_of_memory) throw;
      report_.formats.push_back({.name = name, .refusal = std::string("it does not fit: ") + error.what()});
      runs_.emplace_back();
    }
    setup_.options.compute.memory.host_bytes = given;
  }

  void add(const char* name, std::unique_ptr<FormatRun> run) {
    report_.formats.push_back({.name = name});
    run->describe(report_.formats.back());
    runs_.push_back(std::move(run));
  }

  void measure(std::size_t mode, std::size_t numbers, std::uint64_t columns,
               const std::function<double(std::span<const double>)>& error_of) {
    const double nominal_flops = 2 * setup_.nnz() * static_cast<double>(columns);
    measure_mode(runs_, {static_cast<int>(mode), numbers, nominal_flops, error_of}, repeats_, report_);
  }

  int repeats_;
  std::uint64_t room_ = default_host_bytes();  // not taken yet
  ThreadPool pool_;
  ProductSetup setup_;
  FormatReport report_;
  std::vector<std::unique_ptr<FormatRun>> runs_;  // per format; null: refused
};

void check(const Tensor& tensor, TensorProduct product, int repeats, const CpdOptions& options) {
  if (product == TensorProduct::mttkrp) refuse("formats are compared in MTTKRP by benchmark_formats()");
  if (repeats < 1) refuse(option_name("repeats") + " must be at least 1");
  if (options.compute.precision != Precision::f64) {
    refuse("products are measured in f64; give " + option_name("precision", "f64"));
  }
  if (options.compute.devices == std::vector<std::string>{"cuda"}) {
    refuse("products are measured on the CPU; give " + option_name("devices", "cpu"));
  }
  const std::size_t least = product == TensorProduct::ttm ? 2 : 3;
  if (tensor.order() < least) {
    refuse("the product is measured of tensors of " + std::string(least == 2 ? "two" : "three") +
           " modes or more, and this one has " + std::to_string(tensor.order()));
  }
  if (tensor.nnz() >= std::numeric_limits<std::uint32_t>::max() || std::ranges::max(tensor.shape()) > std::uint64_t{1}
                                                                                                          << 32) {
    refuse("products are measured of tensors of fewer than 2^32 nonzeros and modes of up to 2^32");
  }
}

}  // namespace

FormatReport benchmark_product(const Tensor& tensor, TensorProduct product, int repeats, const CpdOptions& options) {
  check(tensor, product, repeats, options);
  check_options(tensor.summary(), options);
  return Measurement(tensor, product, repeats, options).run();
}

}  // namespace blco
