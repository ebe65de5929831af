// Turns columns of numbers into batches of entries, in parallel.
#include "io/arrays/coo_reader.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "blco/error.hpp"

namespace blco {
namespace {

constexpr std::uint64_t min_batch_entries = std::uint64_t{1} << 12;
constexpr std::uint64_t max_batch_entries = std::uint64_t{1} << 18;
constexpr std::size_t slice_entries = std::size_t{1} << 14;
constexpr std::uint64_t narrow_limit = std::uint64_t{1} << 32;

std::size_t order_of(const CooSource& source) {
  std::size_t order = 0;
  for (const CooPart& part : source.parts()) order += part.modes;
  return order;
}

std::uint64_t bytes_of_entry(const CooSource& source) {
  std::uint64_t bytes = 0;
  for (const CooPart& part : source.parts()) bytes += part.entry_bytes();
  return bytes + (order_of(source) + 1) * sizeof(std::uint64_t);
}

// The smallest refused coordinate: taken as unsigned, negative numbers lie above it.
std::uint64_t limit_of(NumberType type) {
  return type.kind == NumberKind::signed_integer ? std::uint64_t{1} << 63 : no_index;
}

// The numbers of one column within the bytes read of its part.
struct Column {
  const std::byte* first = nullptr;
  std::size_t stride = 0;
  NumberType type;
};

template <class Out>
void copy_coordinates(const Column& column, std::size_t begin, std::size_t count, Out* out, std::size_t order,
                      std::uint64_t& upper) {
  visit_number(column.type, [&](const auto& load) {
    const std::byte* from = column.first + begin * column.stride;
    std::uint64_t max = 0;
    for (std::size_t i = 0; i < count; ++i, from += column.stride) {
      const std::uint64_t at = index_of_number(load(from));
      max = std::max(max, at);
      out[i * order] = static_cast<Out>(at);
    }
    upper = std::max(upper, max);
  });
}

bool copy_values(const Column& column, std::size_t begin, std::size_t count, double* out) {
  bool finite = true;
  visit_number(column.type, [&](const auto& load) {
    const std::byte* from = column.first + begin * column.stride;
    for (std::size_t i = 0; i < count; ++i, from += column.stride) {
      out[i] = static_cast<double>(load(from));
      finite &= std::isfinite(out[i]);
    }
  });
  return finite;
}

// The number of entry i as the file has it.
std::string text_of(const Column& column, std::size_t i) {
  std::array<char, 32> text{};
  char* end = text.data();
  visit_number(column.type, [&](const auto& load) {
    end = std::to_chars(text.data(), text.data() + text.size(), load(column.first + i * column.stride)).ptr;
  });
  return {text.data(), end};
}

// Of what is not below limit_of(type).
std::string coordinate_fault(NumberType type) {
  if (type.kind == NumberKind::signed_integer) return "negative; coordinates in arrays start at 0";
  if (type.kind == NumberKind::unsigned_integer) return "too large; the largest coordinate is 2^64-2";
  const std::string most = type.bytes == sizeof(float) ? "2^24" : "2^53";
  return "no whole number from 0 to " + most + ", up to which its type has them all; correct it, or give integers";
}

class CooReader final : public CoordinateReader {
 public:
  CooReader(std::vector<std::unique_ptr<CooSource>> sources, std::uint64_t memory_bytes, Executor& executor)
      : sources_(std::move(sources)), executor_(executor) {
    order_ = order_of(*sources_.front());
    has_values_ = sources_.front()->parts().back().modes == 0;
    std::uint64_t max_entry_bytes = 1;
    for (const auto& source : sources_) {
      check_order(*source);
      source_bytes_ += source->memory_bytes();
      max_entry_bytes = std::max(max_entry_bytes, bytes_of_entry(*source));
    }
    const std::uint64_t left = memory_bytes > source_bytes_ ? memory_bytes - source_bytes_ : 0;
    batch_entries_ = std::clamp(left / max_entry_bytes, min_batch_entries, max_batch_entries);
    batch_bytes_ = batch_entries_ * max_entry_bytes;
  }

