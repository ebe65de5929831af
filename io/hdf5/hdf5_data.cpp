// Checked reading and exact writing of attributes and small tables.
#include "io/hdf5/hdf5_data.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <type_traits>

#include "blco/refuse.hpp"
#include "io/hdf5/dataset_read.hpp"
#include "io/hdf5/frame_filter.hpp"
#include "io/hdf5/hdf5_trailer.hpp"

namespace blco {
namespace {

// The most that deflate, the filter of most h5py users, can shrink data.
constexpr std::uint64_t max_compression = 1032;

Hdf5Id make_space(const Hdf5Place& place, const Extents& extents) {
  if (extents.empty()) return own(H5Screate(H5S_SCALAR), H5Sclose, place, "cannot make a scalar space");
  const std::vector<hsize_t> sizes(extents.begin(), extents.end());
  return own(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr), H5Sclose, place,
             "cannot make a space");
}

Hdf5Id text_type(const Hdf5Place& place, std::size_t size) {
  Hdf5Id type = own(H5Tcopy(H5T_C_S1), H5Tclose, place, "cannot make a text type");
  checked(H5Tset_size(type.get(), size), place, "cannot make a text type");
  checked(H5Tset_cset(type.get(), H5T_CSET_UTF8), place, "cannot make a text type");
  checked(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), place, "cannot make a text type");
  return type;
}

