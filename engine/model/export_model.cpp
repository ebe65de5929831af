// Exports a model as one file per array, in a folder.
#include <blco/export.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <system_error>

#include "engine/common/number_text.hpp"
#include "engine/common/progress_meter.hpp"
#include "engine/model/model_check.hpp"
#include "io/arrays/array_file.hpp"
#include "io/file/output_file.hpp"
#include "io/file/temporary_file.hpp"
#include "io/table/factor_table.hpp"

namespace blco {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_kept_name = 100;

struct NamedArray {
  std::string name;
  std::vector<std::uint64_t> extents;
  std::span<const double> values;
};

// Letters, digits and bytes outside ASCII stay; other characters might be special to a shell or a file system.
std::string file_name(std::size_t mode, const std::string& name) {
  const std::string number = "mode" + std::to_string(mode);
  if (name.empty() || name == number) return number;
  std::string kept;
  for (const char c : name) {
    const bool stays = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '.' || (static_cast<unsigned char>(c) & 0x80) != 0;
    // Does not split a UTF-8 character: its later bytes are 10xxxxxx.
    if (kept.size() >= max_kept_name && (static_cast<unsigned char>(c) & 0xc0) != 0x80) break;
    kept += stays ? c : '_';
  }
  return number + "_" + kept;
}

// What is exported of a model of either kind.
struct ExportedModel {
  std::vector<NamedArray> arrays;  // without the factors
  std::span<const std::uint64_t> shape;
  std::vector<std::uint64_t> columns;  // per mode
  std::string_view column;             // what the columns of a table are called, before their numbers
  std::span<const std::vector<double>> factors;
  std::span<const std::string> mode_names;
  std::span<const Labels> labels;

  std::string mode_name(std::size_t mode) const { return mode_names.empty() ? "" : mode_names[mode]; }
};

void add_history(const std::vector<double>& history, ExportedModel& model) {
  if (!history.empty()) model.arrays.push_back({"fit_history", {history.size()}, history});
}

void write_labels(const TemporaryFile& file, const fs::path& name, const Labels& labels) {
  constexpr std::size_t max_bytes = std::size_t{1} << 20;
  OutputFile output(file.path(), name);
  std::string lines;
  for (std::uint64_t i = 0; i < labels.size(); ++i) {
    lines.append(labels[i]) += '\n';
    output.write_from(lines, max_bytes);
  }
  output.write(lines);
  output.close();
}

bool has_line_breaks(const Labels& labels) { return labels.text().find_first_of("\r\n") != std::string_view::npos; }

// Creates the folder if needed, and then removes it again unless kept.
class ModelFolder {
 public:
  explicit ModelFolder(const fs::path& path) : path_(path) {
    std::error_code failure;
    const fs::file_status status = fs::status(path, failure);
    if (fs::is_directory(status)) return;
    if (fs::exists(status)) {
      throw Error(ErrorKind::io, "cannot export the model into " + path.string() + ": it is a file; name a folder");
    }
    made_ = fs::create_directory(path, failure);
    if (failure) {
      throw Error(ErrorKind::io, "cannot create the folder " + path.string() + ": " + failure.message());
    }
  }
  ~ModelFolder() {
    std::error_code ignored;
    if (made_) fs::remove(path_, ignored);
  }
  ModelFolder(const ModelFolder&) = delete;
  ModelFolder& operator=(const ModelFolder&) = delete;

  void keep() { made_ = false; }

 private:
  fs::path path_;
  bool made_ = false;
};

std::vector<fs::path> write_files(const ExportedModel& model, const fs::path& given, ArrayFormat format,
                                  const ProgressCallback& progress, int index_base) {
  check_index_base(index_base);
  // Without a trailing slash.
  const fs::path folder = given.has_filename() ? given : given.parent_path();
  std::vector<NamedArray> arrays = model.arrays;
  for (std::size_t n = 0; n < model.factors.size(); ++n) {
    arrays.push_back({file_name(n, model.mode_name(n)), {model.shape[n], model.columns[n]}, model.factors[n]});
  }
  const bool is_npy = format == ArrayFormat::npy;
  ModelFolder made(folder);
  std::deque<TemporaryFile> files;
  std::vector<fs::path> names;
  ProgressMeter meter(progress);
  std::uint64_t bytes = 0;
  for (const NamedArray& array : arrays) bytes += array.values.size_bytes();
  for (const std::vector<double>& factor : model.factors) bytes += factor.size() * sizeof(double);
  meter.begin({.name = "export", .bytes = bytes});
  for (const NamedArray& array : arrays) {
    const fs::path name = folder / (array.name + (is_npy ? ".npy" : ".txt"));
    const TemporaryFile& file = files.emplace_back(name);
    (is_npy ? write_npy : write_text_array)(file.path(), name, array.extents, array.values);
    names.push_back(name);
    meter.advance(0, array.values.size_bytes());
  }
  for (std::size_t n = 0; n < model.factors.size(); ++n) {
    const fs::path name = folder / (file_name(n, model.mode_name(n)) + ".csv");
    const Labels labels = model.labels.empty() ? Labels() : model.labels[n];
    write_factor_table(files.emplace_back(name).path(), name,
                       {model.mode_name(n), labels, index_base, model.columns[n], model.factors[n], model.column});
    names.push_back(name);
    meter.advance(0, model.factors[n].size() * sizeof(double));
  }
  meter.end();
  for (std::size_t n = 0; n < model.labels.size(); ++n) {
    if (model.labels[n].empty() || has_line_breaks(model.labels[n])) continue;
    const fs::path name = folder / (file_name(n, model.mode_name(n)) + ".labels.txt");
    write_labels(files.emplace_back(name), name, model.labels[n]);
    names.push_back(name);
  }
  for (TemporaryFile& file : files) file.publish();
  made.keep();
  return names;
}

}  // namespace

std::vector<fs::path> export_model(const CpdModel& model, const fs::path& folder, ArrayFormat format,
                                   const ProgressCallback& progress, int index_base) {
  check_sizes(model, "cannot export the model");
  const auto rank = static_cast<std::uint64_t>(model.rank);
  ExportedModel exported{{{"weights", {rank}, model.weights}},
                         model.shape,
                         std::vector<std::uint64_t>(model.shape.size(), rank),
                         "component_",
                         model.factors,
                         model.mode_names,
                         model.labels};
  add_history(model.fit_history, exported);
  return write_files(exported, folder, format, progress, index_base);
}

std::vector<fs::path> export_model(const TuckerModel& model, const fs::path& folder, ArrayFormat format,
                                   const ProgressCallback& progress, int index_base) {
  check_sizes(model, "cannot export the model");
  std::vector<std::uint64_t> extents = model.ranks;
  // A text has a line per choice of all columns but the last mode's.
  if (format == ArrayFormat::text) extents = {model.core.size() / model.ranks.back(), model.ranks.back()};
  ExportedModel exported{{{"core", extents, model.core}},
                         model.shape,
                         model.ranks,
                         "column_",
                         model.factors,
                         model.mode_names,
                         model.labels};
  add_history(model.fit_history, exported);
  return write_files(exported, folder, format, progress, index_base);
}

}  // namespace blco
