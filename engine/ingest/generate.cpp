// Draws synthetic tensors: every number is a hash of the seed and its position, so batches need no state and no tables.
#include <algorithm>
#include <array>
#include <bit>
#include <blco/generate.hpp>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "blco/layout.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/common/counter_random.hpp"
#include "engine/common/ordered_text.hpp"
#include "engine/common/progress_meter.hpp"
#include "engine/common/thread_pool.hpp"
#include "engine/ingest/ingest_job.hpp"
#include "io/coordinate_reader.hpp"
#include "io/text/tns_writer.hpp"

namespace blco {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::size_t batch_entries = std::size_t{1} << 16;
constexpr std::size_t task_entries = std::size_t{1} << 12;
constexpr std::size_t task_count = batch_entries / task_entries;
constexpr std::uint64_t max_nnz = std::uint64_t{1} << 62;
constexpr int max_planted_rank = 4096;

// A planted model needs one stream of numbers per mode, as the coordinates do; these keep them apart.
constexpr std::uint64_t coordinate_stream = 0;
constexpr std::uint64_t factor_stream = 64;
constexpr std::uint64_t permutation_stream = 128;
constexpr std::uint64_t noise_stream = 192;

constexpr std::uint64_t multiply_high(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>((Wide{a} * b) >> 64);
}

// u^exponent by products and square roots alone, which every machine rounds alike, as std::pow need not. The
// fraction of the exponent is cut to 20 bits.
class Power {
 public:
  explicit Power(double exponent)
      : whole_(static_cast<unsigned>(exponent)), fraction_(exponent - std::floor(exponent)) {}

  bool is_one() const { return whole_ == 1 && fraction_ == 0; }

  double operator()(double u) const {
    double result = 1;
    double square = u;
    for (unsigned rest = whole_; rest != 0; rest >>= 1, square *= square) {
      if (rest & 1) result *= square;
    }
    double root = u;
    double rest = fraction_;
    for (int bit = 0; bit < 20 && rest != 0; ++bit) {
      root = std::sqrt(root);
      rest *= 2;
      if (rest >= 1) {
        result *= root;
        rest -= 1;
      }
    }
    return result;
  }

 private:
  unsigned whole_;
  double fraction_;
};

// x -> (a x + b) mod length, a bijection without a table: it scatters the heavy rows over the mode.
class Permutation {
 public:
  Permutation(std::uint64_t length, const RandomStream& random) : length_(length), offset_(random.bits(0) % length) {
    std::uint64_t at = 1;
    do {
      factor_ = random.bits(at++) % length;
    } while (std::gcd(factor_, length) != 1);
  }

  std::uint64_t operator()(std::uint64_t x) const {
    // Division of 128 bits takes many times as long.
    if (length_ < std::uint64_t{1} << 32) return (factor_ * x + offset_) % length_;
    return static_cast<std::uint64_t>((Wide{factor_} * x + offset_) % length_);
  }

 private:
  std::uint64_t length_;
  std::uint64_t offset_;
  std::uint64_t factor_ = 0;
};

struct Mode {
  std::uint64_t length;
  RandomStream coordinates;
  RandomStream factor;
  Permutation permutation;
};

std::vector<Mode> make_modes(const GenerateOptions& options) {
  std::vector<Mode> modes;
  for (std::uint64_t n = 0; n < options.shape.size(); ++n) {
    const RandomStream permuted(options.seed, permutation_stream + n);
    modes.push_back({options.shape[n], RandomStream(options.seed, coordinate_stream + n),
                     RandomStream(options.seed, factor_stream + n), Permutation(options.shape[n], permuted)});
  }
  return modes;
}

// Entry i of the tensor, for any i, from any thread.
class EntrySource {
 public:
  explicit EntrySource(const GenerateOptions& options)
      : modes_(make_modes(options)),
        noise_stream_(options.seed, noise_stream),
        power_(options.skew),
        rank_(static_cast<std::uint64_t>(options.planted_rank)),
        // A squared uniform has mean 1/3, so this gives the planted values mean 1.
        scale_(rank_ == 0 ? 0 : std::pow(3.0, static_cast<double>(options.shape.size())) / options.planted_rank),
        noise_(options.noise),
        counts_(options.counts) {}

