// Reads datasets of coordinates and values by hyperslabs.
#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "blco/error.hpp"
#include "blco/refuse.hpp"
#include "io/arrays/coo_layout.hpp"
#include "io/arrays/coo_reader.hpp"
#include "io/hdf5/dataset_read.hpp"
#include "io/hdf5/hdf5_data.hpp"
#include "io/hdf5/hdf5_handle.hpp"

namespace blco {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t min_cache_bytes = std::uint64_t{1} << 20;
constexpr std::uint64_t max_cache_bytes = std::uint64_t{256} << 20;
// The most that deflate can shrink data.
constexpr std::uint64_t max_compression = 1032;

// The type in memory for numbers of a file, in this machine's byte order; not open if there is none. h5py's boolean
// enumeration is read as it is.
Hdf5Id memory_type_of(const Hdf5Place& place, hid_t type, NumberType& number) {
  const H5T_class_t kind = H5Tget_class(type);
  const std::size_t bytes = H5Tget_size(type);
  const bool is_boolean = kind == H5T_ENUM && bytes == 1;
  if (!is_boolean && ((kind != H5T_INTEGER && kind != H5T_FLOAT) || bytes > sizeof(double))) return {};
  Hdf5Id memory = own(is_boolean ? H5Tcopy(type) : H5Tget_native_type(type, H5T_DIR_ASCEND), H5Tclose, place,
                      "cannot read the type of numbers");
  number.kind = is_boolean                                  ? NumberKind::boolean
                : kind == H5T_FLOAT                         ? NumberKind::real
                : H5Tget_sign(memory.get()) == H5T_SGN_NONE ? NumberKind::unsigned_integer
                                                            : NumberKind::signed_integer;
  number.bytes = static_cast<std::uint8_t>(H5Tget_size(memory.get()));
  return memory;
}

// A dataset, or an attribute that takes the place of one.
struct Dataset {
  Hdf5Id id;
  Hdf5Id type;
  Hdf5Id memory_type;
  NumberType number;
  Extents extents;
};

class Hdf5Group final : public NamedArrays {
 public:
  Hdf5Group(const fs::path& path, const std::string& group)
      : place_{path, ErrorKind::corrupt},
        group_name_(group),
        file_(open_hdf5_file({path, ErrorKind::io}, &file_bytes_)) {
    if (!has_object(group, H5O_TYPE_GROUP)) {
      refuse(path.string() + ": there is no group " + group + "; name one that h5ls lists");
    }
    group_ = own(H5Gopen2(file_.get(), group.c_str(), H5P_DEFAULT), H5Gclose, place_, "cannot open the group", group);
    refuse_own_files();
  }

  std::string place() const override {
    return place_.path.string() + (group_name_ == "/" ? "" : ", group " + group_name_);
  }
  bool has(const std::string& name) const override {
    return has_object(name, H5O_TYPE_DATASET) || has_shape_attribute(name);
  }

  Description describe(const std::string& name) override {
    const Dataset dataset = open(name);
    return {dataset.extents, dataset.number};
  }

  std::vector<std::byte> read_small(const std::string& name) override {
    const Dataset dataset = open(name);
    std::uint64_t count = 1;
    for (const std::uint64_t extent : dataset.extents) {
      if (extent > max_small_numbers) fail_at({place_.path, ErrorKind::invalid_argument}, name + " is too large");
      count *= std::max<std::uint64_t>(extent, 1);
    }
    if (count > max_small_numbers) fail_at({place_.path, ErrorKind::invalid_argument}, name + " is too large");
    std::vector<std::byte> bytes(static_cast<std::size_t>(count) * dataset.number.bytes);
    if (has_object(name, H5O_TYPE_DATASET)) {
      read_from_dataset(place_, dataset.id.get(), dataset.memory_type.get(), bytes.data(), name);
    } else {
      checked(H5Aread(dataset.id.get(), dataset.memory_type.get(), bytes.data()), place_, "cannot read", name);
    }
    return bytes;
  }

