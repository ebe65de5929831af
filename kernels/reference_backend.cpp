// The serial reference backend: every step as it is defined, in f64.
#include "kernels/reference_backend.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "blco/error.hpp"
#include "blco/payload.hpp"
#include "kernels/factor_set.hpp"

namespace blco {
namespace {

class VectorBuffer final : public HostBuffer {
 public:
  explicit VectorBuffer(std::uint64_t bytes) : storage_(bytes + alignment) {}

  std::span<std::byte> bytes() override {
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
    const std::size_t skip = (alignment - address % alignment) % alignment;
    return std::span(storage_).subspan(skip, storage_.size() - alignment);
  }

 private:
  static constexpr std::size_t alignment = 64;
  std::vector<std::byte> storage_;
};

struct Entry {
  std::array<std::uint64_t, max_order> coordinates{};
  double value = 0;
};

class ReferenceBackend final : public Backend {
 public:
  explicit ReferenceBackend(const BackendConfig& config);

  std::string name() const override { return "reference"; }
  std::unique_ptr<HostBuffer> allocate_host(std::uint64_t bytes) override {
    return std::make_unique<VectorBuffer>(bytes);
  }

  void load_factor(int mode, std::uint64_t first_row, std::span<const double> rows) override;
  void store_factor(int mode, std::uint64_t first_row, std::span<double> rows) const override;
  std::vector<double> take_factor(int mode) override;

  void begin_pass(int mode) override;
  void submit(int lane, const ChunkView& chunk) override;
  void wait_lane(int) override {}
  ResidentId keep(int lane, const ChunkView& chunk, ResidentForm form) override;
  void submit_resident(ResidentId chunk) override;
  void finish_pass() override {}
  void read_output(std::span<double> rows) const override;

  RowUpdate update_rows(int mode, const RowSolver& solver) override;
  void restore_factor(int mode) override { factors_.restore(mode); }
  std::span<const double> gram(int mode) override { return grams_[index(mode)]; }

 private:
  struct Resident {
    ChunkView packed;
    std::vector<Entry> decoded;
    bool is_decoded = false;
  };

  static std::size_t index(int mode) { return static_cast<std::size_t>(mode); }
  std::size_t row_start(std::uint64_t row) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(rank_);
  }

  double stored(double number) const { return rounds_factors_ ? static_cast<float>(number) : number; }

  template <class Visit>
  void for_each_entry(const ChunkView& chunk, const Visit& visit) const;
  void add(const Entry& entry);
  void refresh_gram(int mode);

