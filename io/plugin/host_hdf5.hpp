// The HDF5 library that has loaded a plugin, of which a process may have several (h5py's wheels bring their own).
#pragma once

namespace blco {

// `caller` lies in the code of that library: what the filters call of HDF5 is looked up there. To be called before any
// filter.
void find_host_hdf5(const void* caller) noexcept;

}  // namespace blco
