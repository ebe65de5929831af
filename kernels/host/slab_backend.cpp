// Factors too large for a device: they stay in host memory, and a slab of their columns at a time goes to the device.
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "kernels/backend_checks.hpp"
#include "kernels/device_kind.hpp"
#include "kernels/host/host_backend.hpp"
#include "kernels/part_ranges.hpp"

namespace blco {
namespace {

// Numbers of the rows that move between host and device at once.
constexpr std::uint64_t block_numbers = std::uint64_t{1} << 18;

BackendConfig host_config(const BackendConfig& config) {
  BackendConfig host = config;
  host.private_bytes = host.arranged_bytes = 0;
  return host;
}

// What the device has of `config`: up to `columns` of its columns at a time. Only MTTKRPs can be made so, for no
// column of theirs needs another: no loss passes or Kronecker products. Vectors are the host's.
BackendConfig slab_config(const BackendConfig& config, int columns) {
  BackendConfig device = config;
  device.rank = columns;
  device.keep_previous = false;
  device.dual_modes = 0;
  device.vectors.clear();
  return device;
}

// The CPU updates rows; `device` makes MTTKRPs, a slab per time that the chunks are submitted.
template <class Sum, class Factor>
class SlabBackend final : public HostBackend<Sum, Factor> {
  using Host = HostBackend<Sum, Factor>;

 public:
  SlabBackend(const BackendConfig& config, int columns, const DeviceKind& device, Executor& executor)
      : Host(host_config(config), executor),
        rows_(config.rows()),
        rank_(static_cast<std::uint64_t>(config.rank)),
        width_(static_cast<std::uint64_t>(columns)),
        slabs_((config.rank + columns - 1) / columns),
        executor_(&executor),
        device_(device.make(slab_config(config, columns), executor)),
        loaded_(rows_.size()) {}

  std::string name() const override { return device_->name(); }
  int slabs() const override { return slabs_; }

  void begin_pass(const PassRequest& request) override {
    require(request.is_mttkrp() && request.product == Product::hadamard,
            "slabs of columns: a pass that is no MTTKRP needs all columns on the device");
    if (request.slab == 0) {
      Host::begin_pass(request);
      Host::finish_pass();
    }
    mode_ = request.only_mode();
    is_last_ = request.slab + 1 == slabs_;
    slab_ = is_backward_ ? slabs_ - 1 - request.slab : request.slab;
    for (int mode = 0; mode < static_cast<int>(rows_.size()); ++mode) {
      if (mode != mode_) load_slab(mode);
    }
    device_->begin_pass(mode_);
  }
  void finish_pass() override {
    device_->finish_pass();
    if (mode_ < 0) return;
    add_slab(std::exchange(mode_, -1));
    if (is_last_) is_backward_ = !is_backward_;
  }

  std::unique_ptr<HostBuffer> allocate_host(std::uint64_t bytes) override { return device_->allocate_host(bytes); }
  void submit(int slot, const ChunkView& chunk) override { device_->submit(slot, chunk); }
  void wait_slot(int slot) override { device_->wait_slot(slot); }
  ResidentId keep(int slot, const ChunkView& chunk, Tier tier) override { return device_->keep(slot, chunk, tier); }
  void submit_resident(ResidentId chunk) override { device_->submit_resident(chunk); }
  double sum_of_terms() const override { return 0; }

 private:
  // What the device has of a factor.
  struct Loaded {
    std::uint64_t version = 0;
    int slab = -1;

    friend bool operator==(const Loaded&, const Loaded&) = default;
  };

  std::uint64_t first_column() const { return static_cast<std::uint64_t>(slab_) * width_; }
  std::uint64_t slab_columns() const { return std::min(width_, rank_ - first_column()); }

