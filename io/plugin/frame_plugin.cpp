// The frame filter as a plugin that HDF5 finds through HDF5_PLUGIN_PATH.
#include <H5PLextern.h>

#include "io/hdf5/frame_filter.hpp"
#include "io/plugin/host_hdf5.hpp"

H5PL_type_t H5PLget_plugin_type() { return H5PL_TYPE_FILTER; }

const void* H5PLget_plugin_info() {
  blco::find_host_hdf5(__builtin_return_address(0));
  return &blco::frame_filter_class();
}