  int order() const { return static_cast<int>(modes_.size()); }

  std::uint64_t coordinate(std::uint64_t entry, std::size_t n) const {
    const Mode& mode = modes_[n];
    std::uint64_t share = mode.coordinates.bits(entry);
    if (!power_.is_one()) share = to_share(power_(mode.coordinates.uniform(entry)));
    return mode.permutation(multiply_high(share, mode.length));
  }

  double value(std::uint64_t entry, const std::uint64_t* coordinates) const {
    double value = noise_ * noise_stream_.uniform(entry);
    if (rank_ != 0) {
      value += scale_ * planted(coordinates);
    } else if (noise_ == 0) {
      return 1;
    }
    if (counts_) return std::max(1.0, std::ceil(value));
    // Six decimals: short in text, and the text reads back as the same numbers. Never zero.
    return std::max(1.0, std::round(value * 1e6)) / 1e6;
  }

 private:
  // A number of [0, 1] as a fraction of 2^64.
  static std::uint64_t to_share(double u) {
    return u >= 1 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(u * 0x1p64);
  }

  double planted(const std::uint64_t* coordinates) const {
    double sum = 0;
    for (std::uint64_t r = 0; r < rank_; ++r) {
      double product = 1;
      for (std::size_t n = 0; n < modes_.size(); ++n) {
        const double root = modes_[n].factor.uniform(coordinates[n] * rank_ + r);
        product *= root * root;
      }
      sum += product;
    }
    return sum;
  }

  std::vector<Mode> modes_;
  RandomStream noise_stream_;
  Power power_;
  std::uint64_t rank_;
  double scale_;
  double noise_;
  bool counts_;
};

class GeneratedReader final : public CoordinateReader {
 public:
  GeneratedReader(const GenerateOptions& options, Executor& executor)
      : source_(options),
        executor_(executor),
        nnz_(options.nnz),
        narrow_(std::ranges::all_of(options.shape, [](std::uint64_t length) { return length <= narrow_limit; })) {}

  bool next(CoordinateBatch& batch) override {
    if (drawn_ == nnz_) return false;
    const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(batch_entries, nnz_ - drawn_));
    const std::size_t order = static_cast<std::size_t>(source_.order());
    batch.resize(count, order, narrow_);
    executor_.run((count + task_entries - 1) / task_entries, [&](std::size_t task) {
      const std::size_t first = task * task_entries;
      draw(batch, task, first, std::min(first + task_entries, count));
    });
    batch.upper.assign(order, 0);
    for (std::size_t first = 0; first < count; first += task_entries) {
      const Coordinates& upper = upper_[first / task_entries];
      for (std::size_t n = 0; n < order; ++n) batch.upper[n] = std::max(batch.upper[n], upper[n]);
    }
    if (!narrow_ && std::ranges::all_of(batch.upper, [](std::uint64_t x) { return x < narrow_limit; })) shrink(batch);
    drawn_ += count;
    return true;
  }

  std::string name() const override { return "entry " + std::to_string(drawn_); }
  std::uint64_t bytes_read() const override { return 0; }
  InputSize size() const override { return {.entries = nnz_}; }

 private:
  using Coordinates = std::array<std::uint64_t, max_order>;
  static constexpr std::uint64_t narrow_limit = std::uint64_t{1} << 32;

  void draw(CoordinateBatch& batch, std::size_t task, std::size_t first, std::size_t last) {
    const std::size_t order = static_cast<std::size_t>(source_.order());
    Coordinates at{};
    Coordinates upper{};
    for (std::size_t i = first; i < last; ++i) {
      for (std::size_t n = 0; n < order; ++n) {
        at[n] = source_.coordinate(drawn_ + i, n);
        upper[n] = std::max(upper[n], at[n]);
        batch.set(i, n, at[n]);
      }
      batch.values[i] = source_.value(drawn_ + i, at.data());
    }
    upper_[task] = upper;
  }