  bool next(CoordinateBatch& batch) override {
    while (source_ < sources_.size() && taken_ == source().entry_count()) {
      source().finish();
      finished_bytes_ += source().file_bytes();
      taken_ = 0;
      ++source_;
    }
    if (source_ == sources_.size()) {
      raw_ = {};
      return false;
    }
    const auto count = static_cast<std::size_t>(std::min(batch_entries_, source().entry_count() - taken_));
    read_columns(count);
    fill(batch, count);
    batch_begin_ = taken_;
    taken_ += count;
    return true;
  }

  std::string name() const override {
    std::string joined;
    for (const auto& source : sources_) joined += (joined.empty() ? "" : ", ") + source->path().string();
    return joined;
  }

  std::uint64_t bytes_read() const override {
    if (source_ == sources_.size() || taken_ == 0) return finished_bytes_;
    const CooSource& current = *sources_[source_];
    const double share = static_cast<double>(taken_) / static_cast<double>(current.entry_count());
    return finished_bytes_ + static_cast<std::uint64_t>(share * static_cast<double>(current.file_bytes()));
  }

  InputSize size() const override {
    InputSize size;
    for (const auto& source : sources_) {
      size.entries += source->entry_count();
      size.bytes += source->file_bytes();
    }
    return size;
  }

  std::vector<std::uint64_t> declared_shape() const override {
    std::vector<std::uint64_t> shape(order_);
    for (const auto& source : sources_) {
      if (source->shape().empty()) return {};
      for (std::size_t n = 0; n < order_; ++n) shape[n] = std::max(shape[n], source->shape()[n]);
    }
    return shape;
  }

  std::string format() const override { return sources_.front()->format(); }
  std::string place_of(std::size_t entry) const override {
    return "entry " + std::to_string(batch_begin_ + entry) + " of " + sources_[source_]->path().string();
  }
  bool counts_from_zero() const override { return true; }
  bool has_values() const override { return has_values_; }
  std::uint64_t memory_bytes() const override { return source_bytes_ + batch_bytes_; }

 private:
  CooSource& source() { return *sources_[source_]; }

  void check_order(const CooSource& source) const {
    const std::size_t order = order_of(source);
    if (order == order_) return;
    throw Error(ErrorKind::invalid_argument, source.path().string() + " has " + std::to_string(order) + " modes, but " +
                                                 sources_.front()->path().string() + " has " + std::to_string(order_) +
                                                 "; the files of one tensor must have the same number of modes");
  }

  void read_columns(std::size_t count) {
    const std::vector<CooPart>& parts = source().parts();
    raw_.resize(parts.size());
    executor_.run(parts.size(), [&](std::size_t p) {
      raw_[p].resize(count * parts[p].entry_bytes());
      source().read_part(p, count, raw_[p]);
    });
    coordinates_.resize(order_);
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const CooPart& part = parts[p];
      for (std::size_t c = 0; c < part.columns(); ++c) {
        const std::size_t bytes = part.type.bytes;
        const std::size_t at = part.is_entry_major ? c * bytes : c * count * bytes;
        const Column column{raw_[p].data() + at, part.is_entry_major ? part.entry_bytes() : bytes, part.type};
        (part.modes == 0 ? values_ : coordinates_[part.first_mode + c]) = column;
      }
    }
  }

  void fill(CoordinateBatch& batch, std::size_t count) {
    batch = {};
    batch.order = static_cast<int>(order_);
    batch.values.assign(count, 1.0);
    batch.narrow.resize(count * order_);
    const bool finite = copy(batch, count, batch.narrow.data());
    bool acceptable = finite;
    for (std::size_t n = 0; n < order_; ++n) acceptable &= batch.upper[n] < limit_of(coordinates_[n].type);
    if (!acceptable) refuse(count);
    if (*std::ranges::max_element(batch.upper) < narrow_limit) return;
    free_memory(batch.narrow);
    batch.wide.resize(count * order_);
    copy(batch, count, batch.wide.data());
  }

