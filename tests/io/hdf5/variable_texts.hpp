// Texts as h5py and earlier builds write them: of variable length.
#pragma once

#include <string>
#include <vector>

#include "io/hdf5/hdf5_data.hpp"

namespace blco::tests {

inline void write_variable_texts(const Hdf5Place& place, hid_t object, const char* name, const Extents& extents,
                                 const std::vector<const char*>& texts) {
  const Hdf5Id type = own(H5Tcopy(H5T_C_S1), H5Tclose, place, "make a type");
  checked(H5Tset_size(type.get(), H5T_VARIABLE), place, "make a type");
  checked(H5Tset_cset(type.get(), H5T_CSET_UTF8), place, "make a type");
  write_attribute_bytes(place, object, name, type.get(), extents, texts.data());
}

}  // namespace blco::tests
