// Opens the entries, shares out the memory, and runs the pass.
#include <algorithm>
#include <blco/predict.hpp>
#include <blco/tensor_file.hpp>
#include <memory>
#include <string_view>
#include <utility>

#include "blco/layout.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/common/check_callable.hpp"
#include "engine/common/check_outputs.hpp"
#include "engine/common/index_view.hpp"
#include "engine/common/memory.hpp"
#include "engine/common/number_text.hpp"
#include "engine/common/thread_pool.hpp"
#include "engine/ingest/input/open_input.hpp"
#include "engine/ingest/sort/ingest_plan.hpp"
#include "engine/predict/prediction_pass.hpp"
#include "engine/predict/prediction_table.hpp"
#include "engine/predict/repeat_count.hpp"
#include "engine/predict/tensor_reader.hpp"
#include "engine/predict/worst_entries.hpp"
#include "io/arrays/coo_reader.hpp"
#include "io/container/model_file.hpp"
#include "io/text/tns_writer.hpp"
#include "kernels/losses.hpp"

namespace blco {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_block_entries = std::size_t{1} << 15;
constexpr std::size_t least_block_entries = std::size_t{1} << 10;
// The most that a reader whose memory is short gives at a time.
constexpr std::size_t most_batch_entries = std::size_t{1} << 13;
// Of a budget, what blocks may take where it is short.
constexpr std::uint64_t block_part = 8;

// What must be known of a model to plan the memory of a prediction, before the model itself is loaded.
struct ModelSizes {
  std::uint64_t bytes = 0;         // of the whole model in memory
  std::vector<LabelSizes> labels;  // one per mode
  std::vector<std::uint64_t> shape;
  InputReading reading;
};

ModelSizes sizes_of(const CpdModel& model) {
  ModelSizes sizes;
  std::size_t numbers = model.weights.size() + model.sweeps();
  for (const std::vector<double>& factor : model.factors) numbers += factor.size();
  sizes.bytes = numbers * sizeof(double);
  sizes.labels.resize(model.shape.size());
  sizes.shape = model.shape;
  sizes.reading = model.reading;
  for (std::size_t n = 0; n < std::min(model.labels.size(), sizes.labels.size()); ++n) {
    const Labels& labels = model.labels[n];
    sizes.labels[n] = {labels.size(), labels.text().size()};
    sizes.bytes += labels.memory_bytes();
  }
  return sizes;
}

void add_labels(const std::vector<std::uint64_t>& label_bytes, ModelSizes& sizes) {
  sizes.labels.resize(sizes.shape.size());
  for (std::size_t n = 0; n < label_bytes.size(); ++n) {
    if (label_bytes[n] == 0) continue;
    sizes.labels[n] = {sizes.shape[n], label_bytes[n] - Labels::memory_bytes(sizes.shape[n], 0)};
    sizes.bytes += label_bytes[n];
  }
}

// Of a file reads no factors and no labels.
ModelSizes sizes_of(const ModelSource& model) {
  if (const auto* const loaded = std::get_if<std::reference_wrapper<const CpdModel>>(&model))
    return sizes_of(loaded->get());
  const auto& file = std::get<std::filesystem::path>(model);
  const ModelFileReader reader(file, model_kind(file).value_or(ModelKind::cp));
  const ModelFile& header = reader.header();
  ModelSizes sizes;
  std::uint64_t numbers = header.numbers() + header.sweeps();
  for (std::size_t n = 0; n < header.shape.size(); ++n) numbers += header.shape[n] * header.columns(n);
  sizes.bytes = numbers * sizeof(double);
  sizes.shape = header.shape;
  sizes.reading = header.reading;
  add_labels(reader.label_bytes(), sizes);
  return sizes;
}

// Per mode, "mode0" and so on where the model has no names.
std::vector<std::string> names_of_modes(std::vector<std::string> names, std::size_t order) {
  while (names.size() < order) names.push_back("mode" + std::to_string(names.size()));
  return names;
}

KnownTensor known_of(const CpdModel& model, const PredictOptions& options) {
  KnownTensor known{options.model_name, names_of_modes(model.mode_names, model.shape.size()), model.reading.columns,
                    model.labels, options.without_values};
  known.labels.resize(model.shape.size());
  return known;
}

// The options of a table, where the caller leaves them to the model.
ColumnOptions complete_columns(ColumnOptions columns, const InputReading& reading) {
  if (columns.missing != Missing::error || reading.missing.empty()) return columns;
  columns.missing = reading.missing == "skip" ? Missing::skip : Missing::key;
  if (columns.missing == Missing::key) columns.missing_key = reading.missing;
  return columns;
}

// Nothing if the file is no container.
std::unique_ptr<TensorFile> open_container(const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return nullptr;
  try {
    return std::make_unique<TensorFile>(file);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::invalid_argument) throw;
    return nullptr;
  }
}

