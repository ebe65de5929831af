// Slices of a block are evaluated in parallel.
#include "engine/predict/prediction_pass.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "blco/layout.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/common/number_text.hpp"
#include "engine/ingest/sort/coalesce.hpp"
#include "engine/predict/model_values.hpp"
#include "engine/predict/repeat_count.hpp"
#include "engine/predict/worst_entries.hpp"
#include "io/text/quoted_text.hpp"
#include "kernels/losses.hpp"

namespace blco {
namespace {

constexpr std::size_t slice_entries = 1024;

// What a task finds in its part of a block.
struct Slice {
  std::size_t kept = 0;                // entries that the model knows, moved to the front of the slice
  std::uint64_t unknown = 0;           // left out
  std::optional<std::size_t> refused;  // the first entry of the batch that is not acceptable
};

class PredictionPass {
 public:
  PredictionPass(const PredictionJob& job, const PredictionSink& sink, Executor& executor, ProgressMeter& meter)
      : job_(job),
        sink_(sink),
        executor_(executor),
        meter_(meter),
        at_(job.tucker != nullptr ? ModelValues(*job.tucker) : ModelValues(*job.model)),
        order_(job.model->shape.size()) {
    coordinates_.resize(job.block_entries * order_);
    model_.resize(job.block_entries);
    values_.resize(job.has_values ? job.block_entries : 0);
    ratios_.resize(values_.size());
    if (job.top > 0) worst_.emplace(order_, job.top);
    if (job.fold) {
      sort_.emplace(job.sort, *job.fold, executor, meter);
      sort_->set_layout(TensorLayout(job.model->shape));
    }
    summary_.has_values = job.has_values;
    summary_.loss = job.loss;
  }

  PredictSummary run() {
    CoordinateReader& reader = *job_.reader;
    const InputSize size = reader.size();
    meter_.begin({.name = "predict", .nonzeros = size.entries, .bytes = size.bytes});
    CoordinateBatch batch;
    std::uint64_t bytes_before = 0;
    while (reader.next(batch)) {
      check_order(batch);
      const std::size_t count = batch.count();
      if (sort_) {
        collect(batch);
      } else {
        take_batch(batch);
      }
      meter_.advance(count, reader.bytes_read() - bytes_before);
      bytes_before = reader.bytes_read();
    }
    meter_.end();
    if (sort_ && sort_->entry_count() > 0) take_folded();
    if (worst_) pass_worst();
    if (!sort_ && job_.has_values) summary_.repeated_entries = repeats_.repeats();
    for (const SkippedRows& skipped : reader.skipped_rows()) {
      summary_.skipped_rows.push_back({skipped.column, skipped.rows});
    }
    summary_.input_format = reader.format();
    return summary_;
  }

 private:
  void check_order(const CoordinateBatch& batch) const {
    if (static_cast<std::size_t>(batch.order) == order_) return;
    refuse(job_.reader->name() + " has " + std::to_string(batch.order) + (batch.order == 1 ? " mode" : " modes") +
           ", but " + job_.model_name + " has " + std::to_string(order_) + "; give entries of the same modes");
  }

  void take_batch(const CoordinateBatch& batch) {
    for (std::size_t first = 0; first < batch.count(); first += job_.block_entries) {
      take_block(batch, first, std::min(job_.block_entries, batch.count() - first));
    }
  }

  // Leaves out entries that the model does not know, and collects the others.
  void collect(CoordinateBatch& batch) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < batch.count(); ++i) {
      bool is_known = true;
      for (std::size_t n = 0; n < order_; ++n) {
        const std::uint64_t coordinate = batch.coordinate(i, static_cast<int>(n));
        is_known = is_known && coordinate < job_.model->shape[n];
        batch.set(kept, n, coordinate);
      }
      if (!is_known && !job_.skip_unknown) refuse_entry(batch, i);
      batch.values[kept] = job_.fold == DuplicatePolicy::count ? 1 : batch.values[i];
      kept += is_known ? 1 : 0;
    }
    summary_.unknown_entries += batch.count() - kept;
    if (kept == 0) return;
    batch.narrow.resize(batch.narrow.empty() ? 0 : kept * order_);
    batch.wide.resize(batch.wide.empty() ? 0 : kept * order_);
    batch.values.resize(kept);
    for (std::size_t n = 0; n < order_; ++n) batch.upper[n] = std::min(batch.upper[n], job_.model->shape[n] - 1);
    sort_->add(std::exchange(batch, {}), -1);
  }

