// Finds the modes that label files are for, and compares numbers of labels with lengths.
#include "engine/ingest/input/labelled_reader.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "blco/error.hpp"
#include "blco/layout.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/common/memory.hpp"
#include "engine/ingest/sort/ingest_plan.hpp"
#include "io/table/label_file.hpp"

namespace blco {
namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// A mode by its name, or else by its number.
std::size_t find_mode(const std::string& mode, std::vector<std::string> names) {
  const bool has_names = !names.empty();
  for (int n = 0; !has_names && n < max_order; ++n) names.push_back("mode" + std::to_string(n));
  const auto named = std::ranges::find(names, mode);
  if (named != names.end()) return static_cast<std::size_t>(named - names.begin());
  std::size_t number = 0;
  const char* const end = mode.data() + mode.size();
  const auto [rest, failure] = std::from_chars(mode.data(), end, number);
  if (failure == std::errc{} && rest == end && number < names.size()) return number;
  const std::string modes = has_names ? "the modes are " + joined(names) + ", or numbers from 0"
                                      : "modes are numbers from 0, unless " + option_name("mode_names") + " names them";
  refuse(option_name("label_files") + " names the mode '" + mode + "', which is not there; " + modes);
}

std::string count_of_labels(std::uint64_t count) { return std::to_string(count) + (count == 1 ? " label" : " labels"); }

}  // namespace

LabelledReader::LabelledReader(CoordinateReader& reader, const IngestOptions& options, int threads) : reader_(&reader) {
  for (const LabelSource& source : options.label_files) {
    const std::size_t number = find_mode(source.mode, options.mode_names);
    const std::string name =
        number < options.mode_names.size() ? "'" + options.mode_names[number] + "'" : std::to_string(number);
    if (std::ranges::find(modes_, number, &Mode::number) != modes_.end()) {
      refuse(option_name("label_files") + " names two files for mode " + name + "; leave one out");
    }
    modes_.push_back({number, name, source.file, {}});
  }
  std::ranges::sort(modes_, {}, &Mode::number);
  if (!options.shape.empty()) check_order(options.shape.size());
  read_files(options, threads);
  if (!options.shape.empty()) check_declared(options.shape, option_name("shape"));
}

void LabelledReader::read_files(const IngestOptions& options, int threads) {
  const std::uint64_t budget = host_budget(options.memory_bytes);
  const std::uint64_t max_bytes = max_key_bytes(budget);
  for (Mode& mode : modes_) {
    LabelFile file = read_label_file(mode.file, max_bytes - std::min(max_bytes, label_bytes_));
    label_bytes_ += file.memory_bytes;
    mode.labels = std::move(file.labels);
    counts_.push_back({mode.number, mode.labels.size(), count_repeated_labels(mode.labels)});
  }
  release_freed_memory();
  if (label_bytes_ <= max_bytes) return;
  // An entry is two bytes at least, and gzip makes up to 1032 of one.
  constexpr std::uint64_t most_entries_of_byte = 516;
  const InputSize size = reader_->size();
  const IngestSizes sizes{.threads = threads,
                          .chunk_nnz = options.chunk_nnz,
                          .zstd_level = options.zstd_level,
                          .expected_entries = size.entries > 0 ? size.entries : most_entries_of_byte * size.bytes};
  throw Error(
      ErrorKind::out_of_memory,
      "the labels take " + format_bytes(label_bytes_) + " of memory, but the budget of " + format_bytes(budget) +
          " leaves " + format_bytes(max_bytes) + " for labels; give at least " +
          option_name("memory_bytes", as_budget(budget_with_keys(sizes, label_bytes_, reader_->memory_bytes()))) +
          ", or leave out the longest of the files");
}

void LabelledReader::check_order(std::size_t order) const {
  for (const Mode& mode : modes_) {
    if (mode.number < order) continue;
    refuse(option_name("label_files") + " names mode " + mode.name + ", but " + reader_->name() + " has " +
           std::to_string(order) + (order == 1 ? " mode" : " modes") + ", counted from 0");
  }
}

bool LabelledReader::next(CoordinateBatch& batch) {
  if (!reader_->next(batch)) return false;
  if (extents_.empty()) check_order(batch.upper.size());
  extents_.resize(batch.upper.size(), 0);
  for (std::size_t n = 0; n < extents_.size(); ++n) extents_[n] = std::max(extents_[n], batch.upper[n] + 1);
  return true;
}

std::vector<std::uint64_t> LabelledReader::lengthen(std::vector<std::uint64_t> extents) const {
  if (extents.empty()) return extents;
  check_order(extents.size());
  for (const Mode& mode : modes_) {
    std::uint64_t& length = extents[mode.number];
    if (mode.labels.size() < length) {
      refuse(mode.file.string() + " has " + count_of_labels(mode.labels.size()) + ", but mode " + mode.name + " of " +
             reader_->name() + " has " + std::to_string(length) +
             " indices; write one label a line, of every index from the first one on");
    }
    length = mode.labels.size();
  }
  return extents;
}

void LabelledReader::check_declared(const std::vector<std::uint64_t>& shape, const std::string& by) const {
  for (const Mode& mode : modes_) {
    const std::uint64_t length = shape[mode.number];
    if (mode.labels.size() == length) continue;
    refuse(mode.file.string() + " has " + count_of_labels(mode.labels.size()) + ", but " + by + " declares " +
           std::to_string(length) + (length == 1 ? " index" : " indices") + " of mode " + mode.name +
           "; write one label a line, of every index, or correct the length");
  }
}

std::vector<std::uint64_t> LabelledReader::declared_shape() const {
  std::vector<std::uint64_t> shape = reader_->declared_shape();
  if (shape.empty()) return lengthen(extents_);
  check_declared(shape, reader_->name());
  return shape;
}

std::vector<Labels> LabelledReader::take_labels() {
  std::vector<Labels> labels = reader_->take_labels();
  if (modes_.empty()) return labels;
  labels.resize(extents_.size());
  for (Mode& mode : modes_) labels[mode.number] = std::exchange(mode.labels, {});
  return labels;
}

}  // namespace blco
