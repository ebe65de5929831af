// A filter as a plugin that HDF5 finds through HDF5_PLUGIN_PATH: BLCO_PLUGIN_FILTER gives its class. The HDF5 functions
// that it calls are those of the library that has loaded it; a process may have several (h5py's wheels bring their
// own).
#include <H5PLextern.h>
#include <dlfcn.h>
#include <hdf5.h>

#include <cstdlib>

#include "io/hdf5/frame_filter.hpp"

namespace blco {
namespace {

void* host = nullptr;

// Looks for the library whose code contains `caller`. It stays loaded as long as the plugin.
void find_host_hdf5(const void* caller) noexcept {
  Dl_info place{};
  if (host != nullptr || ::dladdr(caller, &place) == 0 || place.dli_fname == nullptr) return;
  // A program with HDF5 linked in statically has no such library, but may still export the functions.
  host = ::dlopen(place.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (host == nullptr) host = ::dlopen(nullptr, RTLD_LAZY);
}

// A function of the host, or null.
template <class Function>
Function* look_up(Function*, const char* name) {
  return host == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(host, name));
}

}  // namespace
}  // namespace blco

H5PL_type_t H5PLget_plugin_type() { return H5PL_TYPE_FILTER; }

// HDF5 calls it before any filter.
const void* H5PLget_plugin_info() {
  blco::find_host_hdf5(__builtin_return_address(0));
  return &blco::BLCO_PLUGIN_FILTER();
}

#define BLCO_HOST(function) blco::look_up(&(function), #function)

// If the host exports no such function, memory comes from malloc, as HDF5's own does, and properties fail.
void* H5allocate_memory(size_t bytes, hbool_t clear) {
  const auto allocate = BLCO_HOST(H5allocate_memory);
  if (allocate != nullptr && BLCO_HOST(H5free_memory) != nullptr) return allocate(bytes, clear);
  return clear ? std::calloc(1, bytes) : std::malloc(bytes);
}

herr_t H5free_memory(void* memory) {
  const auto free = BLCO_HOST(H5free_memory);
  if (free != nullptr && BLCO_HOST(H5allocate_memory) != nullptr) return free(memory);
  std::free(memory);
  return 0;
}

H5T_class_t H5Tget_class(hid_t type) {
  const auto get = BLCO_HOST(H5Tget_class);
  return get != nullptr ? get(type) : H5T_NO_CLASS;
}

size_t H5Tget_size(hid_t type) {
  const auto get = BLCO_HOST(H5Tget_size);
  return get != nullptr ? get(type) : 0;
}

H5T_order_t H5Tget_order(hid_t type) {
  const auto get = BLCO_HOST(H5Tget_order);
  return get != nullptr ? get(type) : H5T_ORDER_ERROR;
}

int H5Pget_chunk(hid_t list, int rank, hsize_t dimensions[]) {
  const auto get = BLCO_HOST(H5Pget_chunk);
  return get != nullptr ? get(list, rank, dimensions) : -1;
}

herr_t H5Pget_filter_by_id2(hid_t list, H5Z_filter_t id, unsigned* flags, size_t* count, unsigned values[],
                            size_t name_bytes, char name[], unsigned* config) {
  const auto get = BLCO_HOST(H5Pget_filter_by_id2);
  return get != nullptr ? get(list, id, flags, count, values, name_bytes, name, config) : -1;
}

herr_t H5Pmodify_filter(hid_t list, H5Z_filter_t id, unsigned flags, size_t count, const unsigned values[]) {
  const auto modify = BLCO_HOST(H5Pmodify_filter);
  return modify != nullptr ? modify(list, id, flags, count, values) : -1;
}