  // Opens with a chunk cache of `cache_bytes`; 0: HDF5's default.
  Dataset open(const std::string& name, std::uint64_t cache_bytes = 0) const {
    Dataset dataset;
    if (has_object(name, H5O_TYPE_DATASET)) {
      const Hdf5Id access = make_properties(place_, H5P_DATASET_ACCESS);
      if (cache_bytes > 0) {
        checked(H5Pset_chunk_cache(access.get(), H5D_CHUNK_CACHE_NSLOTS_DEFAULT, cache_bytes, 1.0), place_,
                "cannot set a chunk cache");
      }
      dataset.id =
          own(H5Dopen2(group_.get(), name.c_str(), access.get()), H5Dclose, place_, "cannot open the dataset", name);
      dataset.type = own(H5Dget_type(dataset.id.get()), H5Tclose, place_, "cannot read the type of", name);
      dataset.extents = dataset_extents(place_, dataset.id.get(), name.c_str());
    } else {
      dataset.id = own(H5Aopen(group_.get(), name.c_str(), H5P_DEFAULT), H5Aclose, place_, "cannot open", name);
      dataset.type = own(H5Aget_type(dataset.id.get()), H5Tclose, place_, "cannot read the type of", name);
      const Hdf5Id space = own(H5Aget_space(dataset.id.get()), H5Sclose, place_, "cannot read the extents of", name);
      std::array<hsize_t, H5S_MAX_RANK> sizes{};
      const int rank = checked(H5Sget_simple_extent_dims(space.get(), sizes.data(), nullptr), place_,
                               "cannot read the extents of", name);
      dataset.extents.assign(sizes.begin(), sizes.begin() + rank);
    }
    dataset.memory_type = memory_type_of(place_, dataset.type.get(), dataset.number);
    if (!dataset.memory_type.is_open()) {
      refuse(place() + ": the dataset '" + name +
             "' has a type that is not supported; convert it to integers or reals "
             "of at most 64 bits, or to booleans");
    }
    return dataset;
  }

  const Hdf5Place& hdf5_place() const { return place_; }
  std::uint64_t file_bytes() const { return file_bytes_; }

 private:
  // HDF5 fails if part of the path is missing; this returns false without an error.
  bool has_object(const std::string& name, H5O_type_t type) const {
    const hid_t parent = group_.is_open() ? group_.get() : file_.get();
    for (std::size_t end = name.find('/', 1);; end = name.find('/', end + 1)) {
      const std::string part = name.substr(0, end);
      if (part != "/" && !part.empty() && H5Lexists(parent, part.c_str(), H5P_DEFAULT) <= 0) return false;
      if (end == std::string::npos) break;
    }
    H5O_info_t info;
    return H5Oget_info_by_name2(parent, name.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT) >= 0 && info.type == type;
  }

  bool has_shape_attribute(const std::string& name) const {
    return name == "shape" && H5Aexists(group_.get(), "shape") > 0;
  }

  // Recognises our own files by their objects, not by the text of an attribute: HDF5 1.10 may crash on reading it from
  // a damaged file.
  void refuse_own_files() const {
    const bool is_container = has("index") && has("value") && has_object("chunks", H5O_TYPE_GROUP);
    const bool is_model = has("weights") && has_object("factors", H5O_TYPE_GROUP);
    if (!is_container && !is_model) return;
    throw Error(
        ErrorKind::invalid_argument,
        place() + (is_container ? ": it is a BLCO container already; use it as it is, or convert it to text with "
                                  "blco-export"
                                : ": it is a model, not a tensor; give a coordinate list"));
  }

  const QuietHdf5 quiet_;
  Hdf5Place place_;
  std::string group_name_;
  std::uint64_t file_bytes_ = 0;
  Hdf5Id file_;
  Hdf5Id group_;
};

// The next part of one dataset to read.
struct Cursor {
  Dataset dataset;
  std::size_t entry_axis = 0;  // of a matrix: the axis along which entries lie
  std::uint64_t next = 0;
};

class Hdf5CooSource final : public CooSource {
 public:
  Hdf5CooSource(const fs::path& path, const std::string& group, std::size_t order)
      : CooSource(path), group_(path, group) {
    CooLayout layout = find_coo_layout(group_, order);
    parts_ = std::move(layout.parts);
    shape_ = std::move(layout.shape);
    entry_count_ = layout.entry_count;
    for (const CooPart& part : parts_) open(part);
  }

  std::uint64_t file_bytes() const override { return group_.file_bytes(); }
  std::uint64_t memory_bytes() const override { return cache_bytes_; }
  std::string format() const override { return "an HDF5 coordinate list"; }