void check_options(const PredictOptions& options) {
  check_index_base(options.index_base);
  if (options.loss) check_parameter(*options.loss);
}

// One prediction: its threads, its memory, its entries. A model in a file is loaded once its memory is planned.
class Prediction {
 public:
  Prediction(const ModelSource& model, const PredictOptions& options)
      : sizes_(sizes_of(model)),
        options_(options),
        budget_(host_budget(options.memory_bytes)),
        fixed_bytes_(sizes_.bytes),
        pool_(options.threads) {
    check_options(options);
    if (const auto* const file = std::get_if<fs::path>(&model)) {
      model_file_ = *file;
    } else {
      model_ = &std::get<std::reference_wrapper<const CpdModel>>(model).get();
      static_cast<void>(ModelValues(*model_));
    }
  }

  void open(const Tensor& tensor, const std::string& name) {
    check_container_options(name);
    const std::uint64_t reader_bytes = TensorReader::memory_bytes(tensor, sizes_.labels);
    job_.has_values = true;
    plan(reader_bytes, tensor.summary().nnz);
    load_model_file();
    auto reader = std::make_unique<TensorReader>(tensor, name, model_->shape, known_, pool_);
    if (const std::size_t n = reader->find_longer_mode(); n < model_->shape.size() && !options_.skip_unknown) {
      refuse("mode " + std::to_string(n) + " of " + name + " has the length " +
             std::to_string(tensor.summary().shape[n]) + ", but that of " + options_.model_name + " has " +
             std::to_string(model_->shape[n]) +
             "; give a tensor of the same shape, or leave entries beyond the model out with " +
             option_name("skip_unknown"));
    }
    reader_ = std::move(reader);
  }

  void open(const fs::path& entries) {
    container_ = open_container(entries);
    if (container_) return open(*container_, entries.string());
    const bool has_keys = !options_.columns.modes.empty() || is_table_name(entries);
    IngestOptions ingest;
    ingest.columns = has_keys ? complete_columns(options_.columns, sizes_.reading) : options_.columns;
    job_.has_values = has_keys ? !ingest.columns.value.empty() : !options_.without_values;
    job_.is_table = has_keys;
    if (has_keys) fixed_bytes_ += max_known_key_bytes(sizes_.labels);
    if (job_.has_values && !options_.each_entry) job_.fold = sizes_.reading.duplicates;
    plan(min_entry_reader_bytes(pool_.width()) + (job_.fold ? plan_sort() : 0), 0);
    load_model_file();
    ingest.columns.labels_from.clear();
    ingest.index_base = options_.index_base;
    ingest.skip_lines = options_.skip_lines;
    ingest.memory_bytes = budget_ - fixed_bytes_;
    reader_ = open_entries(entries, ingest, known_, pool_);
    job_.has_values = job_.has_values && reader_->has_values();
    check_top();
    if (!job_.has_values) job_.fold.reset();
    if (!job_.fold) return;
    job_.sort.budget = {.total_bytes = budget_, .key_bytes = fixed_bytes_ + block_bytes_};
    job_.sort.budget.reader_bytes = reader_->memory_bytes();
    job_.sort.folder = options_.temporary_directory.empty() ? "." : options_.temporary_directory;
    job_.sort.mark = "predictions";
  }

  PredictSummary run(const PredictionSink& sink, const ProgressCallback& progress) {
    job_.model = model_;
    job_.tucker = tucker_ ? &*tucker_ : nullptr;
    job_.loss = options_.loss.value_or(model_->loss);
    // As the fit had it.
    job_.value_exponent =
        exponent_of_unit(job_.loss, model_->tensor_sum_of_squares / static_cast<double>(model_->tensor_nnz));
    job_.reader = reader_.get();
    job_.mode_names = known_.mode_names;
    job_.model_name = options_.model_name;
    job_.skip_unknown = options_.skip_unknown;
    job_.index_base = options_.index_base;
    ProgressMeter meter(progress);
    return run_prediction(job_, sink, pool_, meter);
  }

