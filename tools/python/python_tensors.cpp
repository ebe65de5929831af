// Tensors: opened, made of arrays, ingested, saved, and read as arrays.
#include <blco/arrow.hpp>
#include <blco/ingest.hpp>
#include <blco/memory_tensor.hpp>
#include <blco/nonzeros.hpp>
#include <blco/tensor_file.hpp>
#include <memory>

#include "tools/python/python_support.hpp"

namespace blco::python {
namespace {

CoordinateArrays arrays_of(const std::vector<Array>& coordinates, const std::optional<Array>& values,
                           const LabelLists& labels) {
  CoordinateArrays arrays{.coordinates = index_views(coordinates)};
  if (values) arrays.values = view_of<ValueView, double, float>(*values, "values");
  for (const std::vector<std::string>& names : names_of(labels)) arrays.labels.emplace_back(names);
  return arrays;
}

void read_columns(Keywords& words, ColumnOptions& columns) {
  words.take("modes", columns.modes);
  words.take("value", columns.value);
  std::string character;
  words.take("separator", character);
  if (character.size() > 1) refuse("separator: '" + character + "' is not a single character");
  if (!character.empty()) columns.separator = character[0];
  words.take_word<char>("decimal", columns.decimal, {{".", '.'}, {",", ','}});
  words.take_word<Quotes>("quotes", columns.quotes, {{"csv", Quotes::csv}, {"none", Quotes::none}});
  std::string missing;
  words.take("missing", missing);
  if (missing == "skip") columns.missing = Missing::skip;
  if (!missing.empty() && missing != "skip" && missing != "error") {
    columns.missing = Missing::key;
    columns.missing_key = missing;
  }
  words.take("null", columns.null_words);
  words.take("columns", columns.names);
  words.take("labels_from", columns.labels_from);
  words.take("skip_unknown", columns.skip_unknown);
}

IngestOptions read_ingest_options(const nb::dict& dict) {
  Keywords words(dict);
  IngestOptions options;
  words.take("memory", options.memory_bytes);
  words.take("threads", options.threads);
  words.take("shape", options.shape);
  words.take("mode_names", options.mode_names);
  words.take("chunk_nnz", options.chunk_nnz);
  words.take("index_base", options.index_base);
  words.take("skip_lines", options.skip_lines);
  words.take("zstd_level", options.zstd_level);
  words.take("zstd_saving_percent", options.zstd_saving_percent);
  words.take("tmp", options.temporary_directory);
  words.take("hold_out", options.hold_out);
  words.take("held_out_to", options.held_out_to);
  words.take_word<bool>("devices", options.sorts_on_gpu, {{"cpu", false}, {"cuda", true}});
  options.on_compile = warn_on_any_thread;
  words.take("compact", options.compact);
  words.take("orders", options.orders);
  words.take_word<Reorder>("reorder", options.reorder, {{"none", Reorder::none}, {"frequency", Reorder::frequency}});
  if (words.has("duplicates")) {
    std::string policy;
    words.take("duplicates", policy);
    const auto parsed = parse_duplicate_policy(policy);
    if (!parsed) refuse("duplicates: '" + policy + "' is none of sum, error, first, last, max, mean, count");
    options.duplicates = *parsed;
  }
  if (words.has("labels")) {
    for (const auto& [mode, file] : nb::cast<nb::dict>(words.take("labels"))) {
      options.label_files.push_back({nb::str(mode).c_str(), Keywords::value_of<std::filesystem::path>("labels", file)});
    }
  }
  read_columns(words, options.columns);
  words.finish("this input");
  return options;
}

nb::dict as_dict(const IngestReport& report) {
  nb::dict skipped;
  for (const SkippedRowCount& column : report.skipped_rows) skipped[column.column.c_str()] = column.rows;
  nb::dict dict;
  dict["shape"] = report.shape;
  dict["input_format"] = report.input_format;
  dict["entries_read"] = report.entries_read;
  dict["skipped_rows"] = skipped;
  dict["unknown_rows"] = report.unknown_rows;
  dict["nonzeros"] = report.nnz;
  dict["held_out_nonzeros"] = report.held_out_nnz;
  dict["chunks"] = report.chunk_count;
  dict["file_bytes"] = report.file_bytes;
  dict["notes"] = report.notes;
  return dict;
}

nb::dict ingest_paths(const std::vector<std::filesystem::path>& inputs, const std::filesystem::path& output,
                      const nb::dict& words, nb::object progress) {
  const IngestOptions options = read_ingest_options(words);
  Callbacks callbacks(std::move(progress));
  return as_dict(callbacks.run([&] { return ingest_files(inputs, output, options, callbacks.progress()); }));
}

nb::dict ingest_arrays(const std::vector<Array>& coordinates, const std::optional<Array>& values,
                       const LabelLists& labels, const std::filesystem::path& output, const nb::dict& words,
                       nb::object progress) {
  const IngestOptions options = read_ingest_options(words);
  const CoordinateArrays arrays = arrays_of(coordinates, values, labels);
  Callbacks callbacks(std::move(progress));
  return as_dict(callbacks.run([&] { return ingest_coordinates(arrays, output, options, callbacks.progress()); }));
}

// A tensor in memory, and the notes on its input.
using NotedTensor = std::tuple<std::unique_ptr<Tensor>, std::vector<std::string>>;

NotedTensor with_notes(std::unique_ptr<MemoryTensor> tensor) {
  std::vector<std::string> notes = tensor->notes();
  return {std::move(tensor), std::move(notes)};
}

NotedTensor make_tensor(const std::vector<Array>& coordinates, const std::optional<Array>& values,
                        const LabelLists& labels, const nb::dict& words, nb::object progress) {
  const IngestOptions options = read_ingest_options(words);
  const CoordinateArrays arrays = arrays_of(coordinates, values, labels);
  Callbacks callbacks(std::move(progress));
  return with_notes(
      callbacks.run([&] { return std::make_unique<MemoryTensor>(arrays, options, callbacks.progress()); }));
}

// The stream that an object with __arrow_c_stream__ gives. The library takes it over; what it does not take, the
// capsule releases.
class OfferedStream {
 public:
  explicit OfferedStream(const nb::object& source)
      : capsule_(source.attr("__arrow_c_stream__")()),
        stream_(static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule_.ptr(), "arrow_array_stream"))) {
    if (stream_ == nullptr) throw nb::python_error();
  }