  void read_part(std::size_t part, std::size_t count, std::span<std::byte> out) override {
    const QuietHdf5 quiet;
    const Hdf5Place& place = group_.hdf5_place();
    Cursor& cursor = cursors_[part];
    Extents start(cursor.dataset.extents.size(), 0);
    Extents extents = cursor.dataset.extents;
    start[cursor.entry_axis] = cursor.next;
    extents[cursor.entry_axis] = count;
    const std::string& name = parts_[part].array;
    const hid_t dataset = cursor.dataset.id.get();
    const Selection entries(place, dataset, start, extents, name);
    read_from_dataset(place, dataset, cursor.dataset.memory_type.get(), entries.memory.get(), entries.file.get(),
                      out.data(), name);
    cursor.next += count;
  }

 private:
  void open(const CooPart& part) {
    const Hdf5Place& place = group_.hdf5_place();
    Cursor cursor{group_.open(part.array), 0, 0};
    const Extents& extents = cursor.dataset.extents;
    const bool is_entry_major = part.columns() == 1 ? extents[0] == entry_count_ : part.is_entry_major;
    cursor.entry_axis = extents.size() == 2 && !is_entry_major ? 1 : 0;
    if (entry_count_ > group_.file_bytes() * max_compression) {
      fail_at(place, "the dataset '" + part.array + "' is larger than the file can hold");
    }
    const Hdf5Id creation =
        own(H5Dget_create_plist(cursor.dataset.id.get()), H5Pclose, place, "cannot read the storage of", part.array);
    if (H5Pget_layout(creation.get()) == H5D_CHUNKED) {
      const std::uint64_t cache_bytes = add_cache(creation.get(), cursor, part.array);
      cursor.dataset = {};  // while it is open it keeps its cache, even if it is opened again
      cursor.dataset = group_.open(part.array, cache_bytes);
    }
    cursors_.push_back(std::move(cursor));
  }

  // A batch ends within chunks, and the next one starts there; the cache lets them be read and decompressed only once.
  std::uint64_t add_cache(hid_t creation, const Cursor& cursor, const std::string& name) {
    const Extents& extents = cursor.dataset.extents;
    std::array<hsize_t, H5S_MAX_RANK> chunk{};
    checked(H5Pget_chunk(creation, H5S_MAX_RANK, chunk.data()), group_.hdf5_place(), "cannot read the chunks of", name);
    std::uint64_t bytes = std::max<std::uint64_t>(1, H5Tget_size(cursor.dataset.type.get()));
    for (std::size_t axis = 0; axis < extents.size(); ++axis) {
      const std::uint64_t across = (extents[axis] + chunk[axis] - 1) / std::max<hsize_t>(chunk[axis], 1);
      const std::uint64_t along = chunk[axis] * (axis == cursor.entry_axis ? 1 : across);
      const bool is_too_large = bytes > max_cache_bytes / std::max<std::uint64_t>(along, 1);
      bytes = is_too_large ? max_cache_bytes + 1 : bytes * along;
    }
    cache_bytes_ += std::max(bytes, min_cache_bytes);
    if (cache_bytes_ > max_cache_bytes) {
      refuse(path_.string() + ": the chunks of its datasets are too large (one of each takes more than " +
             std::to_string(max_cache_bytes >> 20) + " MiB in all); write the datasets again in smaller chunks");
    }
    return std::max(bytes, min_cache_bytes);
  }

  Hdf5Group group_;
  std::vector<Cursor> cursors_;  // one per part
  std::uint64_t cache_bytes_ = 0;
};

}  // namespace

bool has_hdf5_superblock(const fs::path& path) {
  constexpr std::string_view signature = "\x89HDF\r\n\x1a\n";
  std::ifstream file(path, std::ios::binary);
  std::array<char, signature.size()> found{};
  for (std::streamoff at = 0; file.seekg(at) && file.read(found.data(), found.size()); at = at == 0 ? 512 : 2 * at) {
    if (std::string_view(found.data(), found.size()) == signature) return true;
  }
  return false;
}

std::pair<fs::path, std::string> split_hdf5_group(const fs::path& input) {
  const std::string name = input.string();
  const std::size_t colon = name.rfind(":/");
  std::error_code ignored;
  if (colon == std::string::npos || colon == 0 || fs::exists(input, ignored)) return {input, "/"};
  return {name.substr(0, colon), name.substr(colon + 1)};
}

std::unique_ptr<CooSource> open_hdf5_coo(const fs::path& input, std::size_t order) {
  const auto [path, group] = split_hdf5_group(input);
  return std::make_unique<Hdf5CooSource>(path, group, order);
}

}  // namespace blco