  PredictSummary write(const TextSink& text, char separator, const ProgressCallback& progress) {
    PredictionTable table(known_.mode_names, model_->labels, separator, options_.index_base, text, pool_);
    bool has_header = false;
    const auto begin = [&] {
      if (!std::exchange(has_header, true)) table.write_header(job_.has_values);
    };
    const auto write_block = [&](const PredictionBlock& block) {
      begin();  // an input that is refused before it has entries leaves nothing on standard output
      table.write(block);
    };
    const PredictSummary summary = run(write_block, progress);
    begin();
    table.finish();
    return summary;
  }

 private:
  void load_model_file() {
    if (!model_file_.empty()) {
      if (is_tucker(model_file_)) {
        tucker_ = load_tucker(model_file_);
        loaded_.header() = tucker_->header();
      } else {
        loaded_ = load_model(model_file_);
      }
      model_ = &loaded_;
    }
    known_ = known_of(*model_, options_);
  }

  void check_container_options(const std::string& name) const {
    const ColumnOptions usual;
    const ColumnOptions& columns = options_.columns;
    const bool has_columns = !columns.modes.empty() || !columns.value.empty() || columns.separator != usual.separator ||
                             columns.decimal != usual.decimal || columns.quotes != usual.quotes ||
                             columns.missing != usual.missing;
    if (has_columns) {
      refuse(name + " is a tensor and no table; leave out " + option_name("columns.modes") + ", " +
             option_name("columns.value") + " and other options of tables");
    }
    if (options_.skip_lines != 0) {
      refuse(name + " is a tensor and has no lines to skip; leave out " + option_name("skip_lines"));
    }
    if (options_.without_values) refuse(name + " has values; leave out " + option_name("without_values"));
  }

  void check_top() const {
    if (options_.top == 0 || job_.has_values) return;
    refuse(option_name("top") + " needs values to compare the model with, but these entries have none; name their " +
           "column with " + option_name("columns.value"));
  }

  // The least that sorting takes.
  std::uint64_t plan_sort() {
    job_.sort.sizes = {.threads = pool_.width(), .line_bits = TensorLayout(sizes_.shape).line_bits()};
    job_.sort.sizes.order = static_cast<int>(sizes_.shape.size());
    job_.sort.sizes.chunk_nnz = least_block_entries;
    const EntrySizes batch{most_batch_entries, most_batch_entries * (sizes_.shape.size() + 1) * sizeof(double)};
    return min_spilling_bytes({}, job_.sort.sizes, most_batch_entries, batch);
  }

  // Once it is known whether there are values: `nnz` entries, or 0 where their number is not known.
  void plan(std::uint64_t reader_bytes, std::uint64_t nnz) {
    const std::size_t order = sizes_.labels.size();
    check_top();
    const std::uint64_t top = nnz > 0 ? std::min(options_.top, nnz) : options_.top;
    job_.top = top;
    constexpr std::uint64_t most = std::uint64_t{1} << 48;
    if (top > most) refuse(option_name("top") + " is above " + std::to_string(most) + "; ask for fewer entries");
    const std::uint64_t worst_bytes = bytes_of<WorstEntries>(order, top);
    // Of text one block is written while another is made.
    const std::uint64_t entry_bytes = prediction_bytes(order) + 2 * PredictionTable::line_bytes(sizes_.labels);
    const std::uint64_t fixed = fixed_bytes_ + worst_bytes + RepeatCount::memory_bytes;
    const std::uint64_t least = fixed + reader_bytes + least_block_entries * entry_bytes;
    // The reader of an input takes an eighth of what is left at most, but for the least.
    if (least > budget_) {
      throw Error(
          ErrorKind::out_of_memory,
          "the job takes at least " + format_bytes(least) + " of memory, " + format_bytes(sizes_.bytes) +
              " of it for the model" +
              (top > 0 ? " and " + format_bytes(worst_bytes) + " for the entries of " + option_name("top") : "") +
              ", but the budget is " + format_bytes(budget_) + "; give " +
              option_name("memory_bytes", as_budget(least)));
    }
    job_.block_entries = static_cast<std::size_t>(std::clamp<std::uint64_t>(
        (budget_ - fixed) / block_part / entry_bytes, least_block_entries, most_block_entries));
    block_bytes_ = job_.block_entries * entry_bytes;
    fixed_bytes_ = fixed;
  }

