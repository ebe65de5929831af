// Attributes and small tables of HDF5 files: written with exact types, read with every extent checked first.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "io/hdf5/hdf5_handle.hpp"

namespace blco {

// The type of a number in our files and in memory, which are both little-endian (hdf5_trailer.cpp asserts it).
template <class T>
hid_t number_type() {
  if constexpr (std::same_as<T, std::uint8_t>) {
    return H5T_STD_U8LE;
  } else if constexpr (std::same_as<T, std::uint32_t>) {
    return H5T_STD_U32LE;
  } else if constexpr (std::same_as<T, std::uint64_t>) {
    return H5T_STD_U64LE;
  } else {
    static_assert(std::same_as<T, double>);
    return H5T_IEEE_F64LE;
  }
}

using Extents = std::vector<std::uint64_t>;

// Empty `extents` mean a scalar.
void write_attribute_bytes(const Hdf5Place& place, hid_t object, const char* name, hid_t type, const Extents& extents,
                           const void* data);
// Datasets are contiguous.
Hdf5Id create_dataset(const Hdf5Place& place, hid_t parent, const char* name, hid_t type, const Extents& extents);
void write_dataset_bytes(const Hdf5Place& place, hid_t parent, const char* name, hid_t type, const Extents& extents,
                         const void* data);

template <class T>
void write_attribute(const Hdf5Place& place, hid_t object, const char* name, T value) {
  write_attribute_bytes(place, object, name, number_type<T>(), {}, &value);
}
template <class T>
void write_attribute(const Hdf5Place& place, hid_t object, const char* name, const std::vector<T>& values) {
  write_attribute_bytes(place, object, name, number_type<T>(), {values.size()}, values.data());
}
// UTF-8 padded with zeros to the length of the longest text: unlike one of variable length, it lies with the object,
// under its checksum. Throws Error{invalid_argument} for a text that contains a zero byte.
void write_text(const Hdf5Place& place, hid_t object, const char* name, const std::string& value);
void write_texts(const Hdf5Place& place, hid_t object, const char* name, const std::vector<std::string>& values);
// What the latter takes in the file.
std::uint64_t padded_text_bytes(const std::vector<std::string>& values);

// Contiguous, row-major. Requires: the size of `data` is the product of `extents`.
template <class T>
void write_dataset(const Hdf5Place& place, hid_t parent, const char* name, const Extents& extents,
                   std::span<const T> data) {
  write_dataset_bytes(place, parent, name, number_type<T>(), extents, data.data());
}

bool has_attribute(const Hdf5Place& place, hid_t object, const char* name);
bool has_link(const Hdf5Place& place, hid_t parent, const char* name);

// Reads accept integers or reals of any width, which HDF5 converts, and integers where a real is wanted. A scalar may
// be an array of one. All throw Error{place.on_failure} if the object is absent or has another class or extent.
std::uint64_t read_integer(const Hdf5Place& place, hid_t object, const char* name);
double read_real(const Hdf5Place& place, hid_t object, const char* name);
std::vector<std::uint64_t> read_integers(const Hdf5Place& place, hid_t object, const char* name,
                                         std::uint64_t max_count);
// Texts of fixed length, or of variable length as h5py and earlier builds write them; at most `max_bytes` each.
std::string read_text(const Hdf5Place& place, hid_t object, const char* name, std::uint64_t max_bytes);
std::vector<std::string> read_texts(const Hdf5Place& place, hid_t object, const char* name, std::uint64_t max_count,
                                    std::uint64_t max_bytes);
// Of the attribute `format`.
inline constexpr std::uint64_t max_format_bytes = 64;
// Whether the file is HDF5 with that attribute. Never throws.
bool has_format(const std::filesystem::path& path, const std::string& format) noexcept;

Hdf5Id open_dataset(const Hdf5Place& place, hid_t parent, const char* name);
Extents dataset_extents(const Hdf5Place& place, hid_t dataset, const char* name);
Extents extents_of_dataset(const Hdf5Place& place, hid_t parent, const char* name);

// A part of a dataset, from `first` on, and a space in memory for it.
struct Selection {
  Selection(const Hdf5Place& place, hid_t dataset, const Extents& first, const Extents& extents,
            const std::string& name);

  Hdf5Id file;
  Hdf5Id memory;
};

// Opens a dataset and checks its class (reals or integers), its extents, and that a file of `file_bytes` can hold that
// much.
Hdf5Id open_checked_dataset(const Hdf5Place& place, hid_t parent, const char* name, bool reals, const Extents& extents,
                            std::uint64_t file_bytes);
// Same, and reads it; allocates only after the checks.
template <class T>
std::vector<T> read_dataset(const Hdf5Place& place, hid_t parent, const char* name, const Extents& extents,
                            std::uint64_t file_bytes);

}  // namespace blco
