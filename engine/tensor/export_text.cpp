// Converts a container back to text: chunks in order, their frames decoded and formatted in parallel.
#include <algorithm>
#include <array>
#include <blco/export.hpp>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blco/layout.hpp"
#include "blco/option_name.hpp"
#include "blco/payload.hpp"
#include "engine/common/progress_meter.hpp"
#include "engine/common/thread_pool.hpp"
#include "io/container/container_reader.hpp"
#include "io/table/csv_field.hpp"
#include "io/text/tns_writer.hpp"
#include "kernels/aligned_buffer.hpp"

namespace blco {
namespace {

constexpr std::uint64_t task_frames = 16;
// One round's text is written while the next is formatted; this many tasks keep every thread busy, at up to 25 MB a
// round.
constexpr std::size_t round_tasks = 64;
// Per mode the digits of 128 bits and a blank; a double of at most 24 characters; the line's end.
constexpr std::size_t max_line_bytes = 128 + 64;

template <class Number>
char* append_number(char* at, char* end, Number number) {
  return std::to_chars(at, end, number).ptr;
}

char* append_value(char* at, char* end, double value) {
  const bool is_whole = std::abs(value) < 0x1p53 && value == std::trunc(value);
  if (is_whole && !(value == 0 && std::signbit(value))) {
    return append_number(at, end, static_cast<std::int64_t>(value));
  }
  return append_number(at, end, value);
}

std::optional<PayloadView> view_column(const ChunkView& chunk, Column column) {
  if (chunk[column].empty()) return std::nullopt;
  return view_payload(chunk[column]);
}

// One decoded chunk.
struct ChunkColumns {
  explicit ChunkColumns(const ChunkView& view)
      : chunk(&view),
        index(view_payload(view[Column::index])),
        key(view_column(view, Column::key)),
        value(view_column(view, Column::value)) {}

  const ChunkView* chunk;
  PayloadView index;
  std::optional<PayloadView> key;    // none: 0
  std::optional<PayloadView> value;  // none: 1
};

class TextExport {
 public:
  TextExport(const TensorFile& tensor, const TextSink& sink, const TextOptions& options,
             const ProgressCallback& progress)
      : reader_(tensor.reader()),
        layout_(reader_.info().shape),
        base_(static_cast<std::uint64_t>(options.index_base)),
        sink_(sink),
        meter_(progress),
        pool_(options.threads) {
    if (options.format == TextFormat::tns) return;
    separator_ = options.format == TextFormat::csv ? ',' : '\t';
    is_table_ = true;
    labels_ = tensor.labels();
    labels_.resize(layout_.shape().size());
  }

  TextReport run() {
    for (std::size_t n = 0; n < layout_.shape().size(); ++n) originals_.push_back(reader_.relabelling(n));
    std::uint64_t buffer_bytes = 0;
    std::uint64_t scratch_bytes = 0;
    for (std::uint64_t c = 0; c < reader_.info().chunk_count(); ++c) {
      buffer_bytes = std::max(buffer_bytes, reader_.buffer_bytes(c));
      scratch_bytes = std::max(scratch_bytes, reader_.scratch_bytes(c));
    }
    AlignedBuffer<std::byte> buffer(buffer_bytes);
    AlignedBuffer<std::byte> scratch(scratch_bytes);
    meter_.begin({.name = "export", .nonzeros = reader_.info().nnz});
    if (is_table_) write_header();
    for (std::uint64_t c = 0; c < reader_.info().chunk_count(); ++c) {
      write_chunk(reader_.read_chunk(c, buffer.span(), scratch.span()));
      std::uint64_t bytes = 0;
      for (const StoredExtent& extent : reader_.extents(c)) bytes += extent.stored_bytes;
      meter_.advance(0, bytes);
    }
    write_made();
    meter_.end();
    return report_;
  }

 private:
  void write_header() {
    const std::vector<std::string>& names = reader_.info().mode_names;
    std::string line;
    for (const std::string& name : names) {
      append_csv_field(name, separator_, line);
      line += separator_;
    }
    append_csv_field(value_column_name(reader_.info()), separator_, line);
    line += '\n';
    sink_(line);
    report_.text_bytes += line.size();
  }

  void write_chunk(const ChunkView& chunk) {
    const ChunkColumns columns(chunk);
    const std::uint64_t frames = (chunk.nnz + frame_entries - 1) / frame_entries;
    for (std::uint64_t frame = 0; frame < frames; frame += round_tasks * task_frames) {
      const auto tasks = static_cast<std::size_t>(
          std::min<std::uint64_t>(round_tasks, (frames - frame + task_frames - 1) / task_frames));
      // Writes the last round's text while this round's is formatted.
      pool_.run(tasks + 1, [&](std::size_t task) {
        if (task == 0) return write_made();
        const std::uint64_t first = frame + (task - 1) * task_frames;
        format_frames(columns, first, std::min(first + task_frames, frames), making_[task - 1]);
      });
      std::swap(made_, making_);
      made_count_ = tasks;
      const std::uint64_t nnz = std::min(tasks * task_frames * frame_entries, chunk.nnz - frame * frame_entries);
      report_.nnz += nnz;
      meter_.advance(nnz, 0);
    }
  }

