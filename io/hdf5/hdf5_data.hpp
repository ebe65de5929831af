// Attributes and small tables of HDF5 files, written with exact types and read with every extent checked first.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/hdf5/hdf5_handle.hpp"

namespace blco {

// The types that lie in our files, little-endian.
template <class T>
hid_t file_type();
template <class T>
hid_t memory_type();

template <>
inline hid_t file_type<std::uint8_t>() {
  return H5T_STD_U8LE;
}
template <>
inline hid_t file_type<std::uint32_t>() {
  return H5T_STD_U32LE;
}
template <>
inline hid_t file_type<std::uint64_t>() {
  return H5T_STD_U64LE;
}
template <>
inline hid_t file_type<double>() {
  return H5T_IEEE_F64LE;
}
template <>
inline hid_t memory_type<std::uint8_t>() {
  return H5T_NATIVE_UINT8;
}
template <>
inline hid_t memory_type<std::uint32_t>() {
  return H5T_NATIVE_UINT32;
}
template <>
inline hid_t memory_type<std::uint64_t>() {
  return H5T_NATIVE_UINT64;
}
template <>
inline hid_t memory_type<double>() {
  return H5T_NATIVE_DOUBLE;
}

using Extents = std::vector<std::uint64_t>;

// `extents` empty: a scalar.
void write_attribute_bytes(const Hdf5Place& place, hid_t object, const char* name, hid_t file_type, hid_t memory_type,
                           const Extents& extents, const void* data);
// Contiguous.
Hdf5Id create_dataset(const Hdf5Place& place, hid_t parent, const char* name, hid_t file_type, const Extents& extents);
void write_dataset_bytes(const Hdf5Place& place, hid_t parent, const char* name, hid_t file_type, hid_t memory_type,
                         const Extents& extents, const void* data);

template <class T>
void write_attribute(const Hdf5Place& place, hid_t object, const char* name, T value) {
  write_attribute_bytes(place, object, name, file_type<T>(), memory_type<T>(), {}, &value);
}
template <class T>
void write_attribute(const Hdf5Place& place, hid_t object, const char* name, const std::vector<T>& values) {
  write_attribute_bytes(place, object, name, file_type<T>(), memory_type<T>(), {values.size()}, values.data());
}
// UTF-8 of variable length, which h5py gives as str. It lies in HDF5's global heap, which has no checksum but that of
// the trailer. Throws Error{invalid_argument} for a text with a zero byte in it, as do the next.
void write_text(const Hdf5Place& place, hid_t object, const char* name, const std::string& value);
void write_texts(const Hdf5Place& place, hid_t object, const char* name, const std::vector<std::string>& values);
// UTF-8 of one length, that of the longest, padded with zeros; it lies with the object, under its checksum.
void write_fixed_text(const Hdf5Place& place, hid_t object, const char* name, const std::string& value);
void write_fixed_texts(const Hdf5Place& place, hid_t object, const char* name, const std::vector<std::string>& values);

// Contiguous, row-major; the size of `data` is the product of `extents`.
template <class T>
void write_dataset(const Hdf5Place& place, hid_t parent, const char* name, const Extents& extents,
                   std::span<const T> data) {
  write_dataset_bytes(place, parent, name, file_type<T>(), memory_type<T>(), extents, data.data());
}

bool has_attribute(const Hdf5Place& place, hid_t object, const char* name);
bool has_link(const Hdf5Place& place, hid_t parent, const char* name);

// Reads accept every width of integers or floating point, which HDF5 converts, and, where a real is
// wanted, integers. A scalar may be an array of one. All throw Error{place.on_failure} for what is absent or
// of another class or extent.
std::uint64_t read_integer(const Hdf5Place& place, hid_t object, const char* name);
double read_real(const Hdf5Place& place, hid_t object, const char* name);
std::vector<std::uint64_t> read_integers(const Hdf5Place& place, hid_t object, const char* name,
                                         std::uint64_t max_count);
// Texts of fixed or variable length, at most `max_bytes` each.
std::string read_text(const Hdf5Place& place, hid_t object, const char* name, std::uint64_t max_bytes);
std::vector<std::string> read_texts(const Hdf5Place& place, hid_t object, const char* name, std::uint64_t max_count,
                                    std::uint64_t max_bytes);

Hdf5Id open_dataset(const Hdf5Place& place, hid_t parent, const char* name);
Extents dataset_extents(const Hdf5Place& place, hid_t dataset, const char* name);

// Opens a dataset and checks its class (reals, or integers), its extents, and that the file can hold that much
// (`file_bytes`).
Hdf5Id open_checked_dataset(const Hdf5Place& place, hid_t parent, const char* name, bool reals, const Extents& extents,
                            std::uint64_t file_bytes);
// The same, and reads it; nothing is allocated before.
template <class T>
std::vector<T> read_dataset(const Hdf5Place& place, hid_t parent, const char* name, const Extents& extents,
                            std::uint64_t file_bytes);

}  // namespace blco
