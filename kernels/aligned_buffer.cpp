// Maps and unmaps the pages of AlignedBuffer.
#include "kernels/aligned_buffer.hpp"

#include <sys/mman.h>

#include <string>

#include "blco/error.hpp"

namespace blco::detail {
namespace {

constexpr std::uint64_t huge_page_bytes = std::uint64_t{1} << 21;

}  // namespace

void* map_zeroed(std::uint64_t bytes) {
  if (bytes == 0) return nullptr;
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    throw Error(ErrorKind::out_of_memory,
                "cannot allocate " + std::to_string(bytes) +
                    " bytes: the system has no more memory, or this process may have no more (ulimit -v); "
                    "lower the memory budget");
  }
  // Rows are accessed at random and runs sorted by scattering, so TLB reach matters. Only advice, so a failure does not
  // matter.
  if (bytes >= huge_page_bytes) static_cast<void>(madvise(data, bytes, MADV_HUGEPAGE));
  return data;
}

void unmap(void* data, std::uint64_t bytes) noexcept {
  if (data != nullptr) munmap(data, bytes);
}

}  // namespace blco::detail