  void write_made() {
    for (const std::string& text : std::span(made_).first(std::exchange(made_count_, 0))) {
      sink_(text);
      report_.text_bytes += text.size();
    }
  }

  void format_frames(const ChunkColumns& columns, std::uint64_t first, std::uint64_t last, std::string& text) const {
    std::array<std::uint64_t, frame_entries> low;
    std::array<std::uint64_t, frame_entries> key{};
    std::array<double, frame_entries> value;
    value.fill(1.0);
    text.clear();
    for (std::uint64_t frame = first; frame < last; ++frame) {
      decode_line_frame(columns.index, frame, low.data());
      if (columns.key) decode_line_frame(*columns.key, frame, key.data());
      if (columns.value) decode_value_frame(*columns.value, frame, value.data());
      const std::uint64_t count = std::min<std::uint64_t>(frame_entries, columns.chunk->nnz - frame * frame_entries);
      for (std::size_t i = 0; i < count; ++i) append_line({key[i], low[i]}, value[i], columns.chunk->number, text);
    }
  }

  void append_line(LineIndex line, double value, std::uint64_t chunk, std::string& text) const {
    std::array<std::uint64_t, max_order> point;
    const std::size_t order = layout_.shape().size();
    layout_.delinearize(line, std::span(point).first(order));
    std::array<char, max_line_bytes> bytes;
    char* at = bytes.data();
    char* const end = at + bytes.size();
    for (std::size_t n = 0; n < order; ++n) {
      if (point[n] >= layout_.shape()[n]) {
        throw Error(ErrorKind::corrupt, reader_.path().string() + ": chunk " + std::to_string(chunk) +
                                            " has coordinates outside the shape; restore the file from a copy, or "
                                            "ingest the tensor again");
      }
      const std::uint64_t index = originals_[n].empty() ? point[n] : originals_[n][point[n]];
      if (is_table_ && !labels_[n].empty()) {
        // A label may be of any length.
        text.append(bytes.data(), at);
        at = bytes.data();
        append_csv_field(labels_[n][index], separator_, text);
      } else {
        at = append_number(at, end, index + base_);
      }
      *at++ = separator_;
    }
    at = append_value(at, end, value);
    *at++ = '\n';
    text.append(bytes.data(), at);
  }

  const ContainerReader& reader_;
  TensorLayout layout_;
  std::vector<std::vector<std::uint32_t>> originals_;  // per mode; empty if stored indices are the original ones
  std::uint64_t base_;
  char separator_ = ' ';
  bool is_table_ = false;
  std::vector<Labels> labels_;  // per mode; for tables only
  const TextSink& sink_;
  ProgressMeter meter_;
  ThreadPool pool_;
  std::array<std::string, round_tasks> made_;
  std::array<std::string, round_tasks> making_;
  std::size_t made_count_ = 0;
  TextReport report_;
};

TextFormat format_of(const std::filesystem::path& output) {
  std::filesystem::path name = output.filename();
  if (name.extension() == ".gz" || name.extension() == ".zst") name = name.stem();
  const std::string ending = name.extension().string();
  if (ending == ".tns") return TextFormat::tns;
  if (ending == ".csv") return TextFormat::csv;
  if (ending == ".tsv") return TextFormat::tsv;
  throw Error(ErrorKind::invalid_argument,
              "cannot export a tensor to " + output.string() +
                  ": name a file that ends in .tns, .csv or .tsv, optionally followed by .gz or .zst");
}

}  // namespace

TextReport export_text(const TensorFile& tensor, const TextSink& sink, const TextOptions& options,
                       const ProgressCallback& progress) {
  if (options.index_base != 0 && options.index_base != 1) {
    throw Error(ErrorKind::invalid_argument,
                option_name("index_base") + " must be 0 or 1, not " + std::to_string(options.index_base));
  }
  return TextExport(tensor, sink, options, progress).run();
}

TextReport export_text(const TensorFile& tensor, const std::filesystem::path& output, const TextOptions& options,
                       const ProgressCallback& progress) {
  TextOptions named = options;
  named.format = format_of(output);
  TnsWriter writer(output);
  const TextReport report =
      export_text(tensor, TextSink([&](std::string_view text) { writer.write(text); }), named, progress);
  writer.finish();
  return report;
}

}  // namespace blco
