// The frame filter and the zstd filter, both ways, as HDF5 calls them.
#include "io/frame_filter.hpp"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "blco/chunk.hpp"
#include "blco/error.hpp"
#include "blco/payload.hpp"

namespace blco {
namespace {

constexpr std::size_t entry_bytes = 8;

struct FreeHdf5Memory {
  void operator()(void* memory) const { H5free_memory(memory); }
};
// Buffers that change hands with HDF5 come from its own allocator.
using Hdf5Memory = std::unique_ptr<std::byte, FreeHdf5Memory>;

Hdf5Memory allocate(std::size_t bytes) {
  Hdf5Memory memory(static_cast<std::byte*>(H5allocate_memory(bytes, false)));
  if (!memory) throw std::bad_alloc();
  return memory;
}

// Hands `memory` to HDF5 in place of what it gave.
std::size_t exchange(Hdf5Memory memory, std::size_t bytes, std::size_t* buffer_bytes, void** buffer) {
  H5free_memory(*buffer);
  *buffer = memory.release();
  *buffer_bytes = bytes;
  return bytes;
}

struct FrameClientData {
  unsigned kind = 0;
  std::uint64_t chunk_nnz = 0;
};

FrameClientData read_client_data(std::size_t count, const unsigned* values) {
  if (count < 3 || values[0] != frame_filter_version || values[1] > value_column_kind || values[2] == 0 ||
      values[2] > max_chunk_nnz) {
    throw Error(ErrorKind::corrupt, "the frame filter's client data are not known to this build");
  }
  return {values[1], values[2]};
}

std::vector<std::byte> encode_column(const FrameClientData& data, std::span<const std::byte> raw) {
  const std::size_t count = raw.size() / entry_bytes;
  if (data.kind == line_column_kind) {
    std::vector<std::uint64_t> lines(count);
    std::memcpy(lines.data(), raw.data(), raw.size());
    return encode_line_column(lines);
  }
  std::vector<double> values(count);
  std::memcpy(values.data(), raw.data(), raw.size());
  std::vector<std::byte> payload = encode_stored_values(values);
  if (view_payload(payload).codec != Codec::f64) return payload;
  std::vector<std::byte> shuffled(payload.size());
  shuffle_f64(payload, shuffled);
  return shuffled;
}

template <class T, class DecodeFrame>
void decode_frames(const PayloadView& view, std::byte* out, DecodeFrame decode_frame) {
  std::array<T, frame_entries> frame;
  for (std::uint64_t first = 0; first < view.count; first += frame_entries) {
    decode_frame(view, first / frame_entries, frame.data());
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(frame_entries, view.count - first));
    std::memcpy(out + entry_bytes * first, frame.data(), entry_bytes * count);
  }
}

void decode_column(const FrameClientData& data, std::span<const std::byte> payload, std::span<std::byte> out) {
  PayloadView view = check_payload(payload, 0);
  if (view.count > data.chunk_nnz) throw Error(ErrorKind::corrupt, "the payload holds more entries than the chunk");
  if ((view.codec == Codec::line) != (data.kind == line_column_kind)) {
    throw Error(ErrorKind::corrupt, "the payload's codec is not one of this column");
  }
  std::vector<std::byte> unshuffled;
  if (view.codec == Codec::f64_shuffled) {
    unshuffled.resize(payload.size());
    unshuffle_f64(payload, unshuffled);
    view = view_payload(unshuffled);
  }
  if (data.kind == line_column_kind) {
    decode_frames<std::uint64_t>(view, out.data(), decode_line_frame);
  } else {
    decode_frames<double>(view, out.data(), decode_value_frame);
  }
  const std::size_t written = entry_bytes * view.count;
  std::memset(out.data() + written, 0, out.size() - written);
}

std::size_t filter_frames(unsigned flags, std::size_t client_count, const unsigned* client_data, std::size_t bytes,
                          std::size_t* buffer_bytes, void** buffer) noexcept {
  try {
    const FrameClientData data = read_client_data(client_count, client_data);
    const std::size_t raw_bytes = entry_bytes * static_cast<std::size_t>(data.chunk_nnz);
    const std::span<const std::byte> input(static_cast<const std::byte*>(*buffer), bytes);
    if ((flags & H5Z_FLAG_REVERSE) == 0) {
      if (bytes != raw_bytes) return 0;
      const std::vector<std::byte> payload = encode_column(data, input);
      Hdf5Memory out = allocate(payload.size());
      std::memcpy(out.get(), payload.data(), payload.size());
      return exchange(std::move(out), payload.size(), buffer_bytes, buffer);
    }
    Hdf5Memory out = allocate(raw_bytes);
    decode_column(data, input, {out.get(), raw_bytes});
    return exchange(std::move(out), raw_bytes, buffer_bytes, buffer);
  } catch (const std::exception&) {
    return 0;
  }
}

// One dimension of 8-byte numbers, at most max_chunk_nnz of them per chunk.
htri_t can_apply_frames(hid_t creation, hid_t type, hid_t) noexcept {
  hsize_t chunk = 0;
  const H5T_class_t type_class = H5Tget_class(type);
  return H5Pget_chunk(creation, 1, &chunk) == 1 && chunk >= 1 && chunk <= max_chunk_nnz &&
         (type_class == H5T_INTEGER || type_class == H5T_FLOAT) && H5Tget_size(type) == entry_bytes &&
         H5Tget_order(type) == H5T_ORDER_LE;
}

herr_t set_local_frames(hid_t creation, hid_t type, hid_t) noexcept {
  hsize_t chunk = 0;
  unsigned flags = 0;
  std::size_t count = 0;
  if (H5Pget_chunk(creation, 1, &chunk) != 1 ||
      H5Pget_filter_by_id2(creation, frame_filter_id, &flags, &count, nullptr, 0, nullptr, nullptr) < 0) {
    return -1;
  }
  const unsigned kind = H5Tget_class(type) == H5T_FLOAT ? value_column_kind : line_column_kind;
  const std::array<unsigned, 3> data = {frame_filter_version, kind, static_cast<unsigned>(chunk)};
  return H5Pmodify_filter(creation, frame_filter_id, flags, data.size(), data.data());
}

std::size_t compress(int level, std::span<const std::byte> input, std::size_t* buffer_bytes, void** buffer) {
  const std::size_t bound = ZSTD_compressBound(input.size());
  Hdf5Memory out = allocate(bound);
  const std::size_t written = ZSTD_compress(out.get(), bound, input.data(), input.size(), level);
  return ZSTD_isError(written) ? 0 : exchange(std::move(out), written, buffer_bytes, buffer);
}

std::size_t decompress(std::span<const std::byte> input, std::size_t* buffer_bytes, void** buffer) {
  const unsigned long long size = ZSTD_getFrameContentSize(input.data(), input.size());
  // The two error codes of zstd are the largest numbers.
  if (size == 0 || size > max_payload_bytes(max_chunk_nnz)) return 0;
  Hdf5Memory out = allocate(static_cast<std::size_t>(size));
  const std::size_t written = ZSTD_decompress(out.get(), static_cast<std::size_t>(size), input.data(), input.size());
  return written == size ? exchange(std::move(out), written, buffer_bytes, buffer) : 0;
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

const H5Z_class2_t& frame_filter_class() {
  static const H5Z_class2_t filter = {H5Z_CLASS_T_VERS, frame_filter_id, 1, 1, "BLCO frames", can_apply_frames,
                                      set_local_frames, filter_frames};
  return filter;
}

const H5Z_class2_t& zstd_filter_class() {
  static const H5Z_class2_t filter = {H5Z_CLASS_T_VERS, zstd_filter_id, 1, 1, "zstd", nullptr, nullptr, filter_zstd};
  return filter;
}

bool register_filters() {
  if (H5Zregister(&frame_filter_class()) < 0) return false;
  return H5Zfilter_avail(zstd_filter_id) > 0 || H5Zregister(&zstd_filter_class()) >= 0;
}

}  // namespace blco
