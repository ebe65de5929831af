// Reads of datasets, whose failure may be that HDF5 lacks the filter behind which they lie.
#pragma once

#include <string>

#include "io/hdf5/hdf5_handle.hpp"

namespace blco {

// Reads into `out`, of `type`, what the two selections say. Throws Error{invalid_argument} naming a filter that HDF5
// does not find, and Error{place.on_failure} for any other failure.
void read_from_dataset(const Hdf5Place& place, hid_t dataset, hid_t type, hid_t memory, hid_t file, void* out,
                       const std::string& name);
// The whole dataset.
inline void read_from_dataset(const Hdf5Place& place, hid_t dataset, hid_t type, void* out, const std::string& name) {
  read_from_dataset(place, dataset, type, H5S_ALL, H5S_ALL, out, name);
}

}  // namespace blco
