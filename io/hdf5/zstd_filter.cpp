// The zstd filter, compressing and decompressing, as HDF5 calls it.
#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <span>
#include <utility>

#include "io/hdf5/filter_memory.hpp"
#include "io/hdf5/frame_filter.hpp"

namespace blco {
namespace {

std::size_t compress(int level, std::span<const std::byte> input, std::size_t* buffer_bytes, void** buffer) {
  const std::size_t bound = ZSTD_compressBound(input.size());
  Hdf5Memory out = allocate_hdf5(bound);
  const std::size_t written = ZSTD_compress(out.get(), bound, input.data(), input.size(), level);
  return ZSTD_isError(written) ? 0 : hand_over(std::move(out), written, buffer_bytes, buffer);
}

std::size_t decompress(std::span<const std::byte> input, std::size_t* buffer_bytes, void** buffer) {
  const unsigned long long size = ZSTD_getFrameContentSize(input.data(), input.size());
  // HDF5 has no larger chunks; zstd's codes for an error and for an unknown size are the largest numbers.
  if (size == 0 || size > std::numeric_limits<std::uint32_t>::max()) return 0;
  Hdf5Memory out = allocate_hdf5(static_cast<std::size_t>(size));
  const std::size_t written = ZSTD_decompress(out.get(), static_cast<std::size_t>(size), input.data(), input.size());
  return written == size ? hand_over(std::move(out), written, buffer_bytes, buffer) : 0;
}

std::size_t filter_zstd(unsigned flags, std::size_t client_count, const unsigned* client_data, std::size_t bytes,
                        std::size_t* buffer_bytes, void** buffer) noexcept {
  try {
    const std::span<const std::byte> input(static_cast<const std::byte*>(*buffer), bytes);
    if ((flags & H5Z_FLAG_REVERSE) != 0) return decompress(input, buffer_bytes, buffer);
    const int level = client_count > 0 ? static_cast<int>(client_data[0]) : default_zstd_level;
    return compress(std::clamp(level, ZSTD_minCLevel(), ZSTD_maxCLevel()), input, buffer_bytes, buffer);
  } catch (const std::exception&) {
    return 0;
  }
}

}  // namespace

const H5Z_class2_t& zstd_filter_class() {
  static const H5Z_class2_t filter = {H5Z_CLASS_T_VERS, zstd_filter_id, 1, 1, "zstd", nullptr, nullptr, filter_zstd};
  return filter;
}

}  // namespace blco
