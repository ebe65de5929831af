// Registers a container's filters with the HDF5 of this process.
#include "io/hdf5/frame_filter.hpp"

namespace blco {

bool register_filters() {
  if (H5Zregister(&frame_filter_class()) < 0) return false;
  return H5Zfilter_avail(zstd_filter_id) > 0 || H5Zregister(&zstd_filter_class()) >= 0;
}

}  // namespace blco
