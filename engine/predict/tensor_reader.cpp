// Decodes frames in parallel, and turns the tensor's indices into the model's.
#include "engine/predict/tensor_reader.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "io/table/csv_header.hpp"
#include "io/table/key_dictionary.hpp"
#include "io/text/quoted_text.hpp"

namespace blco {
namespace {

constexpr std::size_t task_frames = 16;
constexpr std::size_t batch_frames = 512;

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
    : chunks_(TensorChunks::of(tensor)),
      name_(std::move(name)),
      model_shape_(model_shape),
      executor_(executor),
      modes_(chunks_.info().shape.size()) {
  check_modes(known);
  nonzeros_.emplace(chunks_, 1, executor);
  match_labels(known);
  for (std::size_t n = 0; n < modes_.size(); ++n) {
    is_narrow_ = is_narrow_ && chunks_.info().shape[n] + model_shape_[n] <= std::uint64_t{1} << 32;
  }
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
  const ChunkSource& chunks = TensorChunks::of(tensor);
  const std::vector<std::uint64_t>& shape = chunks.info().shape;
  std::uint64_t buffer = 0;
  std::uint64_t scratch = 0;
  for (std::uint64_t c = 0; c < chunks.info().chunk_count(); ++c) {
    buffer = std::max(buffer, chunks.buffer_bytes(c));
    scratch = std::max(scratch, chunks.scratch_bytes(c));
  }
  std::uint64_t bytes = buffer + scratch + NonzeroDecoder::memory_bytes(chunks.info());
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

bool TensorReader::next(CoordinateBatch& batch) {
  before_ += batch_count_;
  batch_count_ = 0;
  if (!nonzeros_->next(batch_frames)) return false;
  const std::size_t order = modes_.size();
  const std::size_t count = nonzeros_->count();
  batch.resize(count, order, is_narrow_);
  const std::size_t frames = nonzeros_->frames();
  executor_.run((frames + task_frames - 1) / task_frames, [&](std::size_t task) {
    NonzeroFrame nonzeros;
    for (std::size_t frame = task * task_frames; frame < std::min(frames, (task + 1) * task_frames); ++frame) {
      nonzeros_->decode(frame, nonzeros);
      add(nonzeros, frame * frame_entries, batch);
    }
  });
  batch.upper.assign(order, 0);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t n = 0; n < order; ++n) {
      batch.upper[n] = std::max(batch.upper[n], batch.coordinate(i, static_cast<int>(n)));
    }
  }
  batch_count_ = count;
  return true;
}

// From entry `first` of the batch on.
void TensorReader::add(const NonzeroFrame& nonzeros, std::size_t first, CoordinateBatch& batch) const {
  for (std::size_t n = 0; n < modes_.size(); ++n) {
    const std::vector<std::uint64_t>& places = modes_[n].places;
    for (std::size_t i = 0; i < nonzeros.count; ++i) {
      const std::uint64_t index = nonzeros.coordinates[n][i];
      batch.set(first + i, n, places.empty() ? index : places[static_cast<std::size_t>(index)]);
    }
  }
  std::copy_n(nonzeros.values.begin(), nonzeros.count, batch.values.begin() + static_cast<std::ptrdiff_t>(first));
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