  // True if all values are finite.
  template <class Out>
  bool copy(CoordinateBatch& batch, std::size_t count, Out* out) {
    struct Slice {
      std::vector<std::uint64_t> upper;
      bool finite = true;
    };
    std::vector<Slice> slices((count + slice_entries - 1) / slice_entries);
    executor_.run(slices.size(), [&](std::size_t s) {
      const std::size_t begin = s * slice_entries;
      const std::size_t length = std::min(slice_entries, count - begin);
      slices[s].upper.assign(order_, 0);
      for (std::size_t n = 0; n < order_; ++n) {
        copy_coordinates(coordinates_[n], begin, length, out + begin * order_ + n, order_, slices[s].upper[n]);
      }
      if (has_values_) slices[s].finite = copy_values(values_, begin, length, batch.values.data() + begin);
    });
    bool finite = true;
    batch.upper.assign(order_, 0);
    for (const Slice& slice : slices) {
      finite &= slice.finite;
      for (std::size_t n = 0; n < order_; ++n) batch.upper[n] = std::max(batch.upper[n], slice.upper[n]);
    }
    return finite;
  }

  // Finds and reports the first unacceptable entry of the batch.
  [[noreturn]] void refuse(std::size_t count) {
    const auto array_of = [&](std::size_t mode) -> const std::string& {
      return std::ranges::find_if(
                 source().parts(),
                 [&](const CooPart& part) { return mode >= part.first_mode && mode < part.first_mode + part.modes; })
          ->array;
    };
    for (std::size_t i = 0; i < count; ++i) {
      const auto fail = [&](const std::string& what) {
        throw Error(ErrorKind::invalid_argument,
                    "entry " + std::to_string(taken_ + i) + " of " + source().path().string() + ": " + what);
      };
      for (std::size_t n = 0; n < order_; ++n) {
        std::uint64_t at = 0;
        copy_coordinates(coordinates_[n], i, 1, &at, 1, at);
        if (at < limit_of(coordinates_[n].type)) continue;
        fail("the coordinate " + text_of(coordinates_[n], i) + " in mode " + std::to_string(n) + " (array '" +
             array_of(n) + "') is " + coordinate_fault(coordinates_[n].type));
      }
      double value = 0;
      if (has_values_ && !copy_values(values_, i, 1, &value)) {
        fail("the value " + std::to_string(value) + " (array '" + source().parts().back().array +
             "') is not finite; remove such entries");
      }
    }
    throw Error(ErrorKind::io, source().path().string() + ": the file changed while it was read; start again");
  }

  std::vector<std::unique_ptr<CooSource>> sources_;
  Executor& executor_;
  std::size_t order_ = 0;
  bool has_values_ = true;
  std::uint64_t batch_entries_ = 0;
  std::uint64_t batch_bytes_ = 0;
  std::uint64_t source_bytes_ = 0;
  std::size_t source_ = 0;         // being read
  std::uint64_t taken_ = 0;        // entries of it taken so far
  std::uint64_t batch_begin_ = 0;  // of the last batch, in it
  std::uint64_t finished_bytes_ = 0;
  std::vector<std::vector<std::byte>> raw_;  // the batch's bytes, per part
  std::vector<Column> coordinates_;
  Column values_;
};

}  // namespace

std::unique_ptr<CoordinateReader> make_coo_reader(std::vector<std::unique_ptr<CooSource>> sources,
                                                  std::uint64_t memory_bytes, Executor& executor) {
  if (sources.empty()) throw Error(ErrorKind::invalid_argument, "no input file; name at least one");
  return std::make_unique<CooReader>(std::move(sources), memory_bytes, executor);
}

}  // namespace blco
