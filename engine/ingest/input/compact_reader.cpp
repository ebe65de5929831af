#include "engine/ingest/input/compact_reader.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/common/counter_random.hpp"
#include "engine/common/memory.hpp"
#include "engine/ingest/sort/ingest_plan.hpp"

namespace blco {
namespace {

constexpr std::uint64_t most_indices = std::numeric_limits<std::uint32_t>::max() - 1;
constexpr std::size_t first_places = 64;
constexpr std::uint64_t most_digits = 20;

}  // namespace

std::size_t CompactReader::Numbers::place_of(std::uint64_t index) const {
  const std::size_t mask = places_.size() - 1;
  std::size_t place = static_cast<std::size_t>(RandomStream(0, index).bits(0)) & mask;
  while (places_[place] != 0 && indices_[places_[place] - 1] != index) place = (place + 1) & mask;
  return place;
}

std::uint32_t CompactReader::Numbers::number_of(std::uint64_t index) {
  if (indices_.size() * 2 >= places_.size()) grow();
  const std::size_t place = place_of(index);
  if (places_[place] == 0) {
    if (indices_.size() == most_indices) refuse("a mode has 2^32 indices, too many for " + option_name("compact"));
    indices_.push_back(index);
    places_[place] = static_cast<std::uint32_t>(indices_.size());
  }
  return places_[place] - 1;
}

void CompactReader::Numbers::grow() {
  const std::size_t places = std::max(first_places, 2 * places_.size());
  places_ = {};
  places_.resize(places);
  for (std::size_t number = 0; number < indices_.size(); ++number) {
    places_[place_of(indices_[number])] = static_cast<std::uint32_t>(number + 1);
  }
}

// With the larger table and list of the next growth, or at the end the order, the final numbers and the labels.
std::uint64_t CompactReader::Numbers::kept_bytes() const {
  const std::uint64_t growing =
      2 * places_.size() * sizeof(std::uint32_t) + 3 * indices_.size() * sizeof(std::uint64_t);
  const std::uint64_t at_end = indices_.size() * (3 * sizeof(std::uint64_t) + sizeof(std::uint32_t) + most_digits);
  return std::max(growing, at_end);
}

std::vector<std::uint64_t> CompactReader::Numbers::take() {
  places_ = {};
  return std::exchange(indices_, {});
}

bool CompactReader::next(CoordinateBatch& batch) {
  if (!reader_->next(batch)) return false;
  const auto order = static_cast<std::size_t>(batch.order);
  modes_.resize(order);
  RawVector<std::uint32_t> numbers;
  numbers.resize(batch.count() * order);
  executor_->run(order, [&](std::size_t n) {
    for (std::size_t i = 0; i < batch.count(); ++i) {
      numbers[i * order + n] = modes_[n].number_of(batch.coordinate(i, static_cast<int>(n)));
    }
    batch.upper[n] = modes_[n].count() - 1;
  });
  batch.narrow = std::move(numbers);
  batch.wide = {};
  entries_ += batch.count();
  check_budget();
  return true;
}

// The rest of the input may have as many new indices as what has been read.
void CompactReader::check_budget() const {
  const std::uint64_t kept = kept_bytes() - reader_->kept_bytes();
  const std::uint64_t budget = host_budget(options_->memory_bytes);
  const std::uint64_t most = max_key_bytes(budget);
  if (kept <= most) return;
  const InputSize size = reader_->size();
  double share = 0.5;
  if (size.entries > 0) {
    share = static_cast<double>(entries_) / static_cast<double>(size.entries);
  } else if (size.bytes > 0) {
    share = static_cast<double>(reader_->bytes_read()) / static_cast<double>(size.bytes);
  }
  const auto in_all = static_cast<std::uint64_t>(2 * static_cast<double>(kept) / std::clamp(share, 1e-6, 1.0));
  const IngestSizes sizes{.threads = executor_->width(),
                          .chunk_nnz = options_->chunk_nnz,
                          .zstd_level = options_->zstd_level,
                          .expected_entries = size.entries};
  throw Error(ErrorKind::out_of_memory,
              "the indices that have entries take more than " + format_bytes(most) +
                  " of memory, which the budget of " + format_bytes(budget) + " leaves for them; give " +
                  option_name("memory_bytes", as_budget(budget_with_keys(sizes, in_all, reader_->memory_bytes()))) +
                  ", or leave out " + option_name("compact"));
}

std::uint64_t CompactReader::kept_bytes() const {
  std::uint64_t bytes = reader_->kept_bytes();
  for (const Numbers& mode : modes_) bytes += mode.kept_bytes();
  return bytes;
}

std::vector<std::vector<std::uint32_t>> CompactReader::take_final_coordinates() {
  std::vector<std::vector<std::uint32_t>> of_reader = reader_->take_final_coordinates();
  of_reader.resize(modes_.size());
  const std::vector<std::uint64_t> declared = reader_->declared_shape();
  std::vector<std::vector<std::uint32_t>> final_ones(modes_.size());
  kept_.resize(modes_.size());
  for (std::size_t n = 0; n < modes_.size(); ++n) {
    std::vector<std::uint64_t> indices = modes_[n].take();
    if (!of_reader[n].empty()) {
      for (std::uint64_t& index : indices) index = of_reader[n][static_cast<std::size_t>(index)];
    }
    std::vector<std::uint64_t> kept = indices;
    std::ranges::sort(kept);
    kept.erase(std::ranges::unique(kept).begin(), kept.end());
    kept.shrink_to_fit();
    const std::uint64_t extent = kept.back() + 1;
    if (!declared.empty() && extent > declared[n]) {
      refuse(name() + " has the coordinate " + std::to_string(kept.back() + index_base_) + " in mode " +
             std::to_string(n) + ", beyond the length of " + std::to_string(declared[n]) +
             " that its header declares; correct the header");
    }
    shape_.push_back(kept.size());
    for (const std::uint64_t index : indices) {
      final_ones[n].push_back(static_cast<std::uint32_t>(std::ranges::lower_bound(kept, index) - kept.begin()));
    }
    const std::uint64_t length = declared.empty() ? extent : declared[n];
    if (kept.size() == length) continue;
    compacted_.push_back({n, kept.size(), length});
    kept_[n] = std::move(kept);
  }
  return final_ones;
}

std::vector<Labels> CompactReader::take_labels() {
  std::vector<Labels> labels = reader_->take_labels();
  if (compacted_.empty()) return labels;
  labels.resize(modes_.size());
  for (std::size_t n = 0; n < modes_.size(); ++n) {
    if (kept_[n].empty()) continue;
    std::string text;
    std::vector<std::uint64_t> ends;
    for (const std::uint64_t index : kept_[n]) {
      text += labels[n].empty() ? std::to_string(index + index_base_) : std::string(labels[n][index]);
      ends.push_back(text.size());
    }
    kept_[n] = {};
    text.shrink_to_fit();
    labels[n] = Labels(std::move(text), std::move(ends));
  }
  return labels;
}

}  // namespace blco
