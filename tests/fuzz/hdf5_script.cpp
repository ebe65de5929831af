// Objects of any type, extents and storage, as a fuzzer's input chooses them.
#include "tests/fuzz/hdf5_script.hpp"

#include <array>
#include <optional>

#include "io/hdf5/hdf5_handle.hpp"

namespace blco::fuzz {
namespace {

constexpr std::size_t max_edits = 8;
constexpr std::size_t max_elements = 4096;

const Hdf5Place place{"the file of a fuzzer", ErrorKind::io};

struct Type {
  Hdf5Id id;
  bool is_text_of_any_length = false;
};

Hdf5Id copy_of(hid_t type) { return own(H5Tcopy(type), H5Tclose, place, "copy a type"); }

Hdf5Id boolean_type() {
  Hdf5Id type = own(H5Tenum_create(H5T_STD_I8LE), H5Tclose, place, "make a type");
  signed char value = 0;
  H5Tenum_insert(type.get(), "FALSE", &value);
  value = 1;
  H5Tenum_insert(type.get(), "TRUE", &value);
  return type;
}

Hdf5Id pair_type() {
  Hdf5Id type = own(H5Tcreate(H5T_COMPOUND, 16), H5Tclose, place, "make a type");
  H5Tinsert(type.get(), "r", 0, H5T_IEEE_F64LE);
  H5Tinsert(type.get(), "i", 8, H5T_IEEE_F64LE);
  return type;
}

Type choose_type(FuzzInput& input) {
  const std::array numbers = {H5T_STD_U8LE,   H5T_STD_I8LE,       H5T_STD_I32LE,  H5T_STD_U32BE,
                              H5T_STD_I64LE,  H5T_STD_U64LE,      H5T_IEEE_F32LE, H5T_IEEE_F64LE,
                              H5T_IEEE_F64BE, H5T_NATIVE_LDOUBLE, H5T_STD_U64LE,  H5T_IEEE_F64LE};
  const std::size_t choice = input.choose(numbers.size() + 4);
  if (choice < numbers.size()) return {copy_of(numbers[choice])};
  if (choice == numbers.size()) return {boolean_type()};
  if (choice == numbers.size() + 1) return {pair_type()};
  Type type{copy_of(H5T_C_S1)};
  type.is_text_of_any_length = choice == numbers.size() + 2;
  H5Tset_size(type.id.get(), type.is_text_of_any_length ? H5T_VARIABLE : 1 + input.choose(20));
  return type;
}

struct Space {
  Hdf5Id id;
  std::vector<hsize_t> extents;
  std::size_t elements = 1;  // to be written
  bool is_huge = false;      // so many that none are
};

Space choose_space(FuzzInput& input) {
  Space space;
  const std::size_t rank = input.choose(5);
  if (rank == 4) {
    space.id = own(H5Screate(H5S_NULL), H5Sclose, place, "make a space");
    space.elements = 0;
    return space;
  }
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const auto extent = input.take<std::uint8_t>();
    // Among small ones, such as no file can hold.
    space.extents.push_back(extent < 240 ? extent % 24 : hsize_t{1} << (extent - 220));
    const bool fits = space.extents.back() <= max_elements && space.elements * space.extents.back() <= max_elements;
    space.elements = fits ? space.elements * static_cast<std::size_t>(space.extents.back()) : 0;
    space.is_huge = space.is_huge || !fits;
  }
  space.id = rank == 0 ? own(H5Screate(H5S_SCALAR), H5Sclose, place, "make a space")
                       : own(H5Screate_simple(static_cast<int>(rank), space.extents.data(), nullptr), H5Sclose, place,
                             "make a space");
  return space;
}

// The elements as they lie in memory; of texts of any length, pointers to `text`.
struct Data {
  std::vector<char> bytes;
  std::string text;
  std::vector<const char*> texts;
  const void* get() const { return texts.empty() ? static_cast<const void*>(bytes.data()) : texts.data(); }
};

Data choose_data(const Type& type, const Space& space, FuzzInput& input) {
  Data data;
  if (type.is_text_of_any_length) {
    data.text = input.take_bytes(input.choose(64));
    data.texts.assign(space.elements, data.text.c_str());
    return data;
  }
  data.bytes.resize(space.elements * H5Tget_size(type.id.get()));
  const std::string_view given = input.take_bytes(data.bytes.size());
  std::ranges::copy(given, data.bytes.begin());
  return data;
}

void replace_attribute(hid_t file, const std::string& name, FuzzInput& input) {
  const bool was_there = H5Aexists(file, name.c_str()) > 0;
  if (was_there) H5Adelete(file, name.c_str());
  if (input.choose(8) == 0) return;
  const Type type = choose_type(input);
  const Space space = choose_space(input);
  if (space.is_huge) return;  // HDF5 would take that much memory
  const Hdf5Id attribute = own(H5Acreate2(file, name.c_str(), type.id.get(), space.id.get(), H5P_DEFAULT, H5P_DEFAULT),
                               H5Aclose, place, "create an attribute");
  const Data data = choose_data(type, space, input);
  if (space.elements > 0) H5Awrite(attribute.get(), type.id.get(), data.get());
}

Hdf5Id choose_storage(const Space& space, FuzzInput& input) {
  Hdf5Id creation = make_properties(place, H5P_DATASET_CREATE);
  const std::size_t choice = input.choose(4);
  if (space.extents.empty() || (choice == 0 && space.elements > 0)) return creation;
  std::vector<hsize_t> chunk;
  for (const hsize_t extent : space.extents) {
    chunk.push_back(std::clamp<hsize_t>(extent, 1, 1 + input.choose(32)));
  }
  H5Pset_chunk(creation.get(), static_cast<int>(chunk.size()), chunk.data());
  if (choice == 2) H5Pset_deflate(creation.get(), 1);
  if (choice == 3) H5Pset_fletcher32(creation.get());
  return creation;
}

void replace_dataset(hid_t file, const std::string& name, FuzzInput& input) {
  if (H5Lexists(file, name.substr(0, name.find('/')).c_str(), H5P_DEFAULT) > 0) {
    H5Ldelete(file, name.c_str(), H5P_DEFAULT);
  }
  if (input.choose(8) == 0) return;
  const Type type = choose_type(input);
  const Space space = choose_space(input);
  const Hdf5Id creation = choose_storage(space, input);
  const Hdf5Id links = make_properties(place, H5P_LINK_CREATE);
  H5Pset_create_intermediate_group(links.get(), 1);
  const Hdf5Id dataset(
      H5Dcreate2(file, name.c_str(), type.id.get(), space.id.get(), links.get(), creation.get(), H5P_DEFAULT),
      H5Dclose);
  if (!dataset.is_open()) return;
  const Data data = choose_data(type, space, input);
  if (space.elements > 0) H5Dwrite(dataset.get(), type.id.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, data.get());
}

}  // namespace

std::string without_trailer(std::string bytes) {
  std::uint64_t end = 0;
  std::memcpy(&end, bytes.data() + 28, sizeof(end));  // of a superblock of version 3
  bytes.resize(static_cast<std::size_t>(end));
  return bytes;
}

void edit_hdf5(const std::filesystem::path& path, const ScriptNames& names, FuzzInput& input) {
  const QuietHdf5 quiet;
  const std::size_t edits = input.choose(max_edits + 1);
  if (edits == 0) return;
  const Hdf5Id file = own(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose, place, "open the file");
  for (std::size_t i = 0; i < edits; ++i) {
    const std::size_t name = input.choose(names.attributes.size() + names.datasets.size());
    try {
      if (name < names.attributes.size()) {
        replace_attribute(file.get(), names.attributes[name], input);
      } else {
        replace_dataset(file.get(), names.datasets[name - names.attributes.size()], input);
      }
    } catch (const Error&) {
      // HDF5 makes no such object.
    }
  }
}

}  // namespace blco::fuzz