  void take_folded() {
    const TensorLayout layout(job_.model->shape);
    ExternalSort::Result sorted = sort_->finish(layout);
    LineNames names{.layout = layout, .index_base = job_.index_base};
    const std::unique_ptr<SortedSource> source =
        sorted.memory ? coalesce_in_memory(std::move(sorted.memory), *job_.fold, std::move(names), executor_)
                      : coalesce_run(std::move(sorted.run), *job_.fold, std::move(names));
    summary_.folded_entries = sort_->entry_count();
    summary_.duplicates = *job_.fold;
    meter_.begin({.name = "predict", .nonzeros = sort_->entry_count()});
    SortedPart part;
    CoordinateBatch batch;
    std::vector<std::uint64_t> point(order_);
    while (source->next(part, job_.block_entries)) {
      source->fetch(part);
      batch.resize(part.count, order_, /*is_narrow=*/false);
      for (std::size_t i = 0; i < part.count; ++i) {
        layout.delinearize({layout.has_high_word() ? part.entries.key[i] : 0, part.entries.low[i]}, point);
        for (std::size_t n = 0; n < order_; ++n) batch.set(i, n, point[n]);
        batch.values[i] = part.entries.values[i];
      }
      is_folded_ = true;
      take_block(batch, 0, part.count);
      meter_.advance(part.count, 0);
    }
    meter_.end();
  }

  void take_block(const CoordinateBatch& batch, std::size_t first, std::size_t count) {
    slices_.assign((count + slice_entries - 1) / slice_entries, {});
    executor_.run(slices_.size(), [&](std::size_t s) {
      const std::size_t begin = s * slice_entries;
      evaluate(batch, first + begin, begin, std::min(slice_entries, count - begin), slices_[s]);
    });
    std::size_t kept = 0;
    for (std::size_t s = 0; s < slices_.size(); ++s) {
      if (slices_[s].refused) refuse_entry(batch, *slices_[s].refused);
      summary_.unknown_entries += slices_[s].unknown;
      move_slice(s * slice_entries, kept, slices_[s].kept);
      kept += slices_[s].kept;
    }
    for (std::size_t i = 0; i < kept; ++i) count_entry(i);
    if (worst_) return keep_worst(kept);
    if (kept > 0) pass_on(kept);
  }

  // Entries of the batch from `first` on, to `begin` of the block.
  void evaluate(const CoordinateBatch& batch, std::size_t first, std::size_t begin, std::size_t count, Slice& slice) {
    for (std::size_t i = first; i < first + count; ++i) {
      const std::size_t to = begin + slice.kept;
      const std::span<std::uint64_t> point(coordinates_.data() + to * order_, order_);
      for (std::size_t n = 0; n < order_; ++n) point[n] = batch.coordinate(i, static_cast<int>(n));
      const bool is_known = std::ranges::equal(point, job_.model->shape, std::ranges::less());
      if ((!is_known && !job_.skip_unknown) || (job_.has_values && !takes_entry(job_.loss, batch.values[i]))) {
        slice.refused = i;
        return;
      }
      if (!is_known) {
        ++slice.unknown;
        continue;
      }
      ++slice.kept;
      model_[to] = at_.at(point);
      if (!job_.has_values) continue;
      values_[to] = batch.values[i];
      ratios_[to] = deviance(job_.loss, values_[to], model_[to], job_.value_exponent);
    }
  }

  // One after another, so that sums depend neither on the threads nor on how the input is cut into batches.
  void count_entry(std::size_t at) {
    const double model = model_[at];
    ++summary_.entries;
    summary_.min_model = std::min(summary_.min_model, model);
    summary_.max_model = std::max(summary_.max_model, model);
    if (!job_.has_values) return;
    if (!sort_) repeats_.add({coordinates_.data() + at * order_, order_});
    const double residual = values_[at] - model;
    const double deviance = ratios_[at];
    summary_.sum_of_squares += residual * residual;
    summary_.sum_of_magnitudes += std::abs(residual);
    summary_.min_residual = std::min(summary_.min_residual, residual);
    summary_.max_residual = std::max(summary_.max_residual, residual);
    if (std::isnan(deviance)) {
      ++summary_.entries_without_deviance;
      return;
    }
    summary_.sum_of_deviances += deviance;
    summary_.max_deviance = std::max(summary_.max_deviance, deviance);
    summary_.impossible_entries += std::isinf(deviance) ? 1 : 0;
  }

  void move_slice(std::size_t from, std::size_t to, std::size_t count) {
    if (from == to) return;
    const auto move = [&](std::vector<double>& numbers) {
      if (!numbers.empty()) std::copy_n(numbers.begin() + from, count, numbers.begin() + to);
    };
    std::copy_n(coordinates_.begin() + from * order_, count * order_, coordinates_.begin() + to * order_);
    move(model_);
    move(values_);
    move(ratios_);
  }