  ModelSizes sizes_;
  const PredictOptions& options_;
  fs::path model_file_;  // empty: the model is in memory
  CpdModel loaded_;
  std::optional<TuckerModel> tucker_;
  const CpdModel* model_ = nullptr;
  KnownTensor known_;
  std::uint64_t budget_;
  std::uint64_t fixed_bytes_;
  std::uint64_t block_bytes_ = 0;
  ThreadPool pool_;
  PredictionJob job_;
  std::unique_ptr<TensorFile> container_;
  std::unique_ptr<CoordinateReader> reader_;
};

char separator_of(TextFormat format) {
  if (format == TextFormat::csv) return ',';
  if (format == TextFormat::tsv) return '\t';
  refuse("predictions have more numbers than coordinate text has; write them as csv or tsv");
}

TextFormat format_of(const fs::path& output) {
  fs::path name = output.filename();
  if (name.extension() == ".gz" || name.extension() == ".zst") name = name.stem();
  if (name.extension() == ".csv") return TextFormat::csv;
  if (name.extension() == ".tsv") return TextFormat::tsv;
  refuse("cannot write predictions to " + output.string() +
         ": name a file that ends in .csv or .tsv, optionally followed by .gz or .zst");
}

}  // namespace

PredictSummary predict(const ModelSource& model, const fs::path& entries, const PredictionSink& sink,
                       const PredictOptions& options, const ProgressCallback& progress) {
  Prediction prediction(model, options);
  prediction.open(entries);
  return prediction.run(sink, progress);
}

PredictSummary predict(const ModelSource& model, const Tensor& entries, const PredictionSink& sink,
                       const PredictOptions& options, const ProgressCallback& progress) {
  Prediction prediction(model, options);
  prediction.open(entries, "the tensor");
  return prediction.run(sink, progress);
}

std::vector<double> predict(const CpdModel& model, std::span<const IndexView> coordinates, int threads) {
  constexpr std::size_t task_entries = 4096;
  const ModelValues values(model);
  const std::size_t order = model.shape.size();
  if (coordinates.size() != order) {
    refuse("there are coordinates of " + std::to_string(coordinates.size()) + " modes, but the model has " +
           std::to_string(order));
  }
  const std::size_t count = size_of(coordinates[0]);
  for (std::size_t n = 0; n < order; ++n) {
    check_view(coordinates[n], "the coordinates of mode " + std::to_string(n));
    if (size_of(coordinates[n]) == count) continue;
    refuse("there are " + std::to_string(size_of(coordinates[n])) + " coordinates of mode " + std::to_string(n) +
           ", but " + std::to_string(count) + " of mode 0; give as many of each");
  }
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t n = 0; n < order; ++n) {
      if (index_at(coordinates[n], i) < model.shape[n]) continue;
      refuse("entry " + std::to_string(i) + ": " + index_fault(coordinates[n], i, n, model.shape[n]));
    }
  }
  std::vector<double> predicted(count);
  ThreadPool pool(threads);
  pool.run((count + task_entries - 1) / task_entries, [&](std::size_t task) {
    const std::size_t last = std::min(count, (task + 1) * task_entries);
    std::vector<std::uint64_t> cell(order);
    for (std::size_t i = task * task_entries; i < last; ++i) {
      for (std::size_t n = 0; n < order; ++n) cell[n] = index_at(coordinates[n], i);
      predicted[i] = values.at(cell);
    }
  });
  return predicted;
}

PredictSummary write_predictions(const ModelSource& model, const fs::path& entries, const TextSink& sink,
                                 TextFormat format, const PredictOptions& options, const ProgressCallback& progress) {
  const char separator = separator_of(format);
  check_callable(sink, "sink");
  Prediction prediction(model, options);
  prediction.open(entries);
  return prediction.write(sink, separator, progress);
}

PredictSummary write_predictions(const ModelSource& model, const fs::path& entries, const fs::path& output,
                                 const PredictOptions& options, const ProgressCallback& progress) {
  const TextFormat format = format_of(output);
  std::vector<fs::path> inputs = {split_hdf5_group(entries).first};
  if (const auto* const file = std::get_if<fs::path>(&model)) inputs.push_back(*file);
  refuse_inputs_as_outputs(inputs, {output});
  TnsWriter writer(output);
  const TextSink sink = [&](std::string_view text) { writer.write(text); };
  PredictOptions beside = options;
  if (beside.temporary_directory.empty()) beside.temporary_directory = output.parent_path();
  PredictSummary summary = write_predictions(model, entries, sink, format, beside, progress);
  writer.finish();
  return summary;
}

}  // namespace blco
