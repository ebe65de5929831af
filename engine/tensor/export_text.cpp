// Converts a container back to text: nonzeros in order, their frames decoded and formatted in parallel.
#include <algorithm>
#include <array>
#include <blco/export_text.hpp>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/common/check_callable.hpp"
#include "engine/common/check_outputs.hpp"
#include "engine/common/number_text.hpp"
#include "engine/common/ordered_text.hpp"
#include "engine/common/progress_meter.hpp"
#include "engine/common/thread_pool.hpp"
#include "engine/tensor/nonzero_reader.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "io/table/csv_field.hpp"
#include "io/text/tns_writer.hpp"

namespace blco {
namespace {

constexpr std::size_t task_frames = 16;
// One round's text is written while the next is formatted; this many tasks keep every thread busy, at up to 25 MB a
// round.
constexpr std::size_t round_tasks = 64;
// Per mode the digits of 128 bits and a blank; a double of at most 24 characters; the line's end.
constexpr std::size_t max_line_bytes = 128 + 64;

char* append_value(char* at, char* end, double value) {
  const bool is_whole = std::abs(value) < 0x1p53 && value == std::trunc(value);
  if (is_whole && !(value == 0 && std::signbit(value))) {
    return std::to_chars(at, end, static_cast<std::int64_t>(value)).ptr;
  }
  return std::to_chars(at, end, value).ptr;
}

const ChunkSource& chunks_of(const Tensor& tensor, const std::string& order_of) {
  const ChunkSource& natural = TensorChunks::of(tensor);
  if (order_of.empty()) return natural;
  const std::size_t mode = find_mode(tensor.summary(), order_of);
  const ChunkSource* const copy = natural.ordered_copy(mode);
  if (copy != nullptr) return *copy;
  if (layout_of(natural.info()).is_sorted_by(static_cast<int>(mode))) return natural;
  refuse(natural.name() + " has no copy in the order of mode " + std::to_string(mode) + "; leave out " +
         option_name("order_of") + ", or give the tensor one when it is ingested");
}

class TextExport {
 public:
  TextExport(const Tensor& tensor, const TextSink& sink, const TextOptions& options, const ProgressCallback& progress)
      : info_(TensorChunks::of(tensor).info()),
        base_(static_cast<std::uint64_t>(options.index_base)),
        meter_(progress),
        pool_(options.threads),
        text_(pool_, sink),
        reader_(chunks_of(tensor, options.order_of), 1, pool_) {
    if (options.format == TextFormat::tns) return;
    separator_ = options.format == TextFormat::csv ? ',' : '\t';
    is_table_ = true;
    labels_ = tensor.labels();
    labels_.resize(info_.shape.size());
  }

  TextReport run() {
    meter_.begin({.name = "export", .nonzeros = info_.nnz});
    if (is_table_) write_header();
    std::uint64_t bytes_before = 0;
    while (reader_.next(round_tasks * task_frames)) {
      text_.add_round((reader_.frames() + task_frames - 1) / task_frames, [&](std::size_t task, std::string& text) {
        const std::size_t first = task * task_frames;
        format_frames(first, std::min(first + task_frames, reader_.frames()), text);
      });
      report_.nnz += reader_.count();
      meter_.advance(reader_.count(), reader_.bytes_read() - bytes_before);
      bytes_before = reader_.bytes_read();
    }
    text_.finish();
    report_.text_bytes = text_.bytes();
    meter_.end();
    return report_;
  }

 private:
  void write_header() {
    std::string line;
    for (const std::string& name : info_.mode_names) {
      append_csv_field(name, separator_, line);
      line += separator_;
    }
    append_csv_field(value_column_name(info_), separator_, line);
    line += '\n';
    text_.write(line);
  }

  void format_frames(std::size_t first, std::size_t last, std::string& text) const {
    NonzeroFrame nonzeros;
    for (std::size_t frame = first; frame < last; ++frame) {
      reader_.decode(frame, nonzeros);
      for (std::size_t i = 0; i < nonzeros.count; ++i) append_line(nonzeros, i, text);
    }
  }

  void append_line(const NonzeroFrame& nonzeros, std::size_t i, std::string& text) const {
    std::array<char, max_line_bytes> bytes;
    char* at = bytes.data();
    char* const end = at + bytes.size();
    for (std::size_t n = 0; n < info_.shape.size(); ++n) {
      const std::uint64_t index = nonzeros.coordinates[n][i];
      if (is_table_ && !labels_[n].empty()) {
        // A label may be of any length.
        text.append(bytes.data(), at);
        at = bytes.data();
        append_csv_field(labels_[n][index], separator_, text);
      } else {
        at = std::to_chars(at, end, index + base_).ptr;
      }
      *at++ = separator_;
    }
    at = append_value(at, end, nonzeros.values[i]);
    *at++ = '\n';
    text.append(bytes.data(), at);
  }

  const ContainerInfo& info_;
  std::uint64_t base_;
  char separator_ = ' ';
  bool is_table_ = false;
  std::vector<Labels> labels_;  // per mode; for tables only
  ProgressMeter meter_;
  ThreadPool pool_;
  OrderedText text_;
  NonzeroReader reader_;
  TextReport report_;
};

TextFormat format_of(const std::filesystem::path& output) {
  std::filesystem::path name = output.filename();
  if (name.extension() == ".gz" || name.extension() == ".zst") name = name.stem();
  const std::string ending = name.extension().string();
  if (ending == ".tns") return TextFormat::tns;
  if (ending == ".csv") return TextFormat::csv;
  if (ending == ".tsv") return TextFormat::tsv;
  refuse("cannot export a tensor to " + output.string() +
         ": name a file that ends in .tns, .csv or .tsv, optionally followed by .gz or .zst");
}

}  // namespace

TextReport export_text(const Tensor& tensor, const TextSink& sink, const TextOptions& options,
                       const ProgressCallback& progress) {
  check_callable(sink, "sink");
  check_index_base(options.index_base);
  return TextExport(tensor, sink, options, progress).run();
}

TextReport export_text(const Tensor& tensor, const std::filesystem::path& output, const TextOptions& options,
                       const ProgressCallback& progress) {
  TextOptions named = options;
  named.format = format_of(output);
  refuse_inputs_as_outputs({tensor.summary().file}, {output});
  TnsWriter writer(output);
  const TextReport report =
      export_text(tensor, TextSink([&](std::string_view text) { writer.write(text); }), named, progress);
  writer.finish();
  return report;
}

}  // namespace blco
