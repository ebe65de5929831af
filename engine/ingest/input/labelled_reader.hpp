// Gives the modes of a coordinate input the labels of IngestOptions::label_files.
#pragma once

#include <blco/ingest_input.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "io/coordinate_reader.hpp"

namespace blco {

// Passes on the entries of another reader, and its labels. A mode that gets labels here becomes as long as it has
// labels, unless options.shape or the input declares its length.
class LabelledReader final : public CoordinateReader {
 public:
  // Reads the files. `reader` must outlive this. Throws Error: as read_label_file does; invalid_argument for a mode
  // that is not there or has two files, and for labels that are not those of options.shape; out_of_memory naming a
  // budget that suffices to sort on so many threads too.
  LabelledReader(CoordinateReader& reader, const IngestOptions& options, int threads);

  // Throws Error{invalid_argument} also if the order lacks a mode that has labels.
  bool next(CoordinateBatch& batch) override;
  // Throws Error{invalid_argument} if a mode has fewer labels than indices, or more than the input declares.
  std::vector<std::uint64_t> declared_shape() const override;
  std::vector<Labels> take_labels() override;

  std::string name() const override { return reader_->name(); }
  std::uint64_t bytes_read() const override { return reader_->bytes_read(); }
  InputSize size() const override { return reader_->size(); }
  std::string format() const override { return reader_->format(); }
  bool counts_from_zero() const override { return reader_->counts_from_zero(); }
  std::vector<std::string> notes() const override { return reader_->notes(); }
  std::uint64_t memory_bytes() const override { return reader_->memory_bytes(); }
  std::uint64_t kept_bytes() const override { return reader_->kept_bytes() + label_bytes_; }

  // The smallest shape that holds entries of these extents and the labels. Throws as declared_shape() does.
  std::vector<std::uint64_t> lengthen(std::vector<std::uint64_t> extents) const;

  const std::vector<LabelCounts>& counts() const { return counts_; }

 private:
  struct Mode {
    std::size_t number = 0;
    std::string name;  // in messages
    std::filesystem::path file;
    Labels labels;
  };

  void read_files(const IngestOptions& options, int threads);
  void check_order(std::size_t order) const;
  void check_declared(const std::vector<std::uint64_t>& shape, const std::string& by) const;

  CoordinateReader* reader_;
  std::vector<Mode> modes_;
  std::vector<LabelCounts> counts_;
  std::uint64_t label_bytes_ = 0;
  std::vector<std::uint64_t> extents_;  // of the entries so far
};

}  // namespace blco
