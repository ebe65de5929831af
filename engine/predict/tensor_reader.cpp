// Decodes frames in parallel, and turns stored indices into the model's.
#include "engine/predict/tensor_reader.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "blco/chunk.hpp"
#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "blco/payload.hpp"
#include "io/table/csv_header.hpp"
#include "io/table/key_dictionary.hpp"
#include "io/text/quoted_text.hpp"

namespace blco {
namespace {

constexpr std::size_t task_frames = 16;
constexpr std::size_t batch_frames = 512;

std::pair<std::uint64_t, std::uint64_t> chunk_memory(const ChunkSource& chunks) {
  std::pair<std::uint64_t, std::uint64_t> bytes{0, 0};
  for (std::uint64_t c = 0; c < chunks.info().chunk_count(); ++c) {
    bytes.first = std::max(bytes.first, chunks.buffer_bytes(c));
    bytes.second = std::max(bytes.second, chunks.scratch_bytes(c));
  }
  return bytes;
}

bool is_labelled(const KnownTensor& known, std::size_t mode) {
  return mode < known.labels.size() && !known.labels[mode].empty();
}

bool begin_equally(const Labels& a, const Labels& b) {
  for (std::uint64_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

}  // namespace

TensorReader::TensorReader(const Tensor& tensor, std::string name, const std::vector<std::uint64_t>& model_shape,
                           const KnownTensor& known, Executor& executor)
    : chunks_(tensor.chunks()),
      name_(std::move(name)),
      model_shape_(model_shape),
      executor_(executor),
      layout_(chunks_.info().shape),
      modes_(chunks_.info().shape.size()) {
  check_modes(known);
  for (std::size_t n = 0; n < modes_.size(); ++n) modes_[n].originals = chunks_.relabelling(n);
  match_labels(known);
  for (std::size_t n = 0; n < modes_.size(); ++n) {
    is_narrow_ = is_narrow_ && chunks_.info().shape[n] + model_shape_[n] <= std::uint64_t{1} << 32;
  }
  const auto [buffer, scratch] = chunk_memory(chunks_);
  buffer_ = AlignedBuffer<std::byte>(buffer);
  scratch_ = AlignedBuffer<std::byte>(scratch);
}

void TensorReader::check_modes(const KnownTensor& known) const {
  const std::size_t order = known.mode_names.size();
  if (modes_.size() != order) {
    refuse(name_ + " has " + std::to_string(modes_.size()) + (modes_.size() == 1 ? " mode" : " modes") + ", but " +
           known.name + " has " + std::to_string(order) + "; give a tensor of the same modes");
  }
  const std::vector<std::string>& names = chunks_.info().mode_names;
  if (names == known.mode_names || !std::ranges::is_permutation(names, known.mode_names)) return;
  refuse("the modes of " + name_ + " are " + list_columns(names) + ", but those of " + known.name + " are " +
         list_columns(known.mode_names) + "; give a tensor with its modes in the order of the model");
}

void TensorReader::match_labels(const KnownTensor& known) {
  std::vector<Labels> labels = chunks_.labels();
  labels.resize(modes_.size());
  for (std::size_t n = 0; n < modes_.size(); ++n) {
    if (labels[n].empty() || !is_labelled(known, n)) continue;
    if (!begin_equally(labels[n], known.labels[n])) modes_[n].places = find_places(n, labels[n], known);
    modes_[n].labels = std::move(labels[n]);
  }
}

std::vector<std::uint64_t> TensorReader::find_places(std::size_t mode, const Labels& labels,
                                                     const KnownTensor& known) const {
  const Labels& wanted = known.labels[mode];
  KeyDictionary dictionary;
  for (std::uint64_t i = 0; i < wanted.size(); ++i) {
    if (dictionary.number_of(wanted[i], hash_key(wanted[i])) == i) continue;
    refuse("two indices of the mode '" + known.mode_names[mode] + "' of " + known.name + " have the label " +
           quoted_for_message(wanted[i]) + ", so the labels of " + name_ +
           " cannot be matched with them; give a container whose labels have the numbers of the model");
  }
  std::vector<std::uint64_t> places(static_cast<std::size_t>(labels.size()));
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::uint32_t found = dictionary.find(labels[i], hash_key(labels[i]));
    places[i] = found < wanted.size() ? found : wanted.size() + i;
  }
  return places;
}

std::size_t TensorReader::find_longer_mode() const {
  std::size_t n = 0;
  while (n < modes_.size() && (!modes_[n].labels.empty() || chunks_.info().shape[n] <= model_shape_[n])) ++n;
  return n;
}

std::uint64_t TensorReader::memory_bytes(const Tensor& tensor, std::span<const LabelSizes> known) {
  const ChunkSource& chunks = tensor.chunks();
  const std::vector<std::uint64_t>& shape = chunks.info().shape;
  const auto [buffer, scratch] = chunk_memory(chunks);
  std::uint64_t bytes = buffer + scratch;
  for (const RelabelledMode& mode : chunks.info().relabelled) {
    bytes += shape[static_cast<std::size_t>(mode.mode)] * sizeof(std::uint32_t);
  }
  const std::vector<std::uint64_t> label_bytes = chunks.label_bytes();
  std::uint64_t dictionary = 0;  // of one mode at a time
  for (std::size_t n = 0; n < label_bytes.size(); ++n) {
    bytes += label_bytes[n];
    if (label_bytes[n] == 0 || n >= known.size() || known[n].count == 0) continue;
    dictionary = std::max(dictionary, KeyDictionary::max_memory_bytes(known[n].count, known[n].text_bytes));
    bytes += shape[n] * sizeof(std::uint64_t);
  }
  return bytes + dictionary + batch_frames * frame_entries * (shape.size() + 1) * sizeof(std::uint64_t);
}

bool TensorReader::read_chunk() {
  if (next_chunk_ == chunks_.info().chunk_count()) return false;
  chunk_ = chunks_.read_chunk(next_chunk_, buffer_.span(), scratch_.span());
  for (const StoredExtent& extent : chunks_.extents(next_chunk_)) bytes_read_ += extent.stored_bytes;
  ++next_chunk_;
  taken_ = 0;
  return true;
}

bool TensorReader::next(CoordinateBatch& batch) {
  before_ += batch_count_;
  batch_count_ = 0;
  while (taken_ == chunk_.nnz) {
    if (!read_chunk()) return false;
  }
  const std::size_t order = modes_.size();
  const auto count =
      static_cast<std::size_t>(std::min<std::uint64_t>(batch_frames * frame_entries, chunk_.nnz - taken_));
  batch.order = static_cast<int>(order);
  batch.narrow.resize(is_narrow_ ? count * order : 0);
  batch.wide.resize(is_narrow_ ? 0 : count * order);
  batch.values.resize(count);
  const std::size_t task_entries = task_frames * frame_entries;
  const auto first_frame = static_cast<std::size_t>(taken_ / frame_entries);
  executor_.run((count + task_entries - 1) / task_entries, [&](std::size_t task) {
    for (std::size_t at = task * task_entries; at < std::min(count, (task + 1) * task_entries); at += frame_entries) {
      decode(batch, first_frame + at / frame_entries, at, std::min<std::size_t>(frame_entries, count - at));
    }
  });
  batch.upper.assign(order, 0);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t n = 0; n < order; ++n) {
      batch.upper[n] = std::max(batch.upper[n], batch.coordinate(i, static_cast<int>(n)));
    }
  }
  taken_ += count;
  batch_count_ = count;
  return true;
}