  void keep_worst(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      if (std::isnan(ratios_[i])) continue;
      worst_->add({coordinates_.data() + i * order_, order_}, values_[i], model_[i], ratios_[i]);
    }
  }

  void pass_worst() {
    const std::span<const WorstEntries::Entry> sorted = worst_->sort();
    for (std::size_t first = 0; first < sorted.size(); first += job_.block_entries) {
      const std::size_t count = std::min(job_.block_entries, sorted.size() - first);
      for (std::size_t i = 0; i < count; ++i) {
        const WorstEntries::Entry& entry = sorted[first + i];
        std::ranges::copy(worst_->point(entry), coordinates_.data() + i * order_);
        model_[i] = entry.model;
        values_[i] = entry.value;
        ratios_[i] = entry.deviance;
      }
      pass_on(count);
    }
  }

  void pass_on(std::size_t count) {
    const std::size_t of_values = job_.has_values ? count : 0;
    summary_.written_entries += count;
    if (!sink_) return;
    sink_({.order = static_cast<int>(order_),
           .coordinates = std::span<const std::uint64_t>(coordinates_).first(count * order_),
           .values = std::span<const double>(values_).first(of_values),
           .model = std::span<const double>(model_).first(count),
           .deviances = std::span<const double>(ratios_).first(of_values)});
  }

  // Coordinates of entries that have become one, for a message.
  std::string cell_text(const CoordinateBatch& batch, std::size_t entry) const {
    std::string text = "the entries of the cell (";
    for (std::size_t n = 0; n < order_; ++n) {
      const std::uint64_t coordinate = batch.coordinate(entry, static_cast<int>(n));
      const bool has_label = n < job_.model->labels.size() && coordinate < job_.model->labels[n].size();
      text +=
          (n == 0 ? "" : ", ") + (has_label ? quoted_for_message(job_.model->labels[n][coordinate])
                                            : std::to_string(coordinate + static_cast<std::uint64_t>(job_.index_base)));
    }
    return text + ") of " + job_.reader->name();
  }

  [[noreturn]] void refuse_entry(const CoordinateBatch& batch, std::size_t entry) const {
    const CoordinateReader& reader = *job_.reader;
    const std::string place = (is_folded_ ? cell_text(batch, entry) : reader.place_of(entry)) + ": ";
    for (std::size_t n = 0; n < order_; ++n) {
      const std::uint64_t coordinate = batch.coordinate(entry, static_cast<int>(n));
      if (coordinate < job_.model->shape[n] || job_.skip_unknown) continue;
      const std::string key = reader.unknown_key(n, coordinate);
      if (!key.empty()) {
        refuse(place + quoted_for_message(key) + " is not a label of the mode '" + job_.mode_names[n] + "' of " +
               job_.model_name + "; correct it, " +
               (job_.is_table ? "read the column as for the model with " + option_name("columns.modes") + ", " : "") +
               "or leave such entries out with " + option_name("skip_unknown"));
      }
      const std::uint64_t base = reader.counts_from_zero() ? 0 : static_cast<std::uint64_t>(job_.index_base);
      refuse(place + "the coordinate " + std::to_string(coordinate + base) + " in mode " + std::to_string(n) +
             " is beyond the length of " + std::to_string(job_.model->shape[n]) + " that " + job_.model_name +
             " has; correct it, or leave such entries out with " + option_name("skip_unknown"));
    }
    refuse(place + "the value is " + in_full(batch.values[entry]) + ", but the loss " + to_string(job_.loss) +
           " takes " + values_taken_by(job_.loss) + "; correct it, or choose another " + option_name("loss"));
  }

  const PredictionJob& job_;
  const PredictionSink& sink_;
  Executor& executor_;
  ProgressMeter& meter_;
  ModelValues at_;
  std::size_t order_;
  std::vector<std::uint64_t> coordinates_;  // of one block
  std::vector<double> values_;
  std::vector<double> model_;
  std::vector<double> ratios_;
  std::vector<Slice> slices_;
  std::optional<WorstEntries> worst_;
  std::optional<ExternalSort> sort_;  // where entries are folded
  bool is_folded_ = false;            // entries are no longer those of the reader
  RepeatCount repeats_;
  PredictSummary summary_;
};

}  // namespace

PredictSummary run_prediction(const PredictionJob& job, const PredictionSink& sink, Executor& executor,
                              ProgressMeter& meter) {
  return PredictionPass(job, sink, executor, meter).run();
}

}  // namespace blco