  TensorLayout layout_;
  int rank_;
  bool rounds_factors_;  // to f32
  int pass_mode_ = 0;
  FactorSet<std::vector<double>> factors_;
  std::vector<std::vector<double>> grams_;
  std::vector<double> output_;
  std::vector<Resident> residents_;
};

ReferenceBackend::ReferenceBackend(const BackendConfig& config)
    : layout_(config.layout), rank_(config.rank), rounds_factors_(config.precision == Precision::mixed) {
  if (rank_ < 1) {
    throw Error(ErrorKind::invalid_argument, "rank " + std::to_string(rank_) + " is not supported; give at least 1");
  }
  for (const std::uint64_t length : layout_.shape()) {
    if (config.keep_previous) {
      factors_.add(std::vector<double>(row_start(length)), {});
    } else {
      factors_.add(std::vector<double>(row_start(length)));
    }
    grams_.emplace_back(row_start(static_cast<std::uint64_t>(rank_)));
  }
}

void ReferenceBackend::load_factor(int mode, std::uint64_t first_row, std::span<const double> rows) {
  std::vector<double>& factor = factors_[mode];
  if (row_start(first_row) + rows.size() > factor.size()) {
    throw Error(ErrorKind::invalid_argument, "more rows than mode " + std::to_string(mode) + " has");
  }
  std::ranges::transform(rows, factor.begin() + static_cast<std::ptrdiff_t>(row_start(first_row)),
                         [this](double number) { return stored(number); });
  refresh_gram(mode);
}

void ReferenceBackend::store_factor(int mode, std::uint64_t first_row, std::span<double> rows) const {
  const auto first = factors_[mode].begin() + static_cast<std::ptrdiff_t>(row_start(first_row));
  std::copy_n(first, rows.size(), rows.begin());
}

std::vector<double> ReferenceBackend::take_factor(int mode) {
  output_ = {};
  return factors_.take(mode);
}

void ReferenceBackend::begin_pass(int mode) {
  pass_mode_ = mode;
  output_.assign(row_start(layout_.mode(mode).length), 0.0);
}

template <class Visit>
void ReferenceBackend::for_each_entry(const ChunkView& chunk, const Visit& visit) const {
  const PayloadView low = view_payload(chunk[Column::index]);
  const PayloadView key = layout_.has_key() ? view_payload(chunk[Column::key]) : PayloadView{};
  const PayloadView value = chunk[Column::value].empty() ? PayloadView{} : view_payload(chunk[Column::value]);
  std::array<std::uint64_t, frame_entries> lows{};
  std::array<std::uint64_t, frame_entries> keys{};
  std::array<double, frame_entries> values{};
  values.fill(1.0);
  for (std::uint64_t first = 0; first < chunk.nnz; first += frame_entries) {
    const std::uint64_t frame = first / frame_entries;
    decode_line_frame(low, frame, lows.data());
    if (key.bytes != nullptr) decode_line_frame(key, frame, keys.data());
    if (value.bytes != nullptr) decode_value_frame(value, frame, values.data());
    for (std::size_t i = 0; i < std::min<std::uint64_t>(frame_entries, chunk.nnz - first); ++i) {
      Entry entry;
      entry.value = values[i];
      layout_.delinearize({keys[i], lows[i]}, std::span(entry.coordinates).first(layout_.shape().size()));
      for (std::size_t mode = 0; mode < layout_.shape().size(); ++mode) {
        if (entry.coordinates[mode] >= layout_.shape()[mode]) {
          throw Error(ErrorKind::corrupt, "chunk " + std::to_string(chunk.number) + ": a coordinate of mode " +
                                              std::to_string(mode) +
                                              " lies outside the tensor; the file is damaged, ingest it again");
        }
      }
      visit(entry);
    }
  }
}

void ReferenceBackend::add(const Entry& entry) {
  const std::size_t out = row_start(entry.coordinates[index(pass_mode_)]);
  for (std::size_t r = 0; r < static_cast<std::size_t>(rank_); ++r) {
    double product = entry.value;
    for (int mode = 0; mode < layout_.order(); ++mode) {
      if (mode != pass_mode_) product *= factors_[mode][row_start(entry.coordinates[index(mode)]) + r];
    }
    output_[out + r] += product;
  }
}

void ReferenceBackend::submit(int, const ChunkView& chunk) {
  for_each_entry(chunk, [this](const Entry& entry) { add(entry); });
}

ResidentId ReferenceBackend::keep(int, const ChunkView& chunk, ResidentForm form) {
  Resident resident;
  resident.is_decoded = form != ResidentForm::packed;
  if (resident.is_decoded) {
    for_each_entry(chunk, [&resident](const Entry& entry) { resident.decoded.push_back(entry); });
  } else {
    resident.packed = chunk;
  }
  residents_.push_back(std::move(resident));
  return residents_.size() - 1;
}

void ReferenceBackend::submit_resident(ResidentId chunk) {
  const Resident& resident = residents_.at(chunk);
  if (!resident.is_decoded) {
    submit(0, resident.packed);
    return;
  }
  for (const Entry& entry : resident.decoded) add(entry);
}

void ReferenceBackend::read_output(std::span<double> rows) const { std::ranges::copy(output_, rows.begin()); }

// One row of A from one row of M, in place.
void solve_row(const RowSolver& solver, std::span<double> row) {
  const std::size_t rank = row.size();
  if (!solver.is_cholesky()) {
    const std::vector<double> given(row.begin(), row.end());
    for (std::size_t j = 0; j < rank; ++j) {
      row[j] = 0;
      for (std::size_t k = 0; k < rank; ++k) row[j] += solver.matrix()[j * rank + k] * given[k];
    }
    return;
  }
  for (std::size_t j = 0; j < rank; ++j) {
    for (std::size_t k = 0; k < j; ++k) row[j] -= solver.lower()[j * rank + k] * row[k];
    row[j] *= solver.lower()[j * rank + j];
  }
  for (std::size_t j = rank; j-- > 0;) {
    for (std::size_t k = j + 1; k < rank; ++k) row[j] -= solver.matrix()[j * rank + k] * row[k];
    row[j] *= solver.matrix()[j * rank + j];
  }
}

RowUpdate ReferenceBackend::update_rows(int mode, const RowSolver& solver) {
  const auto rank = static_cast<std::size_t>(rank_);
  std::vector<double>& factor = factors_.begin_update(mode);
  factor = output_;
  RowUpdate update{std::vector<double>(rank), 0.0};
  for (std::size_t start = 0; start < factor.size(); start += rank) {
    solve_row(solver, std::span(factor).subspan(start, rank));
    for (std::size_t r = 0; r < rank; ++r) {
      update.inner += output_[start + r] * factor[start + r];
      update.norms[r] += factor[start + r] * factor[start + r];
    }
  }
  for (double& norm : update.norms) norm = std::sqrt(norm);
  for (std::size_t at = 0; at < factor.size(); ++at) {
    if (update.norms[at % rank] > 0) factor[at] = stored(factor[at] / update.norms[at % rank]);
  }
  refresh_gram(mode);
  return update;
}

void ReferenceBackend::refresh_gram(int mode) {
  const auto rank = static_cast<std::size_t>(rank_);
  const std::vector<double>& factor = factors_[mode];
  std::vector<double>& gram = grams_[index(mode)];
  std::ranges::fill(gram, 0.0);
  for (std::size_t start = 0; start < factor.size(); start += rank) {
    for (std::size_t j = 0; j < rank; ++j) {
      for (std::size_t k = 0; k < rank; ++k) gram[j * rank + k] += factor[start + j] * factor[start + k];
    }
  }
}

}  // namespace

std::unique_ptr<Backend> make_reference_backend(const BackendConfig& config) {
  return std::make_unique<ReferenceBackend>(config);
}

}  // namespace blco
