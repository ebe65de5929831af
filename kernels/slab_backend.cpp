#include "kernels/slab_backend.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "kernels/backend_checks.hpp"
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

class SlabBackend final : public Backend {
 public:
  SlabBackend(const BackendConfig& config, int columns, const DeviceKind& device, Executor& executor)
      : layout_(config.layout),
        rank_(static_cast<std::uint64_t>(config.rank)),
        width_(static_cast<std::uint64_t>(columns)),
        slabs_((config.rank + columns - 1) / columns),
        executor_(&executor),
        host_(make_host_backend(host_config(config), executor)),
        device_(device.make(slab_config(config, columns), executor)),
        loaded_(static_cast<std::size_t>(config.layout.order())) {}

  std::string name() const override { return device_->name(); }
  int slabs() const override { return slabs_; }

  void begin_pass(const PassRequest& request) override {
    require(request.is_mttkrp() && request.product == Product::hadamard,
            "slabs of columns: a pass that is no MTTKRP needs all columns on the device");
    if (request.slab == 0) {
      host_->begin_pass(request);
      host_->finish_pass();
    }
    mode_ = request.only_mode();
    is_last_ = request.slab + 1 == slabs_;
    slab_ = is_backward_ ? slabs_ - 1 - request.slab : request.slab;
    for (int mode = 0; mode < layout_.order(); ++mode) {
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
  ResidentId keep(int slot, const ChunkView& chunk, ResidentForm form) override {
    return device_->keep(slot, chunk, form);
  }
  void submit_resident(ResidentId chunk) override { device_->submit_resident(chunk); }
  double sum_of_terms() const override { return 0; }

  void load_factor(int mode, std::uint64_t first_row, std::span<const double> rows) override {
    host_->load_factor(mode, first_row, rows);
  }
  void store_factor(int mode, std::uint64_t first_row, std::span<double> rows) const override {
    host_->store_factor(mode, first_row, rows);
  }
  void load_rows(int mode, std::span<const std::uint32_t> rows, std::span<const double> values) override {
    host_->load_rows(mode, rows, values);
  }
  void store_rows(int mode, std::span<const std::uint32_t> rows, std::span<double> values) const override {
    host_->store_rows(mode, rows, values);
  }
  std::vector<double> take_factor(int mode) override { return host_->take_factor(mode); }
  std::uint64_t version(int mode) const override { return host_->version(mode); }
  void load_dual(int mode, std::uint64_t first_row, std::span<const double> rows) override {
    host_->load_dual(mode, first_row, rows);
  }
  void store_dual(int mode, std::uint64_t first_row, std::span<double> rows) const override {
    host_->store_dual(mode, first_row, rows);
  }
  void read_output(int mode, std::uint64_t first_row, std::span<double> rows) const override {
    host_->read_output(mode, first_row, rows);
  }
  void load_output(int mode, std::uint64_t first_row, std::span<const double> rows) override {
    host_->load_output(mode, first_row, rows);
  }
  RowUpdate update_rows(int mode, const RowProblem& problem) override { return host_->update_rows(mode, problem); }
  void restore_factor(int mode) override { host_->restore_factor(mode); }
  std::span<const double> gram(int mode) override { return host_->gram(mode); }
  std::vector<double> column_sums(int mode) override { return host_->column_sums(mode); }
  void scale_columns(int mode, std::span<const double> scales, std::span<const double> shifts) override {
    host_->scale_columns(mode, scales, shifts);
  }
  void raise_to_zero(int mode) override { host_->raise_to_zero(mode); }
  AprViolation apr_measure(int mode, const AprStep& step, bool until_any) override {
    return host_->apr_measure(mode, step, until_any);
  }
  void apr_free_zeros(int mode, const AprStep& step) override { host_->apr_free_zeros(mode, step); }
  void apr_multiply(int mode, const AprStep& step) override { host_->apr_multiply(mode, step); }
  void load_vector(int vector, int mode, std::uint64_t first_row, std::span<const double> rows) override {
    host_->load_vector(vector, mode, first_row, rows);
  }
  void store_vector(int vector, int mode, std::uint64_t first_row, std::span<double> rows) const override {
    host_->store_vector(vector, mode, first_row, rows);
  }
  void copy_vector(int from, int to) override { host_->copy_vector(from, to); }
  void copy_to_vector(int mode, int vector) override { host_->copy_to_vector(mode, vector); }
  void copy_from_vector(int mode, int vector) override { host_->copy_from_vector(mode, vector); }
  void cg_begin(int mode, const CgStep& step) override { host_->cg_begin(mode, step); }
  void cg_step(int mode, const CgStep& step) override { host_->cg_step(mode, step); }
  double cg_end(int mode) override { return host_->cg_end(mode); }
  void adam_step(int mode, const AdamStep& step) override { host_->adam_step(mode, step); }

 private:
  // What the device has of a factor.
  struct Loaded {
    std::uint64_t version = 0;
    int slab = -1;

    friend bool operator==(const Loaded&, const Loaded&) = default;
  };

  std::uint64_t first_column() const { return static_cast<std::uint64_t>(slab_) * width_; }
  std::uint64_t columns() const { return std::min(width_, rank_ - first_column()); }

  // Calls move(first_row, rows) for all rows of a mode, with room for them in whole_ and narrow_.
  template <class Move>
  void for_each_block(int mode, const Move& move) {
    const std::uint64_t length = layout_.mode(mode).length;
    const std::uint64_t block_rows = std::max<std::uint64_t>(1, block_numbers / rank_);
    for (std::uint64_t row = 0; row < length; row += block_rows) {
      const std::uint64_t rows = std::min(block_rows, length - row);
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
    const Loaded wanted{host_->version(mode), slab_};
    Loaded& loaded = loaded_[static_cast<std::size_t>(mode)];
    if (loaded == wanted) return;
    loaded.slab = -1;
    for_each_block(mode, [&](std::uint64_t first_row, std::uint64_t rows) {
      host_->store_factor(mode, first_row, whole_);
      for_each_row(rows, [&](const double* whole, double* narrow) { std::copy_n(whole, columns(), narrow); });
      device_->load_factor(mode, first_row, narrow_);
    });
    loaded = wanted;
  }
  void add_slab(int mode) {
    for_each_block(mode, [&](std::uint64_t first_row, std::uint64_t rows) {
      host_->read_output(mode, first_row, whole_);
      device_->read_output(mode, first_row, narrow_);
      for_each_row(rows, [&](double* whole, const double* narrow) { std::copy_n(narrow, columns(), whole); });
      host_->load_output(mode, first_row, whole_);
    });
  }

  TensorLayout layout_;
  std::uint64_t rank_;
  std::uint64_t width_;
  int slabs_;
  Executor* executor_;
  std::unique_ptr<Backend> host_;
  std::unique_ptr<Backend> device_;  // its columns beyond rank_ are zeros
  std::vector<Loaded> loaded_;       // per mode
  std::vector<double> whole_;
  std::vector<double> narrow_;
  int mode_ = -1;  // of the pass in progress
  int slab_ = 0;
  bool is_last_ = false;
  bool is_backward_ = false;  // every other pass begins with the slab that the one before has left on the device
};

}  // namespace

BackendConfig slab_config(const BackendConfig& config, int columns) {
  BackendConfig device = config;
  device.rank = columns;
  device.keep_previous = false;
  device.dual_modes = 0;
  return device;
}

std::uint64_t slab_backend_bytes(const BackendConfig& config, int threads) {
  return host_backend_bytes(host_config(config), threads) + 2 * block_numbers * sizeof(double);
}

std::unique_ptr<Backend> make_slab_backend(const BackendConfig& config, int columns, const DeviceKind& device,
                                           Executor& executor) {
  return std::make_unique<SlabBackend>(config, columns, device, executor);
}

}  // namespace blco
