// A model as one page of HTML, to be read in a browser: how the fit went, and what each component consists of.
#pragma once

#include <blco/export.hpp>
#include <blco/model.hpp>
#include <blco/output_claims.hpp>
#include <blco/progress.hpp>
#include <blco/tensor.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>

namespace blco {

struct ReportOptions {
  std::string title = "CP model";
  std::size_t components = std::numeric_limits<std::size_t>::max();  // those of largest share
  std::size_t entries = 10;                                          // per mode of a component, at most
  int index_base = 1;                                                // names the first index of a mode without labels
  // That of the fit, for the lift of each entry: its share of the magnitudes of its column over its index's share of
  // the magnitudes of the tensor's values. 1: as common in the component as in the tensor. Null: no lift.
  const Tensor* tensor = nullptr;
  std::uint64_t memory_bytes = 0;  // of the pass over the tensor, see NonzeroOptions
  int threads = 0;
};

// Writes the page: UTF-8, without scripts, styles or pictures of others; what comes from data is escaped, and long
// labels are shortened. Components come by falling share. A mode whose labels are ordered (times, intervals, numbers)
// is a line of up to 200 points, each the entry of largest magnitude of its part; so is one without labels of up to
// 1000 indices; the others are bars. Plots of a mode share one scale.
// Memory: a component's part of the page, some 20 KB a mode, and with a tensor 8 bytes per index of each mode beside
// memory_bytes. Throws Error: invalid_argument (sizes of the model that disagree; a tensor of another shape or other
// labels), and as for_each_nonzero() does.
void write_report(const CpdModel& model, const TextSink& sink, const ReportOptions& options = {},
                  const ProgressCallback& progress = {});

// The same into a file, which appears, or replaces an older one, only when it is complete; `claims` are those of the
// caller. Also throws Error{io}.
void write_report(const CpdModel& model, const std::filesystem::path& output, const ReportOptions& options = {},
                  const ProgressCallback& progress = {}, const OutputClaims* claims = nullptr);

}  // namespace blco
