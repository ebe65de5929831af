// The HDF5 filters of a container: the frame filter, which packs columns into payloads, and zstd.
#pragma once

#include <hdf5.h>

namespace blco {

inline constexpr H5Z_filter_t frame_filter_id = 32768;  // until one is registered with The HDF Group
inline constexpr H5Z_filter_t zstd_filter_id = 32015;   // registered

// Client data of the frame filter: format version, kind of column, entries per chunk.
inline constexpr unsigned frame_filter_version = 1;
inline constexpr unsigned line_column_kind = 0;   // u64: index and key
inline constexpr unsigned value_column_kind = 1;  // f64
inline constexpr int default_zstd_level = 3;

// Packs a chunk of 8-byte numbers into one payload, and unpacks it; a payload with fewer entries than the chunk is
// followed by zeros. Returns 0 on a failure such as a bad checksum; throws nothing. When a dataset is created, it fits
// the client data to chunk size and type, so that h5repack and h5py need not pass any.
const H5Z_class2_t& frame_filter_class();

// Client data: the level. Chunks of up to 4 GiB only, which is HDF5's own limit.
const H5Z_class2_t& zstd_filter_class();

// Registers both with HDF5 in this process, but keeps a zstd filter that is already there. Returns false if HDF5
// refuses. Cheap to repeat; must be repeated after a host program's H5close.
bool register_filters();

}  // namespace blco
