// Reads the nonzeros of a tensor in their stored order as entries of a model: by its labels where both have some.
#pragma once

#include <blco/tensor.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "blco/executor.hpp"
#include "blco/labels.hpp"
#include "engine/ingest/input/open_input.hpp"
#include "engine/tensor/nonzero_reader.hpp"
#include "io/container/chunk_source.hpp"
#include "io/coordinate_reader.hpp"

namespace blco {

class TensorReader final : public CoordinateReader {
 public:
  // `name` is that of the tensor in messages. All but `known` must outlive this. An index whose label the model does
  // not have becomes a coordinate beyond its shape. Throws Error: invalid_argument (another number of modes, the same
  // modes in another order, two equal labels where labels have to be matched), io, corrupt.
  TensorReader(const Tensor& tensor, std::string name, const std::vector<std::uint64_t>& model_shape,
               const KnownTensor& known, Executor& executor);

  bool next(CoordinateBatch& batch) override;
  std::string name() const override { return name_; }
  std::uint64_t bytes_read() const override { return nonzeros_->bytes_read(); }
  InputSize size() const override { return {.entries = chunks_.info().nnz}; }
  std::string format() const override { return chunks_.file_bytes() > 0 ? "BLCO container" : ""; }
  bool counts_from_zero() const override { return false; }
  std::string place_of(std::size_t entry) const override;
  std::string unknown_key(std::size_t mode, std::uint64_t coordinate) const override;

  // The first mode that is longer than the model's although it has no labels; the order if there is none.
  std::size_t find_longer_mode() const;

  // What a reader of this tensor takes; `known`: the labels of each mode of the model.
  static std::uint64_t memory_bytes(const Tensor& tensor, std::span<const LabelSizes> known);

 private:
  struct Mode {
    std::vector<std::uint64_t> places;  // per index, its coordinate; empty: the same
    Labels labels;                      // empty: there are none to be matched
  };

  void check_modes(const KnownTensor& known) const;
  void match_labels(const KnownTensor& known);
  std::vector<std::uint64_t> find_places(std::size_t mode, const Labels& labels, const KnownTensor& known) const;
  void add(const NonzeroFrame& nonzeros, std::size_t first, CoordinateBatch& batch) const;

  const ChunkSource& chunks_;
  std::string name_;
  std::vector<std::uint64_t> model_shape_;
  Executor& executor_;
  std::vector<Mode> modes_;
  bool is_narrow_ = true;
  std::optional<NonzeroReader> nonzeros_;  // once it is known that the modes suit
  std::uint64_t before_ = 0;               // entries before the last batch
  std::uint64_t batch_count_ = 0;
};

}  // namespace blco
