// The HDF5 functions that the filters call, found in the host's library.
#include "io/plugin/host_hdf5.hpp"

#include <dlfcn.h>
#include <hdf5.h>

#include <cstdlib>

namespace blco {
namespace {

struct HostHdf5 {
  decltype(&H5allocate_memory) allocate_memory = nullptr;
  decltype(&H5free_memory) free_memory = nullptr;
  decltype(&H5Tget_class) get_class = nullptr;
  decltype(&H5Tget_size) get_size = nullptr;
  decltype(&H5Tget_order) get_order = nullptr;
  decltype(&H5Pget_chunk) get_chunk = nullptr;
  decltype(&H5Pget_filter_by_id2) get_filter_by_id = nullptr;
  decltype(&H5Pmodify_filter) modify_filter = nullptr;
};

HostHdf5 host;

template <class Function>
void look_up(Function& function, void* library, const char* name) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
}

}  // namespace

void find_host_hdf5(const void* caller) noexcept {
  Dl_info place{};
  if (::dladdr(caller, &place) == 0 || place.dli_fname == nullptr) return;
  // A program with HDF5 linked in statically has no such library, but may still export the functions.
  void* library = ::dlopen(place.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) library = ::dlopen(nullptr, RTLD_LAZY);
  if (library == nullptr) return;
  look_up(host.allocate_memory, library, "H5allocate_memory");
  look_up(host.free_memory, library, "H5free_memory");
  look_up(host.get_class, library, "H5Tget_class");
  look_up(host.get_size, library, "H5Tget_size");
  look_up(host.get_order, library, "H5Tget_order");
  look_up(host.get_chunk, library, "H5Pget_chunk");
  look_up(host.get_filter_by_id, library, "H5Pget_filter_by_id2");
  look_up(host.modify_filter, library, "H5Pmodify_filter");
  ::dlclose(library);
}

}  // namespace blco

// If the host exports no such function, memory comes from malloc, as HDF5's own does, and properties fail.
using blco::host;

void* H5allocate_memory(size_t bytes, hbool_t clear) {
  if (host.allocate_memory != nullptr && host.free_memory != nullptr) return host.allocate_memory(bytes, clear);
  return clear ? std::calloc(1, bytes) : std::malloc(bytes);
}

herr_t H5free_memory(void* memory) {
  if (host.allocate_memory != nullptr && host.free_memory != nullptr) return host.free_memory(memory);
  std::free(memory);
  return 0;
}

H5T_class_t H5Tget_class(hid_t type) { return host.get_class != nullptr ? host.get_class(type) : H5T_NO_CLASS; }

size_t H5Tget_size(hid_t type) { return host.get_size != nullptr ? host.get_size(type) : 0; }

H5T_order_t H5Tget_order(hid_t type) { return host.get_order != nullptr ? host.get_order(type) : H5T_ORDER_ERROR; }

int H5Pget_chunk(hid_t list, int rank, hsize_t dimensions[]) {
  return host.get_chunk != nullptr ? host.get_chunk(list, rank, dimensions) : -1;
}

herr_t H5Pget_filter_by_id2(hid_t list, H5Z_filter_t id, unsigned* flags, size_t* count, unsigned values[],
                            size_t name_bytes, char name[], unsigned* config) {
  return host.get_filter_by_id != nullptr
             ? host.get_filter_by_id(list, id, flags, count, values, name_bytes, name, config)
             : -1;
}

herr_t H5Pmodify_filter(hid_t list, H5Z_filter_t id, unsigned flags, size_t count, const unsigned values[]) {
  return host.modify_filter != nullptr ? host.modify_filter(list, id, flags, count, values) : -1;
}
