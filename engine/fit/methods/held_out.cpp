#include "engine/fit/methods/held_out.hpp"

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/common/number_text.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "engine/tensor/tensor_sizes.hpp"
#include "io/container/chunk_source.hpp"
#include "io/text/quoted_text.hpp"

namespace blco {
namespace {

void check_labels(const Tensor& tensor, const Tensor& entries) {
  if (tensor.summary().label_bytes.empty() || entries.summary().label_bytes.empty()) return;
  const std::vector<Labels> fitted = tensor.labels();
  const std::vector<Labels> held_out = entries.labels();
  for (std::size_t n = 0; n < fitted.size(); ++n) {
    for (std::uint64_t i = 0; i < fitted[n].size() && i < held_out[n].size(); ++i) {
      if (fitted[n][i] == held_out[n][i]) continue;
      refuse("label " + std::to_string(i + 1) + " of mode " + std::to_string(n) + " is " +
             quoted_for_message(fitted[n][i]) + " in the tensor, but " + quoted_for_message(held_out[n][i]) +
             " in the held-out entries; ingest them with the tensor as " +
             option_name("IngestOptions.columns.labels_from") + ", which keeps the numbers of its labels");
    }
  }
}

}  // namespace

HeldOut::HeldOut(const Tensor& entries, WorkerGroup& workers) : entries_(&entries), workers_(&workers) {
  workers.add(TensorChunks::of(entries));
}

void HeldOut::check_shape(const TensorSummary& tensor, const TensorSummary& entries) {
  if (tensor.shape == entries.shape) return;
  const std::string remedy = tensor.label_bytes.empty()
                                 ? "ingest both with the same " + option_name("IngestOptions.shape")
                                 : "ingest the table of these entries with the tensor as " +
                                       option_name("IngestOptions.columns.labels_from") + ", and with " +
                                       option_name("IngestOptions.columns.skip_unknown") + " where it has other keys";
  refuse(option_name("validation") + ": the held-out entries have the shape " + shape_text(entries.shape) +
         ", but the tensor has the shape " + shape_text(tensor.shape) + "; " + remedy +
         ", or hold some out of the input by " + option_name("IngestOptions.hold_out"));
}

void HeldOut::check_indices(const Tensor& tensor, const Tensor& entries) {
  check_labels(tensor, entries);
  for (std::size_t n = 0; n < tensor.summary().shape.size(); ++n) {
    if (TensorChunks::of(tensor).reordering(n) == TensorChunks::of(entries).reordering(n)) continue;
    refuse(option_name("validation") + ": mode " + std::to_string(n) +
           " of the held-out entries is stored with other indices than that of the tensor; ingest both with " +
           option_name("IngestOptions.reorder", "none"));
  }
}

std::uint64_t HeldOut::host_bytes(const Tensor& entries) {
  const StreamPlan plan = WorkerGroup::plan_for(TensorChunks::of(entries));
  return static_cast<std::uint64_t>(plan.slots) * plan.slot_bytes + plan.scratch_bytes +
         measure_tensor(TensorChunks::of(entries)).table_bytes + TensorChunks::of(entries).held_bytes();
}

std::uint64_t HeldOut::slot_bytes(const Tensor& entries) {
  return WorkerGroup::plan_for(TensorChunks::of(entries)).slot_bytes;
}

double HeldOut::error() {
  workers_->pass_over(TensorChunks::of(*entries_), PassRequest({.rule = EntryRule::given}, 0));
  return std::sqrt(workers_->sum_of_terms() / static_cast<double>(entries_->summary().nnz));
}

}  // namespace blco