  static void shrink(CoordinateBatch& batch) {
    batch.narrow.resize(batch.wide.size());
    std::ranges::transform(batch.wide, batch.narrow.begin(),
                           [](std::uint64_t x) { return static_cast<std::uint32_t>(x); });
    batch.wide.clear();
  }

  EntrySource source_;
  Executor& executor_;
  std::uint64_t nnz_;
  bool narrow_;
  std::uint64_t drawn_ = 0;
  std::array<Coordinates, task_count> upper_{};
};

void check(const GenerateOptions& options) {
  if (options.shape.empty()) refuse("a generated tensor requires " + option_name("shape") + ", such as 100x200x300");
  const TensorLayout checked(options.shape);
  if (options.nnz == 0) refuse(option_name("nnz") + " must be at least 1");
  if (options.nnz > max_nnz) refuse(option_name("nnz") + " must be at most 2^62");
  if (options.planted_rank < 0 || options.planted_rank > max_planted_rank) {
    refuse(option_name("planted_rank") + " must be from 0 to " + std::to_string(max_planted_rank) + ", not " +
           std::to_string(options.planted_rank));
  }
  if (!(options.skew > 0 && options.skew <= 64)) refuse(option_name("skew") + " must be above 0 and at most 64");
  if (!(options.noise >= 0 && options.noise <= 1e6)) refuse(option_name("noise") + " must be from 0 to 1e6");
}

// Entries [first, last) as lines of text.
void format_entries(const CoordinateBatch& batch, std::size_t first, std::size_t last, bool whole, std::string& text) {
  // 20 digits and a blank per coordinate; the shortest form of a double takes at most 24 characters.
  std::array<char, max_order * 21 + 32> line{};
  char* const end = line.data() + line.size();
  for (std::size_t i = first; i < last; ++i) {
    char* at = line.data();
    for (int n = 0; n < batch.order; ++n) {
      at = std::to_chars(at, end, batch.coordinate(i, n) + 1).ptr;
      *at++ = ' ';
    }
    const double value = batch.values[i];
    at = (whole ? std::to_chars(at, end, static_cast<std::uint64_t>(value)) : std::to_chars(at, end, value)).ptr;
    *at++ = '\n';
    text.append(line.data(), at);
  }
}

}  // namespace

void generate_text(const GenerateOptions& options, const std::filesystem::path& output, int threads,
                   const ProgressCallback& progress) {
  check(options);
  ThreadPool pool(threads);
  GeneratedReader reader(options, pool);
  TnsWriter writer(output);
  const std::function<void(std::string_view)> sink = [&](std::string_view text) { writer.write(text); };
  OrderedText text(pool, sink);
  CoordinateBatch batch;
  ProgressMeter meter(progress);
  meter.begin({.name = "write", .nonzeros = options.nnz});
  std::uint64_t bytes_before = 0;
  while (reader.next(batch)) {
    text.add_round((batch.count() + task_entries - 1) / task_entries, [&](std::size_t task, std::string& lines) {
      const std::size_t first = task * task_entries;
      format_entries(batch, first, std::min(first + task_entries, batch.count()), options.counts, lines);
    });
    meter.advance(batch.count(), text.bytes() - bytes_before);
    bytes_before = text.bytes();
  }
  text.finish();
  meter.advance(0, text.bytes() - bytes_before);
  meter.end();
  writer.finish();
}

IngestReport generate_container(const GenerateOptions& options, const std::filesystem::path& output,
                                const IngestOptions& ingest, const ProgressCallback& progress) {
  check(options);
  ThreadPool pool(ingest.threads);
  GeneratedReader reader(options, pool);
  IngestOptions shaped = ingest;
  shaped.shape = options.shape;
  return run_ingest(reader, output, shaped, pool, progress);
}

}  // namespace blco
