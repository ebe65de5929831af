// The HDF5 filters of a container: the frame filter, which packs columns into payloads, and zstd.
#pragma once

#include <hdf5.h>

namespace blco {

inline constexpr H5Z_filter_t frame_filter_id = 32768;  // until one is registered with The HDF Group
inline constexpr H5Z_filter_t zstd_filter_id = 32015;   // registered

// Client data of the frame filter: version of the format, kind of column, entries per chunk.
inline constexpr unsigned frame_filter_version = 1;
inline constexpr unsigned line_column_kind = 0;   // u64: index and key
inline constexpr unsigned value_column_kind = 1;  // f64
inline constexpr int default_zstd_level = 3;

// Turns a chunk of 8-byte numbers into one payload and back. Back, a payload of fewer entries than the
// chunk is followed by zeros. Fails (returns 0) on a bad checksum; throws nothing. At the creation of a dataset it fits
// its client data to chunk size and type, so that h5repack and h5py can use it with none.
const H5Z_class2_t& frame_filter_class();

// Client data: the level. Only chunks of up to 4 GiB, which is HDF5's own limit.
const H5Z_class2_t& zstd_filter_class();

// Makes both known to HDF5 in this process; a zstd filter that is there already is left alone. Returns false
// where HDF5 refuses. Cheap when repeated, which is needed after a host program's H5close.
bool register_filters();

}  // namespace blco
