// Ingest: read, sort, coalesce, encode.
#include <algorithm>
#include <blco/arrow.hpp>
#include <blco/memory_tensor.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "blco/chunk.hpp"
#include "blco/layout.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/common/check_outputs.hpp"
#include "engine/common/memory.hpp"
#include "engine/common/thread_pool.hpp"
#include "engine/ingest/encode.hpp"
#include "engine/ingest/hold_out.hpp"
#include "engine/ingest/ingest_job.hpp"
#include "engine/ingest/ingest_notes.hpp"
#include "engine/ingest/input/array_reader.hpp"
#include "engine/ingest/input/compact_reader.hpp"
#include "engine/ingest/input/labelled_reader.hpp"
#include "engine/ingest/input/open_input.hpp"
#include "engine/ingest/ordered_copies.hpp"
#include "engine/ingest/save_tensor.hpp"
#include "engine/ingest/sort/coalesce.hpp"
#include "engine/ingest/sort/device_run.hpp"
#include "engine/ingest/sort/external_sort.hpp"
#include "engine/ingest/sort/reordering.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "io/arrays/coo_reader.hpp"
#include "io/container/container_reader.hpp"
#include "io/file/scratch_file.hpp"
#include "io/file/temporary_file.hpp"

namespace blco {
namespace {

constexpr std::size_t max_name_bytes = 4096;

std::string count_of(std::size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::vector<std::string> decide_mode_names(std::size_t order, const IngestOptions& options,
                                           const std::vector<KeyedMode>& keyed = {}) {
  if (options.mode_names.empty()) {
    std::vector<std::string> names;
    for (const KeyedMode& mode : keyed) names.push_back(mode.name);
    if (!names.empty()) return names;
    for (std::size_t n = 0; n < order; ++n) names.push_back("mode" + std::to_string(n));
    return names;
  }
  if (options.mode_names.size() != order) {
    refuse("the tensor has " + count_of(order, "mode") + ", but " + option_name("mode_names") + " has " +
           count_of(options.mode_names.size(), "name") + "; give one name per mode");
  }
  for (std::size_t n = 0; n < order; ++n) {
    const auto earlier = std::span(options.mode_names).first(n);
    if (std::ranges::find(earlier, options.mode_names[n]) == earlier.end()) continue;
    refuse(option_name("mode_names") + " has the name '" + options.mode_names[n] +
           "' twice; give each mode a name of its own");
  }
  return options.mode_names;
}

// The name that a table of the tensor should have for its values. The one that it has anyway is not kept, so that a
// table that is exported and ingested again gives the same container.
std::string kept_value_name(const std::vector<std::string>& mode_names, const IngestOptions& options) {
  ContainerInfo info;
  info.mode_names = mode_names;
  info.value_name = options.columns.value;
  const std::string name = value_column_name(info);
  return name == default_value_name(mode_names) ? "" : name;
}

void check_options(const IngestOptions& options) {
  if (options.chunk_nnz == 0 || options.chunk_nnz > max_chunk_nnz) {
    refuse(option_name("chunk_nnz") + " must be from 1 to " + std::to_string(max_chunk_nnz));
  }
  check_compression({options.zstd_level, options.zstd_saving_percent});
  if ((options.hold_out != 0) == options.held_out_to.empty()) {
    refuse(option_name("hold_out") + " and " + option_name("held_out_to") + " go together; give both, or neither");
  }
  if (options.hold_out != 0 && !(options.hold_out > 0 && options.hold_out < 1)) {
    refuse(option_name("hold_out") + " must be above 0 and below 1, the whole");
  }
  if (options.hold_out != 0 && options.reorder != Reorder::none) {
    refuse(option_name("hold_out") + " does not go with " + option_name("reorder", "frequency") +
           ", which numbers by counts; leave out one of them");
  }
  for (const auto& [option, is_given] : {std::pair{"shape", !options.shape.empty()},
                                         std::pair{"columns.labels_from", !options.columns.labels_from.empty()}}) {
    if (!options.compact || !is_given) continue;
    refuse(option_name("compact") + " gives modes lengths and numbers of its own; leave out " + option_name(option));
  }
  if (!options.shape.empty()) static_cast<void>(TensorLayout(options.shape));
  if (!options.shape.empty() && !options.mode_names.empty()) {
    static_cast<void>(decide_mode_names(options.shape.size(), options));
  }
  if (!options.mode_names.empty()) {
    parse_orders(options.orders, std::vector<std::uint64_t>(options.mode_names.size(), 1), options.mode_names);
  }
  if (options.columns.value.size() > max_name_bytes) {
    refuse("the name of " + option_name("columns.value") + " is longer than " + std::to_string(max_name_bytes) +
           " bytes; shorten it");
  }
  // A mode's name that comes from its column is no longer than what asks for it.
  for (const auto& names : {options.columns.modes, options.mode_names}) {
    for (const std::string& name : names) {
      if (name.size() <= max_name_bytes) continue;
      refuse("a mode name is longer than " + std::to_string(max_name_bytes) + " bytes; shorten it");
    }
  }
  if (options.columns.missing_key.size() > max_name_bytes) {
    refuse("the key of " + option_name("columns.missing") + " is longer than " + std::to_string(max_name_bytes) +
           " bytes; shorten it");
  }
}

void check_order(std::size_t order, const IngestOptions& options, const std::string& input) {
  static_cast<void>(decide_mode_names(order, options));
  if (options.shape.empty() || options.shape.size() == order) return;
  refuse(input + " has " + count_of(order, "mode") + ", but " + option_name("shape") + " has " +
         count_of(options.shape.size(), "length") + "; give one length per mode");
}

void check_coordinates(const CoordinateBatch& batch, const IngestOptions& options, const std::string& input) {
  if (options.shape.empty()) return;
  for (std::size_t n = 0; n < batch.upper.size(); ++n) {
    if (batch.upper[n] < options.shape[n]) continue;
    const std::uint64_t largest = batch.upper[n] + static_cast<std::uint64_t>(options.index_base);
    refuse(input + " has the coordinate " + std::to_string(largest) + " in mode " + std::to_string(n) +
           ", beyond its length of " + std::to_string(options.shape[n]) + " in " + option_name("shape") +
           "; give a larger length");
  }
}

double share_read(const CoordinateReader& reader, const InputSize& size, std::uint64_t entries) {
  if (size.entries > 0) return static_cast<double>(entries) / static_cast<double>(size.entries);
  if (size.bytes > 0) return static_cast<double>(reader.bytes_read()) / static_cast<double>(size.bytes);
  return -1;
}

// Makes room for the counts of a batch's indices, before they are made.
void count_indices(const CoordinateBatch& batch, ExternalSort& sort, Reordering& reordering, Executor& executor) {
  std::vector<std::uint64_t> lengths = sort.extent();
  lengths.resize(batch.upper.size(), 0);
  for (std::size_t n = 0; n < lengths.size(); ++n) lengths[n] = std::max(lengths[n], batch.upper[n] + 1);
  Reordering::check_lengths(lengths);
  sort.reserve_for_reordering(Reordering::memory_bytes(lengths));
  reordering.count(batch, executor);
}

void read_all(CoordinateReader& reader, const IngestOptions& options, ExternalSort& sort, Reordering* reordering,
              Executor& executor, ProgressMeter& meter) {
  CoordinateBatch batch;
  const InputSize size = reader.size();
  meter.begin({.name = "read", .nonzeros = size.entries, .bytes = size.bytes});
  std::uint64_t bytes_before = 0;
  while (reader.next(batch)) {
    if (sort.entry_count() == 0) check_order(static_cast<std::size_t>(batch.order), options, reader.name());
    check_coordinates(batch, options, reader.name());
    if (options.duplicates == DuplicatePolicy::count) std::ranges::fill(batch.values, 1.0);
    const std::uint64_t entries = batch.count();
    if (reordering != nullptr) count_indices(batch, sort, *reordering, executor);
    sort.set_key_bytes(reader.kept_bytes());
    sort.add(std::exchange(batch, {}), share_read(reader, size, sort.entry_count() + entries));
    meter.advance(entries, reader.bytes_read() - bytes_before);
    bytes_before = reader.bytes_read();
  }
  meter.end();
  if (sort.entry_count() == 0) {
    std::string skipped;
    for (const auto& [column, rows] : reader.skipped_rows()) {
      skipped += (skipped.empty() ? ", but rows with missing fields (" : ", ") + count_of(rows, "row") + " without '" +
                 column + "'";
    }
    if (!skipped.empty()) skipped += ")";
    if (reader.unknown_rows() > 0) {
      skipped += (skipped.empty() ? ", but " : ", and ") + count_of(reader.unknown_rows(), "row") + " with keys that " +
                 option_name("columns.labels_from") + " does not have";
    }
    refuse(reader.name() + " has no nonzeros" + skipped + "; a tensor requires at least one");
  }
}

// The shape asked for; without one, the declared shape of the input, which its entries must fit; without either, the
// smallest that holds the entries.
std::vector<std::uint64_t> decide_shape(const std::vector<std::uint64_t>& extent, const IngestOptions& options,
                                        const CoordinateReader& reader, const FinalCoordinates& final_ones) {
  if (!options.shape.empty()) return options.shape;
  const std::vector<std::uint64_t> shape = reader.declared_shape();
  if (shape.empty()) return extent;
  for (std::size_t n = 0; n < extent.size(); ++n) {
    if (extent[n] <= shape[n] || final_ones.has(n)) continue;
    const std::uint64_t largest = extent[n] - 1 + static_cast<std::uint64_t>(options.index_base);
    refuse(reader.name() + " has the coordinate " + std::to_string(largest) + " in mode " + std::to_string(n) +
           ", beyond the length of " + std::to_string(shape[n]) +
           " that its header declares; correct the header, or give " + option_name("shape"));
  }
  return shape;
}

// Nonzeros in line order, and what encode is told of them.
struct SortedEntries {
  ContainerInfo info;
  TensorLayout layout;  // the source refers to it, and to the next
  std::unique_ptr<Reordering> reordering;
  std::unique_ptr<SortedSource> source;
  EncodePlan plan;
  std::vector<Labels> labels;
  std::vector<KeyedMode> keyed_modes;
  OrderRequest orders;

  EncodeInput input(std::uint64_t entries_read, DuplicatePolicy duplicates) {
    return {*source, layout, std::move(info), entries_read, reordering.get(), std::move(labels), duplicates};
  }
};

std::vector<std::uint64_t> longer_of(std::vector<std::uint64_t> lengths, const std::vector<std::uint64_t>& others) {
  for (std::size_t n = 0; n < lengths.size(); ++n) lengths[n] = std::max(lengths[n], others[n]);
  return lengths;
}

std::unique_ptr<SortedEntries> sort_entries(CoordinateReader& reader, const IngestOptions& options, ExternalSort& sort,
                                            Executor& executor, ProgressMeter& meter) {
  std::unique_ptr<Reordering> reordering;
  if (options.reorder == Reorder::frequency) {
    reordering = std::make_unique<Reordering>();
    Reordering::check_lengths(options.shape);
    if (!options.shape.empty()) sort.reserve_for_reordering(Reordering::memory_bytes(options.shape));
  } else if (!options.shape.empty()) {
    sort.set_layout(TensorLayout(options.shape));
  }
  read_all(reader, options, sort, reordering.get(), executor, meter);
  const FinalCoordinates final_ones(reader.take_final_coordinates());
  const std::vector<std::uint64_t> shape = decide_shape(sort.extent(), options, reader, final_ones);
  auto sorted = std::make_unique<SortedEntries>(
      SortedEntries{{}, TensorLayout(shape), std::move(reordering), nullptr, {}, {}, reader.keyed_modes(), {}});
  sorted->info.shape = shape;
  sorted->info.mode_names = decide_mode_names(shape.size(), options, sorted->keyed_modes);
  sorted->orders = parse_orders(options.orders, shape, sorted->info.mode_names);
  check_copies(sorted->orders, sorted->layout, std::min(options.chunk_nnz, sort.entry_count()), options.zstd_level,
               copy_budget(options.memory_bytes, 0));
  sorted->info.value_name = kept_value_name(sorted->info.mode_names, options);
  if (!sorted->keyed_modes.empty()) {
    sorted->info.reading = decide_reading(sorted->info.mode_names, sorted->keyed_modes, options.columns);
  }
  sorted->info.chunk_nnz = options.chunk_nnz;
  sorted->labels = reader.take_labels();
  const std::uint64_t splitting = options.hold_out > 0 ? HoldOut::memory_bytes(sorted->layout.has_high_word()) : 0;
  sort.reserve_at_end(memory_bytes(sorted->labels) + final_ones.memory_bytes() + splitting, sorted->layout.line_bits());
  if (sorted->reordering) {
    Reordering::check_lengths(shape);
    sort.reserve_for_reordering(Reordering::memory_bytes(longer_of(shape, sort.extent())));
    sorted->reordering->take_final(final_ones);
    sorted->reordering->finish(shape);
  }
  ExternalSort::Result result =
      sort.finish(sorted->layout, {final_ones.is_empty() ? nullptr : &final_ones, sorted->reordering.get()});
  sorted->plan = result.plan;
  LineNames names{sorted->layout, options.index_base, sorted->reordering.get(), sorted->labels};
  sorted->source = result.memory
                       ? coalesce_in_memory(std::move(result.memory), options.duplicates, std::move(names), executor)
                       : coalesce_run(std::move(result.run), options.duplicates, std::move(names));
  return sorted;
}

// Of entries whose lengths nobody has given.
std::vector<std::string> notes_on_empty_modes(const SortedEntries& sorted, const IngestOptions& options,
                                              std::uint64_t entries) {
  if (!options.shape.empty()) return {};
  return notes_on_empty_modes(sorted.info.shape, sorted.info.mode_names, sorted.labels, entries);
}

SortSetup sort_setup(const CoordinateReader& reader, const IngestOptions& options) {
  SortSetup setup;
  setup.budget.total_bytes = host_budget(options.memory_bytes);
  setup.budget.reader_bytes = reader.memory_bytes();
  setup.sizes.chunk_nnz = options.chunk_nnz;
  setup.sizes.zstd_level = options.zstd_level;
  setup.sizes.expected_entries = reader.size().entries;
  if (!options.shape.empty()) setup.sizes.line_bits = TensorLayout(options.shape).line_bits();
  return setup;
}

// Labels are inputs too.
void check_outputs(std::vector<std::filesystem::path> inputs, const std::filesystem::path& output,
                   const IngestOptions& options) {
  for (const LabelSource& labels : options.label_files) inputs.push_back(labels.file);
  inputs.push_back(options.columns.labels_from);
  refuse_inputs_as_outputs(inputs, {output, options.held_out_to});
}

// Labels and names of an original index then come from the reader alone.
IngestOptions without_compact(IngestOptions options) {
  options.compact = false;
  return options;
}

}  // namespace

IngestReport run_ingest(CoordinateReader& reader, const std::filesystem::path& output, const IngestOptions& options,
                        Executor& executor, const ProgressCallback& progress) {
  check_options(options);
  if (options.compact) {
    CompactReader compact(reader, options, executor);
    IngestReport report = run_ingest(compact, output, without_compact(options), executor, progress);
    report.compacted_modes = compact.compacted();
    return report;
  }
  const std::unique_ptr<RunDevice> device = find_run_device(options.sorts_on_gpu, options.on_compile);
  // The name is taken now, so that a second job that writes the same file ends before its work and not after it.
  TemporaryFile file(output);
  std::optional<TemporaryFile> held_out_file;
  if (options.hold_out > 0) held_out_file.emplace(options.held_out_to);
  ProgressMeter meter(progress);
  SortSetup setup = sort_setup(reader, options);
  setup.budget.has_program = true;
  setup.folder = scratch_folder(options.temporary_directory, file.target());
  setup.mark = file.target().filename().string();
  setup.device = device.get();
  auto sort = std::make_unique<ExternalSort>(setup, options.duplicates, executor, meter);
  const std::unique_ptr<SortedEntries> sorted = sort_entries(reader, options, *sort, executor, meter);
  const std::uint64_t entries = sort->entry_count();
  const std::vector<std::string> empty_modes = notes_on_empty_modes(*sorted, options, entries);
  const Compression compression{options.zstd_level, options.zstd_saving_percent};
  std::uint64_t held_out_nnz = 0;
  std::function<void()> write_held_out = [] {};
  if (held_out_file) {
    auto split = std::make_unique<HoldOut>(std::move(sorted->source), options.hold_out, sorted->layout, sorted->labels,
                                           setup.folder, setup.mark, executor);
    write_held_out = [&, info = sorted->info, labels = sorted->labels, split = split.get()] {
      const std::unique_ptr<SortedSource> held_out = split->take_held_out();
      const EncodeInput input{*held_out, sorted->layout, info, split->left_out(), nullptr, labels};
      held_out_nnz = encode_container(input, sorted->plan, compression, std::move(*held_out_file), executor, meter).nnz;
    };
    sorted->source = std::move(split);
  }
  const auto write_others = [&](ContainerWriter& writer, const ContainerInfo& info, IngestReport& report) {
    write_held_out();
    // Their memory is free for the copies.
    sorted->source.reset();
    sort.reset();
    write_copies(writer, info, sorted->orders,
                 {copy_budget(options.memory_bytes, memory_bytes(sorted->labels)), compression, executor, meter},
                 report);
  };
  IngestReport report = encode_container(sorted->input(entries, options.duplicates), sorted->plan, compression,
                                         std::move(file), executor, meter, write_others);
  report.entries_read = entries;
  report.held_out_nnz = held_out_nnz;
  report.unknown_rows = reader.unknown_rows();
  report.input_format = reader.format();
  for (const SkippedRows& skipped : reader.skipped_rows())
    report.skipped_rows.push_back({skipped.column, skipped.rows});
  report_modes(sorted->keyed_modes, report);
  for (const auto& notes : {reader.notes(), empty_modes})
    report.notes.insert(report.notes.end(), notes.begin(), notes.end());
  return report;
}

namespace {

struct PackedEntries {
  std::unique_ptr<ChunkSource> chunks;
  std::vector<std::string> notes;
};

}  // namespace

// Makes the chunks that run_ingest() would write, and keeps them in memory without zstd. Writes no files: throws
// Error{out_of_memory} if the entries and the result do not fit the budget together.
static PackedEntries ingest_in_memory(CoordinateReader& reader, const IngestOptions& options, Executor& executor,
                                      const ProgressCallback& progress) {
  check_options(options);
  if (options.compact) {
    CompactReader compact(reader, options, executor);
    return ingest_in_memory(compact, without_compact(options), executor, progress);
  }
  if (options.hold_out > 0) refuse(option_name("hold_out") + " needs a container to write; leave it out");
  const std::unique_ptr<RunDevice> device = find_run_device(options.sorts_on_gpu, options.on_compile);
  ProgressMeter meter(progress);
  SortSetup setup = sort_setup(reader, options);
  setup.sizes.packs_in_memory = true;
  setup.device = device.get();
  auto sort = std::make_unique<ExternalSort>(setup, options.duplicates, executor, meter);
  const std::unique_ptr<SortedEntries> sorted = sort_entries(reader, options, *sort, executor, meter);
  const std::uint64_t entries = sort->entry_count();
  std::vector<std::string> notes = notes_on_empty_modes(*sorted, options, entries);
  auto chunks = encode_in_memory(sorted->input(entries, options.duplicates), sorted->plan, executor, meter);
  // Their memory is free for the copies.
  sorted->source.reset();
  sort.reset();
  pack_copies(*chunks, sorted->orders,
              {copy_budget(options.memory_bytes, memory_bytes(sorted->labels)), {}, executor, meter}, notes);
  return {std::move(chunks), std::move(notes)};
}

static PackedEntries pack_arrays(const CoordinateArrays& arrays, IngestOptions options,
                                 const ProgressCallback& progress) {
  ThreadPool executor(options.threads);
  options.index_base = 0;
  ArrayReader reader(arrays, options.shape, executor);
  if (!options.label_files.empty()) refuse(option_name("label_files") + " has no effect here; give labels");
  if (options.shape.empty() && !arrays.labels.empty() && !options.compact) options.shape = reader.find_extents();
  return ingest_in_memory(reader, options, executor, progress);
}

// What the reader is left to check of the options is left out of those that are returned.
static std::pair<std::unique_ptr<CoordinateReader>, IngestOptions> open_table(ArrowStream stream, IngestOptions options,
                                                                              Executor& executor) {
  check_options(options);
  options.index_base = 0;
  auto reader = open_stream(std::move(stream), options, executor);
  // Of keys the lengths are known at the end; entries that wait for them cannot be sorted.
  if (std::ranges::count(reader->declared_shape(), 0U) > 0) options.shape.clear();
  return {std::move(reader), std::move(options)};
}

struct MemoryTensor::Packed : PackedEntries {
  static Packed of(ArrowArrayStream& stream, const IngestOptions& options, const ProgressCallback& progress) {
    ArrowStream owned(stream);
    ThreadPool executor(options.threads);
    const auto [reader, chosen] = open_table(std::move(owned), options, executor);
    PackedEntries packed = ingest_in_memory(*reader, chosen, executor, progress);
    std::vector<std::string> notes = reader->notes();
    packed.notes.insert(packed.notes.begin(), notes.begin(), notes.end());
    return {std::move(packed)};
  }
};

MemoryTensor::MemoryTensor(const CoordinateArrays& arrays, const IngestOptions& options,
                           const ProgressCallback& progress)
    : MemoryTensor(Packed{pack_arrays(arrays, options, progress)}) {}

MemoryTensor::MemoryTensor(ArrowArrayStream& stream, const IngestOptions& options, const ProgressCallback& progress)
    : MemoryTensor(Packed::of(stream, options, progress)) {}

MemoryTensor::MemoryTensor(Packed packed) : Tensor(std::move(packed.chunks)), notes_(std::move(packed.notes)) {
  release_freed_memory();
}

IngestReport ingest_arrow(ArrowArrayStream& stream, const std::filesystem::path& output, const IngestOptions& options,
                          const ProgressCallback& progress) {
  ArrowStream owned(stream);
  check_outputs({}, output, options);
  ThreadPool pool(options.threads);
  const auto [reader, chosen] = open_table(std::move(owned), options, pool);
  return run_ingest(*reader, output, chosen, pool, progress);
}

IngestReport ingest_files(const std::vector<std::filesystem::path>& inputs, const std::filesystem::path& output,
                          const IngestOptions& options, const ProgressCallback& progress) {
  check_options(options);
  if (inputs.size() == 1 && is_container(inputs.front())) {
    return give_orders(inputs.front(), output, options, progress);
  }
  ThreadPool pool(options.threads);
  std::vector<std::filesystem::path> files;
  for (const std::filesystem::path& input : inputs) files.push_back(split_hdf5_group(input).first);
  check_outputs(std::move(files), output, options);
  IngestOptions chosen = options;
  const auto reader = open_input(inputs, chosen, pool);
  if (reader->counts_from_zero()) chosen.index_base = 0;
  if (chosen.label_files.empty()) return run_ingest(*reader, output, chosen, pool, progress);
  LabelledReader labelled(*reader, chosen, pool.width());
  IngestReport report = run_ingest(labelled, output, chosen, pool, progress);
  report.labels = labelled.counts();
  return report;
}

IngestReport ingest_coordinates(const CoordinateArrays& arrays, const std::filesystem::path& output,
                                const IngestOptions& options, const ProgressCallback& progress) {
  ThreadPool pool(options.threads);
  check_options(options);
  check_outputs({}, output, options);
  IngestOptions from_zero = options;
  from_zero.index_base = 0;
  ArrayReader reader(arrays, options.shape, pool);
  if (!arrays.labels.empty() && !options.label_files.empty()) {
    refuse("the arrays have labels, and " + option_name("label_files") + " names files; leave one out");
  }
  LabelledReader labelled(reader, from_zero, pool.width());
  if (from_zero.shape.empty() && !options.compact) from_zero.shape = labelled.lengthen(reader.find_extents());
  IngestReport report = run_ingest(labelled, output, from_zero, pool, progress);
  report.labels = labelled.counts();
  if (options.shape.empty() && options.label_files.empty()) {
    for (std::string& note : notes_on_empty_modes(report.shape, options.mode_names, arrays.labels, report.entries_read))
      report.notes.push_back(std::move(note));
  }
  return report;
}

}  // namespace blco
