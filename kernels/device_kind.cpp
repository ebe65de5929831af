// The kinds of devices, by the functions of their backends.
#include "kernels/device_kind.hpp"

#include "kernels/cuda/cuda_backend.hpp"
#include "kernels/host/host_backend.hpp"
#include "kernels/slab_backend.hpp"

namespace blco {
namespace {

// Pinned staging of a GPU's dense transfers, and a row update's numbers on the host.
constexpr std::uint64_t staging_bytes = std::uint64_t{2} << 20;

class HostKind final : public DeviceKind {
 public:
  const DeviceLimits* gpu() const override { return nullptr; }
  Footprint footprint(const BackendConfig& config, int threads) const override {
    return {.host_bytes = host_backend_bytes(config, threads)};
  }
  std::uint64_t useful_private_bytes(const BackendConfig& config, int threads) const override {
    return host_backend_useful_private_bytes(config, threads);
  }
  std::uint64_t chunk_bytes(const BackendConfig& config, std::uint64_t nnz, std::uint64_t) const override {
    return host_decoded_bytes(config.layout, nnz);
  }
  std::uint64_t arranged_bytes(const BackendConfig& config, std::span<const std::uint64_t> nnzs,
                               int threads) const override {
    return host_arranged_bytes(config, nnzs, threads);
  }
  std::unique_ptr<Backend> make(const BackendConfig& config, Executor& executor) const override {
    return make_host_backend(config, executor);
  }
};

class GpuKind final : public DeviceKind {
 public:
  explicit GpuKind(const DeviceLimits& limits) : limits_(limits) {}

  const DeviceLimits* gpu() const override { return &limits_; }
  // On the host: staging, the Gram matrices with what a row update sends and receives, and vectors.
  Footprint footprint(const BackendConfig& config, int) const override {
    const std::uint64_t matrices = static_cast<std::uint64_t>(config.layout.order()) + 2;
    const auto rank = static_cast<std::uint64_t>(config.rank);
    std::uint64_t numbers = matrices * rank * rank;
    for (std::size_t v = config.device_vectors; v < config.vectors.size(); ++v)
      numbers += config.vectors[v].rows * rank;
    return {staging_bytes + numbers * sizeof(double), cuda_backend_bytes(config, limits_)};
  }
  std::uint64_t useful_private_bytes(const BackendConfig& config, int) const override {
    return cuda_backend_useful_private_bytes(config, limits_);
  }
  std::uint64_t chunk_bytes(const BackendConfig&, std::uint64_t, std::uint64_t payload_bytes) const override {
    return cuda_chunk_bytes(payload_bytes);
  }
  std::uint64_t arranged_bytes(const BackendConfig&, std::span<const std::uint64_t>, int) const override { return 0; }
  std::unique_ptr<Backend> make(const BackendConfig& config, Executor&) const override {
    return make_cuda_backend(config, limits_);
  }

 private:
  DeviceLimits limits_;
};

class SlabKind final : public DeviceKind {
 public:
  SlabKind(const DeviceKind& device, int rank, int columns) : device_(&device), rank_(rank), columns_(columns) {}

  const DeviceLimits* gpu() const override { return device_->gpu(); }
  int slabs() const override { return (rank_ + columns_ - 1) / columns_; }
  Footprint footprint(const BackendConfig& config, int threads) const override {
    Footprint footprint = device_->footprint(slab_config(config, columns_), threads);
    footprint.host_bytes += slab_backend_bytes(config, threads);
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
    return make_slab_backend(config, columns_, *device_, executor);
  }

 private:
  const DeviceKind* device_;
  int rank_;
  int columns_;
};

}  // namespace

const DeviceKind& host_kind() {
  static const HostKind kind;
  return kind;
}

std::unique_ptr<DeviceKind> gpu_kind(const DeviceLimits& limits) { return std::make_unique<GpuKind>(limits); }

std::unique_ptr<DeviceKind> slab_kind(const DeviceKind& device, int rank, int columns) {
  return std::make_unique<SlabKind>(device, rank, columns);
}

}  // namespace blco
