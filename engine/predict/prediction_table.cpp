// Formats slices of a block in parallel.
#include "engine/predict/prediction_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "engine/common/number_text.hpp"
#include "io/table/csv_field.hpp"

namespace blco {
namespace {

constexpr std::size_t task_entries = 1024;
constexpr std::array column_names = {"value", "model", "residual", "deviance"};
constexpr std::uint64_t number_bytes = 25;  // of a double or an index, and a separator

}  // namespace

PredictionTable::PredictionTable(const std::vector<std::string>& mode_names, std::vector<Labels> labels, char separator,
                                 int index_base, const TextSink& sink, Executor& executor)
    : mode_names_(mode_names),
      labels_(std::move(labels)),
      separator_(separator),
      index_base_(static_cast<std::uint64_t>(index_base)),
      text_(executor, sink) {
  labels_.resize(mode_names_.size());
}

void PredictionTable::write_header(bool has_values) {
  std::string line;
  for (const std::string& name : mode_names_) {
    append_csv_field(name, separator_, line);
    line += separator_;
  }
  for (std::string name : column_names) {
    if (!has_values && name != column_names[1]) continue;
    while (std::ranges::find(mode_names_, name) != mode_names_.end()) name += '_';
    append_csv_field(name, separator_, line);
    line += separator_;
  }
  line.back() = '\n';
  text_.write(line);
}

void PredictionTable::write(const PredictionBlock& block) {
  const std::size_t entries = block.model.size();
  text_.add_round((entries + task_entries - 1) / task_entries, [&](std::size_t task, std::string& text) {
    const std::size_t first = task * task_entries;
    for (std::size_t i = first; i < std::min(entries, first + task_entries); ++i) append_line(block, i, text);
  });
}

void PredictionTable::append_line(const PredictionBlock& block, std::size_t entry, std::string& text) const {
  const auto point = block.coordinates.subspan(entry * mode_names_.size(), mode_names_.size());
  for (std::size_t n = 0; n < point.size(); ++n) {
    if (labels_[n].empty()) {
      text += std::to_string(point[n] + index_base_);
    } else {
      append_csv_field(labels_[n][point[n]], separator_, text);
    }
    text += separator_;
  }
  const double model = block.model[entry];
  if (block.values.empty()) {
    append_table_number(model, text);
  } else {
    const double value = block.values[entry];
    for (const double number : {value, model, value - model}) {
      append_table_number(number, text);
      text += separator_;
    }
    if (!std::isnan(block.deviances[entry])) append_table_number(block.deviances[entry], text);
  }
  text += '\n';
}

std::uint64_t PredictionTable::line_bytes(std::span<const LabelSizes> labels) {
  std::uint64_t bytes = column_names.size() * number_bytes;
  for (const LabelSizes& mode : labels) bytes += mode.count > 0 ? 2 * mode.text_bytes / mode.count + 4 : number_bytes;
  return bytes;
}

}  // namespace blco