  // Calls move(first_row, rows) for all rows of a mode, with room for them in whole_ and narrow_.
  template <class Move>
  void for_each_block(int mode, const Move& move) {
    const std::uint64_t all = rows_[static_cast<std::size_t>(mode)];
    const std::uint64_t block_rows = std::max<std::uint64_t>(1, block_numbers / rank_);
    for (std::uint64_t row = 0; row < all; row += block_rows) {
      const std::uint64_t rows = std::min(block_rows, all - row);
      whole_.resize(static_cast<std::size_t>(rows * rank_));
      narrow_.assign(static_cast<std::size_t>(rows * width_), 0.0);
      move(row, rows);
    }
  }
  // Calls copy(whole, narrow), which point to the slab's first column, for each row of a block.
  template <class Copy>
  void for_each_row(std::uint64_t rows, const Copy& copy) {
    run_shares(*executor_, rows, [&](std::uint64_t row, std::uint64_t end) {
      for (; row < end; ++row) copy(whole_.data() + row * rank_ + first_column(), narrow_.data() + row * width_);
    });
  }

  void load_slab(int mode) {
    const Loaded wanted{this->version(mode), slab_};
    Loaded& loaded = loaded_[static_cast<std::size_t>(mode)];
    if (loaded == wanted) return;
    loaded.slab = -1;
    for_each_block(mode, [&](std::uint64_t first_row, std::uint64_t rows) {
      this->store_factor(mode, first_row, whole_);
      for_each_row(rows, [&](const double* whole, double* narrow) { std::copy_n(whole, slab_columns(), narrow); });
      device_->load_factor(mode, first_row, narrow_);
    });
    loaded = wanted;
  }
  void add_slab(int mode) {
    for_each_block(mode, [&](std::uint64_t first_row, std::uint64_t rows) {
      this->read_output(mode, first_row, whole_);
      device_->read_output(mode, first_row, narrow_);
      for_each_row(rows, [&](double* whole, const double* narrow) { std::copy_n(narrow, slab_columns(), whole); });
      this->load_output(mode, first_row, whole_);
    });
  }

  std::vector<std::uint64_t> rows_;  // per mode
  std::uint64_t rank_;
  std::uint64_t width_;
  int slabs_;
  Executor* executor_;
  std::unique_ptr<Backend> device_;  // its columns beyond rank_ are zeros
  std::vector<Loaded> loaded_;       // per mode
  std::vector<double> whole_;
  std::vector<double> narrow_;
  int mode_ = -1;  // of the pass in progress
  int slab_ = 0;
  bool is_last_ = false;
  bool is_backward_ = false;  // every other pass begins with the slab that the one before has left on the device
};

class SlabKind final : public DeviceKind {
 public:
  SlabKind(const DeviceKind& device, int rank, int columns) : device_(&device), rank_(rank), columns_(columns) {}

  const DeviceLimits* gpu() const override { return device_->gpu(); }
  int slabs() const override { return (rank_ + columns_ - 1) / columns_; }
  Footprint footprint(const BackendConfig& config, int threads) const override {
    Footprint footprint = device_->footprint(slab_config(config, columns_), threads);
    footprint.host.take(host_kind().footprint(host_config(config), threads).host);
    footprint.host.take("blocks of rows on their way", 2 * block_numbers * sizeof(double));
    return footprint;
  }
  std::uint64_t useful_private_bytes(const BackendConfig& config, int threads) const override {
    return device_->useful_private_bytes(slab_config(config, columns_), threads);
  }
  std::uint64_t chunk_bytes(const BackendConfig& config, std::uint64_t nnz,
                            std::uint64_t payload_bytes) const override {
    return device_->chunk_bytes(config, nnz, payload_bytes);
  }
  std::uint64_t arranged_bytes(const BackendConfig&, std::span<const std::uint64_t>, int) const override { return 0; }
  std::unique_ptr<Backend> make(const BackendConfig& config, Executor& executor) const override {
    check_backend_config(config, "CPU");
    return with_precision(config.precision, [&]<class Sum, class Factor>() -> std::unique_ptr<Backend> {
      return std::make_unique<SlabBackend<Sum, Factor>>(config, columns_, *device_, executor);
    });
  }

 private:
  const DeviceKind* device_;
  int rank_;
  int columns_;
};

}  // namespace

std::unique_ptr<DeviceKind> slab_kind(const DeviceKind& device, int rank, int columns) {
  return std::make_unique<SlabKind>(device, rank, columns);
}

}  // namespace blco
