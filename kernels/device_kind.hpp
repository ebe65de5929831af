// A kind of device, before there is a backend: what a plan asks of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "blco/error.hpp"
#include "kernels/account.hpp"
#include "kernels/backend.hpp"

namespace blco {

// Properties of a GPU that the plan and the choice of conflict resolution depend on.
struct DeviceLimits {
  std::string name;
  int multiprocessors = 0;
  std::uint64_t l2_bytes = 0;
  std::uint64_t shared_bytes_per_block = 0;  // most that a kernel can opt in to
  std::uint64_t shared_bytes_per_multiprocessor = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t free_bytes = 0;
  int capability = 0;            // compute capability: 100 for the major number, 10 for the minor; 0: not known
  bool has_machine_code = true;  // of this build; else the driver compiles it when a kernel is first used
};

// Ranks of which a GPU's MTTKRP has a kernel of its own; others run a slower one.
inline constexpr int gpu_kernel_ranks[] = {1, 2, 8, 16, 24, 32, 48, 64};

// Memory of a backend: factors, outputs and their copies, scratch. On the CPU without what arranged chunks take, on a
// device without the chunks that stay there.
struct Footprint {
  Account host;
  Account device = {};
};

// `threads` are those of the CPU.
class DeviceKind {
 public:
  virtual ~DeviceKind() = default;

  // Null: the CPU, with no link between memory and kernels.
  virtual const DeviceLimits* gpu() const = 0;

  // Passes::slabs() of its backends.
  virtual int slabs() const { return 1; }

  virtual Footprint footprint(const BackendConfig& config, int threads) const = 0;

  // Largest config.private_bytes that the backend makes use of.
  virtual std::uint64_t useful_private_bytes(const BackendConfig& config, int threads) const = 0;

  // Memory of a chunk that stays with the kernels: decoded on the CPU, packed on a device. `payload_bytes` counts what
  // lies between the payloads too.
  virtual std::uint64_t chunk_bytes(const BackendConfig& config, std::uint64_t nnz,
                                    std::uint64_t payload_bytes) const = 0;

  // Largest config.arranged_bytes of use for decoded chunks with `nnzs` nonzeros; 0 if no other form pays.
  virtual std::uint64_t arranged_bytes(const BackendConfig& config, std::span<const std::uint64_t> nnzs,
                                       int threads) const = 0;

  // `executor` must outlive the backend. Throws Error: not_built, cuda (naming the call that failed), out_of_memory,
  // invalid_argument (a rank outside 1 to max_rank, or a mode longer than 2^32).
  virtual std::unique_ptr<Backend> make(const BackendConfig& config, Executor& executor) const = 0;
};

const DeviceKind& host_kind();

// The GPU may be a declared one; then make() must not be called.
std::unique_ptr<DeviceKind> gpu_kind(const DeviceLimits& limits);

// Factors of `rank` columns on the host, whose CPU updates their rows, and a slab of at most `columns` of these at a
// time on `device`, which must outlive this and makes the MTTKRPs. Other passes need all columns at once: it refuses
// them.
std::unique_ptr<DeviceKind> slab_kind(const DeviceKind& device, int rank, int columns);

// Host memory that cannot be pinned for a GPU; of the GPU's own memory it says nothing.
struct NoPinnedMemory : Error {
  using Error::Error;
};

// Host memory that is pinned for the GPU of that number, and so for all. Throws Error: not_built, cuda; NoPinnedMemory.
std::unique_ptr<HostBuffer> pinned_memory(std::uint64_t bytes, int gpu);

struct DeviceSearch {
  std::optional<DeviceLimits> limits = {};
  // Without limits: the reason, in one line, and what lacks the GPU: the build (not_built) or the machine (cuda).
  std::string reason = {};
  ErrorKind kind = ErrorKind::cuda;
  std::string remedy = {};  // what to do about the reason, where that is known

  std::string text() const { return remedy.empty() ? reason : reason + "; " + remedy; }
};

// Of the CUDA devices, how many the driver shows.
int gpu_count() noexcept;

// As long as it lives, a CUDA device is this thread's current one; no other gets a context. Throws Error: cuda,
// not_built.
class CurrentGpu {
 public:
  explicit CurrentGpu(int number);
  ~CurrentGpu();
  CurrentGpu(const CurrentGpu&) = delete;
  CurrentGpu& operator=(const CurrentGpu&) = delete;
};

// Looks for the current CUDA device, and for what keeps this build from running on it: driver, compute capability, a
// missing cuBLAS, a failure of the runtime. Never throws.
DeviceSearch find_device() noexcept;

}  // namespace blco
