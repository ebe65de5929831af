#include "tests/bench/measure/format_run.hpp"

#include <algorithm>

#include "tests/bench/measure/stopwatch.hpp"

namespace blco {

void measure_mode(std::span<const std::unique_ptr<FormatRun>> runs, const ModeOfRuns& of, int repeats,
                  FormatReport& report) {
  std::vector<double> rows(of.numbers);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!runs[i]) continue;
    runs[i]->pass(of.mode);
    runs[i]->read_output(of.mode, rows);
    const RivalWork work = runs[i]->work(of.mode);
    report.formats[i].passes.push_back({.mode = of.mode,
                                        .flops = work.flops,
                                        .bytes = work.bytes,
                                        .set_bytes = work.set_bytes,
                                        .nominal_flops = of.nominal_flops,
                                        .error = of.error_of(rows)});
  }
  const auto modes = static_cast<int>(report.shape.size());
  const int before = (of.mode + modes - 1) % modes;
  std::vector<std::vector<double>> seconds(runs.size());
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (!runs[i]) continue;
      runs[i]->pass(before);
      seconds[i].push_back(seconds_of([&] { runs[i]->pass(of.mode); }));
    }
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!runs[i]) continue;
    report.formats[i].passes.back().seconds = median(seconds[i]);
    report.formats[i].passes.back().min_seconds = std::ranges::min(seconds[i]);
  }
}

RivalWork work_of_ours(const PassLoad& load, double stored_bytes) {
  const auto nnz = static_cast<double>(load.nnz);
  const double rows = nnz * (load.order - 1) * static_cast<double>(load.factor_number_bytes) +
                      2 * static_cast<double>(load.segments * load.output_number_bytes);
  return {nnz * load.order * load.rank, stored_bytes + rows * load.rank};
}

}  // namespace blco
