// Finds the HDF5 library that has loaded a plugin; a process may have several (h5py's wheels bring their own).
#pragma once

namespace blco {

// The filters look up HDF5's functions in the library whose code contains `caller`. Call it before any filter.
void find_host_hdf5(const void* caller) noexcept;

}  // namespace blco