// One frame, to entry `first` of the batch.
void TensorReader::decode(CoordinateBatch& batch, std::size_t frame, std::size_t first, std::size_t count) const {
  std::array<std::uint64_t, frame_entries> low;
  std::array<std::uint64_t, frame_entries> key{};
  std::array<double, frame_entries> value;
  value.fill(1.0);
  decode_line_frame(view_payload(chunk_[Column::index]), frame, low.data());
  if (!chunk_[Column::key].empty()) decode_line_frame(view_payload(chunk_[Column::key]), frame, key.data());
  if (!chunk_[Column::value].empty()) decode_value_frame(view_payload(chunk_[Column::value]), frame, value.data());
  const std::size_t order = modes_.size();
  std::array<std::uint64_t, max_order> point;
  for (std::size_t i = 0; i < count; ++i) {
    layout_.delinearize({key[i], low[i]}, std::span(point).first(order));
    for (std::size_t n = 0; n < order; ++n) {
      const std::uint64_t coordinate = coordinate_of(n, point[n]);
      const std::size_t at = (first + i) * order + n;
      if (is_narrow_) {
        batch.narrow[at] = static_cast<std::uint32_t>(coordinate);
      } else {
        batch.wide[at] = coordinate;
      }
    }
    batch.values[first + i] = value[i];
  }
}

std::uint64_t TensorReader::coordinate_of(std::size_t mode, std::uint64_t stored) const {
  if (stored >= layout_.shape()[mode]) {
    throw Error(ErrorKind::corrupt, name_ + ": chunk " + std::to_string(chunk_.number) +
                                        " has coordinates outside the shape; restore the file from a copy, or ingest "
                                        "the tensor again");
  }
  const Mode& of = modes_[mode];
  const std::uint64_t index = of.originals.empty() ? stored : of.originals[static_cast<std::size_t>(stored)];
  return of.places.empty() ? index : of.places[static_cast<std::size_t>(index)];
}

std::string TensorReader::place_of(std::size_t entry) const {
  return "entry " + std::to_string(before_ + entry) + " of " + name_;
}

std::string TensorReader::unknown_key(std::size_t mode, std::uint64_t coordinate) const {
  const Mode& of = modes_[mode];
  if (of.labels.empty()) return {};
  return std::string(of.labels[of.places.empty() ? coordinate : coordinate - model_shape_[mode]]);
}

}  // namespace blco