  ArrowArrayStream& operator*() const { return *stream_; }

 private:
  nb::object capsule_;
  ArrowArrayStream* stream_;
};

nb::dict ingest_table(const nb::object& source, const std::filesystem::path& output, const nb::dict& words,
                      nb::object progress) {
  const IngestOptions options = read_ingest_options(words);
  const OfferedStream stream(source);
  Callbacks callbacks(std::move(progress));
  return as_dict(callbacks.run([&] { return ingest_arrow(*stream, output, options, callbacks.progress()); }));
}

NotedTensor pack_table(const nb::object& source, const nb::dict& words, nb::object progress) {
  const IngestOptions options = read_ingest_options(words);
  const OfferedStream stream(source);
  Callbacks callbacks(std::move(progress));
  return with_notes(
      callbacks.run([&] { return std::make_unique<MemoryTensor>(*stream, options, callbacks.progress()); }));
}

// Returns notes.
std::vector<std::string> save_tensor(const Tensor& tensor, const std::filesystem::path& output, std::uint64_t memory,
                                     int threads, const std::optional<std::vector<std::string>>& orders,
                                     nb::object progress) {
  Callbacks callbacks(std::move(progress));
  const SaveOptions options{.memory_bytes = memory, .threads = threads, .orders = orders};
  return callbacks.run([&] { return save(tensor, output, options, callbacks.progress()); });
}

