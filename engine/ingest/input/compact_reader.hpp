// Renumbers the indices of each mode that occur, so that modes are no longer than they have of these.
#pragma once

#include <blco/ingest_input.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "blco/executor.hpp"
#include "io/coordinate_reader.hpp"

namespace blco {

// Passes on the entries of another reader. Indices get provisional numbers as they appear, and at the end those of
// their order; their labels are those of the other reader, or else their numbers from `index_base` on. A mode whose
// indices all occur stays as it is. Memory goes with the indices that occur, whatever their size: 16 to 64 bytes each,
// and the label.
class CompactReader final : public CoordinateReader {
 public:
  // `reader`, `options` and `executor` must outlive this.
  CompactReader(CoordinateReader& reader, const IngestOptions& options, Executor& executor)
      : reader_(&reader),
        options_(&options),
        executor_(&executor),
        index_base_(static_cast<std::uint64_t>(options.index_base)) {}

  // Throws Error also: invalid_argument for 2^32 indices of a mode; out_of_memory where the indices take more of
  // options.memory_bytes than keys of a table may, naming a budget that suffices.
  bool next(CoordinateBatch& batch) override;
  std::uint64_t kept_bytes() const override;

  // Call in this order, once each, at the end of the input. Throws as those of the other reader do, and
  // Error{invalid_argument} for an index beyond the shape that the input declares.
  std::vector<std::vector<std::uint32_t>> take_final_coordinates() override;
  std::vector<std::uint64_t> declared_shape() const override { return shape_; }
  std::vector<Labels> take_labels() override;

  // Those that have been renumbered.
  const std::vector<CompactedMode>& compacted() const { return compacted_; }

  std::string name() const override { return reader_->name(); }
  std::uint64_t bytes_read() const override { return reader_->bytes_read(); }
  InputSize size() const override { return reader_->size(); }
  std::string format() const override { return reader_->format(); }
  bool counts_from_zero() const override { return reader_->counts_from_zero(); }
  bool has_values() const override { return reader_->has_values(); }
  std::uint64_t memory_bytes() const override { return reader_->memory_bytes(); }
  std::vector<SkippedRows> skipped_rows() const override { return reader_->skipped_rows(); }
  std::uint64_t unknown_rows() const override { return reader_->unknown_rows(); }
  std::vector<KeyedMode> keyed_modes() const override { return reader_->keyed_modes(); }
  std::vector<std::string> notes() const override { return reader_->notes(); }

 private:
  // Numbers indices by first appearance: a hash table of places in a list of them.
  class Numbers {
   public:
    std::uint32_t number_of(std::uint64_t index);
    std::uint64_t count() const { return indices_.size(); }
    std::uint64_t kept_bytes() const;
    // Forgets all.
    std::vector<std::uint64_t> take();

   private:
    std::size_t place_of(std::uint64_t index) const;
    void grow();

    std::vector<std::uint32_t> places_;  // a power of two of them: a number and one, or 0
    std::vector<std::uint64_t> indices_;
  };

  void check_budget() const;

  CoordinateReader* reader_;
  const IngestOptions* options_;
  Executor* executor_;
  std::uint64_t index_base_;
  std::uint64_t entries_ = 0;  // read so far
  std::vector<Numbers> modes_;
  std::vector<std::uint64_t> shape_;
  std::vector<std::vector<std::uint64_t>> kept_;  // per mode its indices, rising; empty: it stays as it is
  std::vector<CompactedMode> compacted_;
};

}  // namespace blco