std::string describe(const Extents& extents) {
  std::string text = "[";
  for (std::size_t i = 0; i < extents.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(extents[i]);
  return text + "]";
}

Extents space_extents(const Hdf5Place& place, hid_t space, const char* name) {
  const int rank = checked(H5Sget_simple_extent_ndims(space), place, "cannot read the extents of", name);
  std::vector<hsize_t> sizes(static_cast<std::size_t>(rank));
  checked(H5Sget_simple_extent_dims(space, sizes.data(), nullptr), place, "cannot read the extents of", name);
  if (H5Sget_simple_extent_type(space) == H5S_NULL) fail_at(place, std::string(name) + " has no data");
  return {sizes.begin(), sizes.end()};
}

struct Attribute {
  Hdf5Id id;
  Hdf5Id type;
  Hdf5Id space;
  Extents extents;
};

Attribute open_attribute(const Hdf5Place& place, hid_t object, const char* name) {
  if (!has_attribute(place, object, name)) fail_at(place, "the attribute " + std::string(name) + " is missing");
  Attribute attribute;
  attribute.id = own(H5Aopen(object, name, H5P_DEFAULT), H5Aclose, place, "cannot open the attribute", name);
  attribute.type = own(H5Aget_type(attribute.id.get()), H5Tclose, place, "cannot read the type of", name);
  attribute.space = own(H5Aget_space(attribute.id.get()), H5Sclose, place, "cannot read the extents of", name);
  attribute.extents = space_extents(place, attribute.space.get(), name);
  return attribute;
}

bool is_number(hid_t type, bool real) {
  const H5T_class_t type_class = H5Tget_class(type);
  return type_class == H5T_INTEGER || (real && type_class == H5T_FLOAT);
}

void require_scalar(const Hdf5Place& place, const Attribute& attribute, const char* name) {
  if (!attribute.extents.empty() && attribute.extents != Extents{1}) {
    fail_at(place, "the attribute " + std::string(name) + " has extents " + describe(attribute.extents) +
                       " and not one entry");
  }
}

template <class T>
T read_scalar(const Hdf5Place& place, hid_t object, const char* name) {
  const Attribute attribute = open_attribute(place, object, name);
  if (!is_number(attribute.type.get(), std::is_same_v<T, double>)) {
    fail_at(place, "the attribute " + std::string(name) + " is not a number of the right kind");
  }
  require_scalar(place, attribute, name);
  T value{};
  checked(H5Aread(attribute.id.get(), number_type<T>(), &value), place, "cannot read the attribute", name);
  return value;
}

std::uint64_t list_length(const Hdf5Place& place, const Attribute& attribute, const char* name,
                          std::uint64_t max_count) {
  if (attribute.extents.size() != 1 || attribute.extents[0] == 0 || attribute.extents[0] > max_count) {
    fail_at(place, "the attribute " + std::string(name) + " has extents " + describe(attribute.extents) +
                       " and not 1 to " + std::to_string(max_count) + " entries");
  }
  return attribute.extents[0];
}

// Texts of variable length, allocated and freed by HDF5.
struct TextPointers {
  TextPointers(const Attribute& read_attribute, std::uint64_t count)
      : attribute(read_attribute), pointers(static_cast<std::size_t>(count), nullptr) {}
  ~TextPointers() { H5Dvlen_reclaim(attribute.type.get(), attribute.space.get(), H5P_DEFAULT, pointers.data()); }
  TextPointers(const TextPointers&) = delete;
  TextPointers& operator=(const TextPointers&) = delete;

  const Attribute& attribute;
  std::vector<char*> pointers;
};

std::string trimmed(const char* bytes, std::size_t size, H5T_str_t padding) {
  std::string text(bytes, strnlen(bytes, size));
  if (padding == H5T_STR_SPACEPAD) text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::vector<std::string> read_all_texts(const Hdf5Place& place, const Attribute& attribute, const char* name,
                                        std::uint64_t count, std::uint64_t max_bytes) {
  const auto too_long = [&] {
    fail_at(place,
            "a text of the attribute " + std::string(name) + " is longer than " + std::to_string(max_bytes) + " bytes");
  };
  const hid_t type = attribute.type.get();
  if (H5Tget_class(type) != H5T_STRING) fail_at(place, "the attribute " + std::string(name) + " is not text");
  std::vector<std::string> texts;
  if (checked(H5Tis_variable_str(type), place, "cannot read the type of", name) > 0) {
    std::uint64_t file_bytes = 0;
    const FileDescriptor file = open_readable(place.path, file_bytes);
    check_global_heaps(file.get(), place.path, file_bytes);
    TextPointers read(attribute, count);
    checked(H5Aread(attribute.id.get(), type, read.pointers.data()), place, "cannot read the attribute", name);
    for (const char* text : read.pointers) {
      texts.emplace_back(text == nullptr ? "" : text);
      if (texts.back().size() > max_bytes) too_long();
    }
    return texts;
  }
  const std::size_t size = H5Tget_size(type);
  if (size == 0 || size > max_bytes) too_long();
  std::vector<char> bytes(size * static_cast<std::size_t>(count));
  checked(H5Aread(attribute.id.get(), type, bytes.data()), place, "cannot read the attribute", name);
  for (std::size_t i = 0; i < count; ++i) texts.push_back(trimmed(&bytes[i * size], size, H5Tget_strpad(type)));
  return texts;
}

// Number of entries, after checking that the file can hold them.
std::uint64_t checked_count(const Hdf5Place& place, hid_t dataset, const char* name, const Extents& extents,
                            std::uint64_t file_bytes) {
  const Hdf5Id creation = own(H5Dget_create_plist(dataset), H5Pclose, place, "cannot read the layout of", name);
  const std::uint64_t stored = std::min<std::uint64_t>(H5Dget_storage_size(dataset), file_bytes);
  const std::uint64_t limit = H5Pget_layout(creation.get()) == H5D_CHUNKED ? max_compression * stored : stored;
  std::uint64_t count = 1;
  for (const std::uint64_t extent : extents) {
    if (extent == 0 || count > limit / extent) {
      fail_at(place, "the dataset " + std::string(name) + " is empty, or larger than the file can hold");
    }
    count *= extent;
  }
  return count;
}

void write_padded(const Hdf5Place& place, hid_t object, const char* name, const Extents& extents,
                  std::span<const std::string> values) {
  std::size_t size = 1;
  for (const std::string& value : values) {
    if (value.find('\0') != std::string::npos) {
      refuse(place.path.string() + ": the text for the attribute " + name + " has a zero byte in it");
    }
    size = std::max(size, value.size());
  }
  std::string bytes;
  for (const std::string& value : values) bytes += value + std::string(size - value.size(), '\0');
  write_attribute_bytes(place, object, name, text_type(place, size).get(), extents, bytes.data());
}

}  // namespace

void write_attribute_bytes(const Hdf5Place& place, hid_t object, const char* name, hid_t type, const Extents& extents,
                           const void* data) {
  const Hdf5Id space = make_space(place, extents);
  const Hdf5Id attribute = own(H5Acreate2(object, name, type, space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose, place,
                               "cannot create the attribute", name);
  checked(H5Awrite(attribute.get(), type, data), place, "cannot write the attribute", name);
}

void write_text(const Hdf5Place& place, hid_t object, const char* name, const std::string& value) {
  write_padded(place, object, name, {}, std::span(&value, 1));
}

void write_texts(const Hdf5Place& place, hid_t object, const char* name, const std::vector<std::string>& values) {
  write_padded(place, object, name, {values.size()}, values);
}

std::uint64_t padded_text_bytes(const std::vector<std::string>& values) {
  std::size_t longest = 0;
  for (const std::string& value : values) longest = std::max(longest, value.size());
  return values.size() * longest;
}

Hdf5Id create_dataset(const Hdf5Place& place, hid_t parent, const char* name, hid_t type, const Extents& extents) {
  const Hdf5Id space = make_space(place, extents);
  const Hdf5Id creation = make_properties(place, H5P_DATASET_CREATE);
  checked(H5Pset_obj_track_times(creation.get(), false), place, "cannot turn object times off");
  checked(H5Pset_layout(creation.get(), H5D_CONTIGUOUS), place, "cannot set the layout of", name);
  return own(H5Dcreate2(parent, name, type, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT), H5Dclose, place,
             "cannot create the dataset", name);
}

void write_dataset_bytes(const Hdf5Place& place, hid_t parent, const char* name, hid_t type, const Extents& extents,
                         const void* data) {
  const Hdf5Id dataset = create_dataset(place, parent, name, type, extents);
  checked(H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), place, "cannot write the dataset", name);
}

bool has_attribute(const Hdf5Place& place, hid_t object, const char* name) {
  return checked(H5Aexists(object, name), place, "cannot look for the attribute", name) > 0;
}

bool has_link(const Hdf5Place& place, hid_t parent, const char* name) {
  return checked(H5Lexists(parent, name, H5P_DEFAULT), place, "cannot look for", name) > 0;
}

std::uint64_t read_integer(const Hdf5Place& place, hid_t object, const char* name) {
  return read_scalar<std::uint64_t>(place, object, name);
}

double read_real(const Hdf5Place& place, hid_t object, const char* name) {
  return read_scalar<double>(place, object, name);
}

std::vector<std::uint64_t> read_integers(const Hdf5Place& place, hid_t object, const char* name,
                                         std::uint64_t max_count) {
  const Attribute attribute = open_attribute(place, object, name);
  if (!is_number(attribute.type.get(), false)) {
    fail_at(place, "the attribute " + std::string(name) + " is not a list of integers");
  }
  std::vector<std::uint64_t> values(static_cast<std::size_t>(list_length(place, attribute, name, max_count)));
  checked(H5Aread(attribute.id.get(), number_type<std::uint64_t>(), values.data()), place, "cannot read the attribute",
          name);
  return values;
}

std::string read_text(const Hdf5Place& place, hid_t object, const char* name, std::uint64_t max_bytes) {
  const Attribute attribute = open_attribute(place, object, name);
  require_scalar(place, attribute, name);
  return read_all_texts(place, attribute, name, 1, max_bytes).front();
}

std::vector<std::string> read_texts(const Hdf5Place& place, hid_t object, const char* name, std::uint64_t max_count,
                                    std::uint64_t max_bytes) {
  const Attribute attribute = open_attribute(place, object, name);
  return read_all_texts(place, attribute, name, list_length(place, attribute, name, max_count), max_bytes);
}

bool has_format(const std::filesystem::path& path, const std::string& format) noexcept {
  try {
    const QuietHdf5 quiet;
    const Hdf5Id file = open_hdf5_file({path, ErrorKind::io});
    const Hdf5Place place = {path, ErrorKind::corrupt};
    return has_attribute(place, file.get(), "format") &&
           read_text(place, file.get(), "format", max_format_bytes) == format;
  } catch (const std::exception&) {
    return false;
  }
}

Hdf5Id open_dataset(const Hdf5Place& place, hid_t parent, const char* name) {
  if (!has_link(place, parent, name)) fail_at(place, "the dataset " + std::string(name) + " is missing");
  return own(H5Dopen2(parent, name, H5P_DEFAULT), H5Dclose, place, "cannot open the dataset", name);
}

Extents dataset_extents(const Hdf5Place& place, hid_t dataset, const char* name) {
  const Hdf5Id space = own(H5Dget_space(dataset), H5Sclose, place, "cannot read the extents of", name);
  return space_extents(place, space.get(), name);
}

Extents extents_of_dataset(const Hdf5Place& place, hid_t parent, const char* name) {
  const Hdf5Id dataset = open_dataset(place, parent, name);
  return dataset_extents(place, dataset.get(), name);
}

Selection::Selection(const Hdf5Place& place, hid_t dataset, const Extents& first, const Extents& extents,
                     const std::string& name)
    : file(own(H5Dget_space(dataset), H5Sclose, place, "cannot read the extents of", name)),
      memory(make_space(place, extents)) {
  const std::vector<hsize_t> start(first.begin(), first.end());
  const std::vector<hsize_t> count(extents.begin(), extents.end());
  checked(H5Sselect_hyperslab(file.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr), place,
          "cannot select a part of", name);
}

Hdf5Id open_checked_dataset(const Hdf5Place& place, hid_t parent, const char* name, bool reals, const Extents& extents,
                            std::uint64_t file_bytes) {
  Hdf5Id dataset = open_dataset(place, parent, name);
  const Hdf5Id type = own(H5Dget_type(dataset.get()), H5Tclose, place, "cannot read the type of", name);
  if (!is_number(type.get(), reals)) {
    fail_at(place, "the dataset " + std::string(name) + " does not hold numbers of the right kind");
  }
  const Extents found = dataset_extents(place, dataset.get(), name);
  if (found != extents) {
    fail_at(place,
            "the dataset " + std::string(name) + " has extents " + describe(found) + " and not " + describe(extents));
  }
  checked_count(place, dataset.get(), name, extents, file_bytes);
  return dataset;
}

template <class T>
std::vector<T> read_dataset(const Hdf5Place& place, hid_t parent, const char* name, const Extents& extents,
                            std::uint64_t file_bytes) {
  const Hdf5Id dataset = open_checked_dataset(place, parent, name, std::is_same_v<T, double>, extents, file_bytes);
  std::uint64_t count = 1;
  for (const std::uint64_t extent : extents) count *= extent;
  std::vector<T> values(static_cast<std::size_t>(count));
  read_from_dataset(place, dataset.get(), number_type<T>(), values.data(), name);
  return values;
}

template std::vector<std::uint32_t> read_dataset(const Hdf5Place&, hid_t, const char*, const Extents&, std::uint64_t);
template std::vector<std::uint64_t> read_dataset(const Hdf5Place&, hid_t, const char*, const Extents&, std::uint64_t);
template std::vector<double> read_dataset(const Hdf5Place&, hid_t, const char*, const Extents&, std::uint64_t);

bool register_filters() {
  if (H5Zregister(&frame_filter_class()) < 0) return false;
  return H5Zfilter_avail(zstd_filter_id) > 0 || H5Zregister(&zstd_filter_class()) >= 0;
}

}  // namespace blco
