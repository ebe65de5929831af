// The frame filter, packing and unpacking, as HDF5 calls it.
#include "io/hdf5/frame_filter.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <span>
#include <vector>

#include "blco/chunk.hpp"
#include "blco/error.hpp"
#include "blco/payload.hpp"
#include "io/hdf5/filter_memory.hpp"

namespace blco {
namespace {

constexpr std::size_t entry_bytes = 8;

struct FrameClientData {
  unsigned kind = 0;
  std::uint64_t chunk_nnz = 0;
};

FrameClientData read_client_data(std::size_t count, const unsigned* values) {
  if (count < 3 || values[0] != frame_filter_version || values[1] > value_column_kind || values[2] == 0 ||
      values[2] > max_chunk_nnz) {
    throw Error(ErrorKind::corrupt, "this build does not know the client data of the frame filter");
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
  if (view.count > data.chunk_nnz) throw Error(ErrorKind::corrupt, "the payload holds more entries than the chunk can");
  if ((view.codec == Codec::line) != (data.kind == line_column_kind)) {
    throw Error(ErrorKind::corrupt, "the payload's codec does not belong to this column");
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
      Hdf5Memory out = allocate_hdf5(payload.size());
      std::memcpy(out.get(), payload.data(), payload.size());
      return hand_over(std::move(out), payload.size(), buffer_bytes, buffer);
    }
    Hdf5Memory out = allocate_hdf5(raw_bytes);
    decode_column(data, input, {out.get(), raw_bytes});
    return hand_over(std::move(out), raw_bytes, buffer_bytes, buffer);
  } catch (const std::exception&) {
    return 0;
  }
}

// Accepts one dimension of 8-byte numbers, at most max_chunk_nnz per chunk.
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

}  // namespace

const H5Z_class2_t& frame_filter_class() {
  static const H5Z_class2_t filter = {H5Z_CLASS_T_VERS, frame_filter_id, 1, 1, "BLCO frames", can_apply_frames,
                                      set_local_frames, filter_frames};
  return filter;
}

}  // namespace blco
