// Writes predictions as a table.
#pragma once

#include <blco/export_text.hpp>
#include <blco/predict.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "blco/executor.hpp"
#include "blco/labels.hpp"
#include "engine/common/ordered_text.hpp"
#include "engine/ingest/input/open_input.hpp"

namespace blco {

class PredictionTable {
 public:
  // `labels`: per mode, or none at all. `sink` and `executor` must outlive this.
  PredictionTable(const std::vector<std::string>& mode_names, std::vector<Labels> labels, char separator,
                  int index_base, const TextSink& sink, Executor& executor);

  void write_header(bool has_values);
  // Writes the text of the block before, while that of this one is made.
  void write(const PredictionBlock& block);
  // Call after the last block.
  void finish() { text_.finish(); }

  // Of the text of one block, per entry: about so many, from the average length of each mode's labels, if it has any.
  static std::uint64_t line_bytes(std::span<const LabelSizes> labels);

 private:
  void append_line(const PredictionBlock& block, std::size_t entry, std::string& text) const;

  std::vector<std::string> mode_names_;
  std::vector<Labels> labels_;
  char separator_;
  std::uint64_t index_base_;
  OrderedText text_;
};

}  // namespace blco