// The coordinates as an nnz x order matrix, and the values.
nb::tuple read_tensor(const Tensor& tensor, std::uint64_t memory, int threads, nb::object progress) {
  const std::size_t order = tensor.order();
  const auto nnz = static_cast<std::size_t>(tensor.nnz());
  std::vector<std::int64_t> coordinates(nnz * order);
  std::vector<double> values(nnz);
  const auto visit = [&](const NonzeroBlock& block) {
    std::ranges::copy(block.values, values.begin() + static_cast<std::ptrdiff_t>(block.first));
    for (std::size_t n = 0; n < order; ++n) {
      for (std::size_t i = 0; i < block.count(); ++i) {
        coordinates[(block.first + i) * order + n] = static_cast<std::int64_t>(block.coordinates[n][i]);
      }
    }
    return true;
  };
  Callbacks callbacks(std::move(progress));
  callbacks.run([&] {
    for_each_nonzero(tensor, visit, {.in_order = false, .memory_bytes = memory, .threads = threads},
                     callbacks.progress());
  });
  return nb::make_tuple(own(std::move(coordinates), {nnz, order}), own(std::move(values), {nnz}));
}

// The next chunk's coordinates by mode and its values; without values at the end.
nb::tuple next_columns(NonzeroCursor& cursor) {
  NonzeroColumns columns = without_lock([&] { return cursor.next(); });
  const std::size_t count = columns.values.size();
  nb::list coordinates;
  for (auto& column : columns.coordinates) coordinates.append(own(std::move(column), {count}));
  return nb::make_tuple(coordinates, own(std::move(columns.values), {count}));
}

}  // namespace

void bind_tensors(nb::module_& module) {
  nb::class_<Tensor>(module, "Tensor")
      .def_prop_ro("shape", [](const Tensor& tensor) { return nb::tuple(nb::cast(tensor.shape())); })
      .def_prop_ro("nnz", &Tensor::nnz)
      .def_prop_ro("mode_names", [](const Tensor& tensor) { return nb::tuple(nb::cast(tensor.summary().mode_names)); })
      .def_prop_ro("orders",
                   [](const Tensor& tensor) {
                     nb::list modes;
                     for (const OrderedCopy& copy : tensor.summary().copies) modes.append(copy.mode);
                     return nb::tuple(modes);
                   })
      .def_prop_ro("sum_of_squares", [](const Tensor& tensor) { return tensor.summary().sum_of_squares; })
      .def_prop_ro("bytes",
                   [](const Tensor& tensor) {
                     const TensorSummary& summary = tensor.summary();
                     return summary.file_bytes > 0 ? summary.file_bytes
                                                   : summary.index.streamed_bytes + summary.high_word.streamed_bytes +
                                                         summary.value.streamed_bytes;
                   })
      .def_prop_ro("labels", [](const Tensor& tensor) { return labels_as_list(tensor.labels(), tensor.order()); });
  nb::class_<NonzeroCursor>(module, "NonzeroCursor")
      .def(
          "__init__",
          [](NonzeroCursor* self, const Tensor& tensor, std::uint64_t memory, int threads) {
            new (self) NonzeroCursor(tensor, {.memory_bytes = memory, .threads = threads});
          },
          nb::arg("tensor"), nb::arg("memory"), nb::arg("threads"), nb::keep_alive<1, 2>())
      .def("next", next_columns);
  module.def("open", [](const std::filesystem::path& path) -> std::unique_ptr<Tensor> {
    return std::make_unique<TensorFile>(path);
  });
  module.def("make_tensor", make_tensor, nb::arg("coordinates"), nb::arg("values").none(), nb::arg("labels").none(),
             nb::arg("words"), nb::arg("progress").none());
  module.def("ingest_paths", ingest_paths, nb::arg("inputs"), nb::arg("output"), nb::arg("words"),
             nb::arg("progress").none());
  module.def("ingest_arrays", ingest_arrays, nb::arg("coordinates"), nb::arg("values").none(), nb::arg("labels").none(),
             nb::arg("output"), nb::arg("words"), nb::arg("progress").none());
  module.def("ingest_table", ingest_table, nb::arg("source"), nb::arg("output"), nb::arg("words"),
             nb::arg("progress").none());
  module.def("pack_table", pack_table, nb::arg("source"), nb::arg("words"), nb::arg("progress").none());
  module.def("save_tensor", save_tensor, nb::arg("tensor"), nb::arg("output"), nb::arg("memory"), nb::arg("threads"),
             nb::arg("orders").none(), nb::arg("progress").none());
  module.def("read_tensor", read_tensor, nb::arg("tensor"), nb::arg("memory"), nb::arg("threads"),
             nb::arg("progress").none());
}

}  // namespace blco::python
