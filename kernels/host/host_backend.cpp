#include "kernels/host/host_backend.hpp"

#include "kernels/device_kind.hpp"

namespace blco {

template class HostBackend<double, double>;
template class HostBackend<float, float>;
template class HostBackend<double, float>;

namespace {

// The threads of a dry run, which runs nothing.
class ThreadCount final : public Executor {
 public:
  explicit ThreadCount(int width) : width_(width) {}
  int width() const override { return width_; }
  void run(std::size_t, const std::function<void(std::size_t)>&) override {}

 private:
  int width_;
};

class HostKind final : public DeviceKind {
 public:
  const DeviceLimits* gpu() const override { return nullptr; }
  Footprint footprint(const BackendConfig& config, int threads) const override {
    check_backend_config(config, "CPU");
    // Objects, layout tables, and bookkeeping of resident chunks.
    constexpr std::uint64_t small_bytes = std::uint64_t{1} << 20;
    const auto order = static_cast<std::uint64_t>(config.layout.order());
    const auto rank = static_cast<std::uint64_t>(config.rank);
    Account memory;
    memory.take("the library", small_bytes);
    memory.take_by_rank("systems of R x R numbers", order * rank * rank * sizeof(double));
    ThreadCount executor(threads);
    with_precision(config.precision, [&]<class Sum, class Factor>() {
      const HostBackend<Sum, Factor> dry(config, executor, MemorySource(memory));
    });
    return {.host = memory};
  }
  std::uint64_t useful_private_bytes(const BackendConfig& config, int threads) const override {
    return with_precision(config.precision, [&]<class Sum, class Factor>() {
      return ChunkPass<Sum, Factor>::useful_private_bytes(config, threads);
    });
  }
  std::uint64_t chunk_bytes(const BackendConfig& config, std::uint64_t nnz, std::uint64_t) const override {
    return ResidentChunks::decoded_bytes(config.layout, nnz);
  }
  std::uint64_t arranged_bytes(const BackendConfig& config, std::span<const std::uint64_t> nnzs,
                               int threads) const override {
    return ResidentChunks::useful_bytes(config, nnzs, threads);
  }
  std::unique_ptr<Backend> make(const BackendConfig& config, Executor& executor) const override {
    check_backend_config(config, "CPU");
    return with_precision(config.precision, [&]<class Sum, class Factor>() -> std::unique_ptr<Backend> {
      return std::make_unique<HostBackend<Sum, Factor>>(config, executor);
    });
  }
};

}  // namespace

const DeviceKind& host_kind() {
  static const HostKind kind;
  return kind;
}

}  // namespace blco
