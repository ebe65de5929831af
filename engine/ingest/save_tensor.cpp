// Packed chunks go to a container as they are; a window of them is compressed side by side.
#include "engine/ingest/save_tensor.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/common/check_outputs.hpp"
#include "engine/common/memory.hpp"
#include "engine/common/thread_pool.hpp"
#include "engine/ingest/encode.hpp"
#include "engine/ingest/ordered_copies.hpp"
#include "engine/tensor/nonzero_reader.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "engine/tensor/tensor_sizes.hpp"
#include "io/container/container_writer.hpp"

namespace blco {
namespace {

ScanBudget budget_of(const ChunkSource& tensor, const SaveOptions& options) {
  const std::uint64_t packed = measure_tensor(tensor).largest_buffer();
  ScanBudget budget{.option = "memory_bytes"};
  budget.total_bytes = host_budget(options.memory_bytes);
  budget.fixed_bytes = NonzeroDecoder::memory_bytes(tensor.info());  // one mode's reordering at a time
  for (const std::uint64_t bytes : tensor.label_bytes()) budget.fixed_bytes += bytes;
  // What is stored of a column, and of those before it.
  budget.worker_bytes = packed + store_payload_bytes(packed, options.zstd_level);
  return budget;
}

StoredChunk store(const ChunkView& chunk, const Compression& compression) {
  StoredChunk stored;
  stored.lower.assign(chunk.lower.begin(), chunk.lower.end());
  stored.upper.assign(chunk.upper.begin(), chunk.upper.end());
  for (std::size_t c = 0; c < column_count; ++c) {
    stored.columns[c] = store_payload(chunk.payload[c], compression.zstd_level, compression.saving_percent);
  }
  return stored;
}

class Saving {
 public:
  Saving(const ChunkSource& tensor, const std::filesystem::path& output, const SaveOptions& options,
         const ProgressCallback& progress)
      : tensor_(tensor),
        compression_{options.zstd_level, options.zstd_saving_percent},
        pool_(scan_workers(tensor, budget_of(tensor, options), options.threads)),
        meter_(progress),
        file_(output),
        writer_(std::move(file_), tensor.info()) {}

  IngestReport run(const SaveOptions& options) {
    const ContainerInfo& info = tensor_.info();
    report_.shape = info.shape;
    report_.nnz = info.nnz;
    report_.chunk_count = info.chunk_count();
    copy_chunks(tensor_, report_.index, report_.value);
    for (const ReorderedMode& reordered : info.reordered) {
      writer_.reorder(reordered.mode, tensor_.reordering(reordered.mode));
      report_.reordered_modes.push_back(reordered.mode);
    }
    if (options.orders) {
      write_copies(writer_, info, parse_orders(*options.orders, info.shape, info.mode_names),
                   {copy_budget(options.memory_bytes, tensor_.held_bytes()), compression_, pool_, meter_}, report_);
    } else {
      for (std::uint64_t mode = 0; mode < info.shape.size(); ++mode) {
        const ChunkSource* const copy = tensor_.ordered_copy(mode);
        if (copy == nullptr) continue;
        OrderedMode& of_mode = report_.ordered_modes.emplace_back();
        of_mode.mode = mode;
        of_mode.has_copy = true;
        writer_.begin_copy(mode, copy->info().bit_modes);
        copy_chunks(*copy, of_mode.index, of_mode.value);
      }
    }
    report_.file_bytes = writer_.finish(info, tensor_.labels());
    report_.stages = meter_.stage_times();
    return std::move(report_);
  }

 private:
  // As they are, but for zstd.
  void copy_chunks(const ChunkSource& from, ColumnBytes& index, ColumnBytes& value) {
    meter_.begin({.name = "write", .nonzeros = from.info().nnz});
    ChunkWindow window(from, static_cast<std::size_t>(pool_.width()), pool_);
    for (auto views = window.next(); !views.empty(); views = window.next()) {
      std::vector<StoredChunk> stored(views.size());
      pool_.run(views.size(), [&](std::size_t i) { stored[i] = store(views[i], compression_); });
      for (std::size_t i = 0; i < views.size(); ++i) {
        std::uint64_t bytes = 0;
        for (std::size_t c = 0; c < column_count; ++c) {
          const StoredPayload& column = stored[i].columns[c];
          ColumnBytes& to = static_cast<Column>(c) == Column::value ? value : index;
          to.stored += column.bytes.size();
          to.streamed += column.payload_bytes;
          bytes += column.bytes.size();
        }
        writer_.append(stored[i]);
        meter_.advance(views[i].nnz, bytes);
      }
    }
    meter_.end();
  }

  const ChunkSource& tensor_;
  Compression compression_;
  ThreadPool pool_;
  ProgressMeter meter_;
  TemporaryFile file_;
  ContainerWriter writer_;
  IngestReport report_;
};

}  // namespace

IngestReport save_tensor(const Tensor& tensor, const std::filesystem::path& output, const SaveOptions& options,
                         const ProgressCallback& progress) {
  check_compression({options.zstd_level, options.zstd_saving_percent});
  const ChunkSource& chunks = TensorChunks::of(tensor);
  refuse_inputs_as_outputs({tensor.summary().file}, {output});
  if (options.orders) static_cast<void>(parse_orders(*options.orders, tensor.shape(), tensor.summary().mode_names));
  return Saving(chunks, output, options, progress).run(options);
}

std::vector<std::string> save(const Tensor& tensor, const std::filesystem::path& output, const SaveOptions& options,
                              const ProgressCallback& progress) {
  return save_tensor(tensor, output, options, progress).notes;
}

IngestReport give_orders(const std::filesystem::path& input, const std::filesystem::path& output,
                         const IngestOptions& options, const ProgressCallback& progress) {
  const IngestOptions defaults;
  if (options.orders.empty()) {
    refuse(input.string() + ": it is a BLCO container already; use it as it is, give " + option_name("orders") +
           " to make another with copies in the orders of modes, or convert it to text with blco-export");
  }
  for (const auto& [option, is_given] :
       {std::pair{"columns.modes", !options.columns.modes.empty()}, std::pair{"shape", !options.shape.empty()},
        std::pair{"mode_names", !options.mode_names.empty()}, std::pair{"label_files", !options.label_files.empty()},
        std::pair{"columns.labels_from", !options.columns.labels_from.empty()},
        std::pair{"duplicates", options.duplicates != defaults.duplicates}, std::pair{"compact", options.compact},
        std::pair{"reorder", options.reorder != defaults.reorder}, std::pair{"hold_out", options.hold_out != 0},
        std::pair{"skip_lines", options.skip_lines != 0},
        std::pair{"index_base", options.index_base != defaults.index_base},
        std::pair{"chunk_nnz", options.chunk_nnz != defaults.chunk_nnz},
        std::pair{"sorts_on_gpu", options.sorts_on_gpu},
        std::pair{"columns.value", options.columns != defaults.columns}}) {
    if (!is_given) continue;
    const bool is_table = std::string_view(option) == "columns.value";
    refuse((is_table ? "what is said of a table's columns" : option_name(option)) +
           " does not go with a container as input, which only gets copies in the orders of "
           "modes; leave it out, or ingest the tensor's own input again");
  }
  SaveOptions save;
  save.zstd_level = options.zstd_level;
  save.zstd_saving_percent = options.zstd_saving_percent;
  save.memory_bytes = options.memory_bytes;
  save.threads = options.threads;
  save.orders = options.orders;
  IngestReport report = save_tensor(TensorFile(input), output, save, progress);
  report.input_format = "BLCO container";
  report.entries_read = report.nnz;
  return report;
}

}  // namespace blco
