// One dataset per relabelled mode, with filters that every HDF5 has.
#include "io/container/relabelling_data.hpp"

#include <algorithm>
#include <string>

#include "blco/crc32c.hpp"
#include "io/hdf5/hdf5_data.hpp"

namespace blco {
namespace {

constexpr const char* modes_group = "modes";
constexpr const char* dataset_name = "relabelling";
constexpr const char* checksum_name = "crc32c";

// Indices per HDF5 chunk, and the deflate level above which these numbers hardly shrink.
constexpr std::uint64_t chunk_rows = std::uint64_t{1} << 16;
constexpr unsigned deflate_level = 1;
// Deflate packs at most about a thousandfold, so one byte of the file yields at most this many indices.
constexpr std::uint64_t max_rows_per_byte = 1024;

std::string group_of(std::uint64_t mode) { return std::string(modes_group) + "/" + std::to_string(mode); }

std::string dataset_of(std::uint64_t mode) { return group_of(mode) + "/" + dataset_name; }

Hdf5Id open_or_create_group(const Hdf5Place& place, hid_t parent, const std::string& name) {
  if (!has_link(place, parent, name.c_str())) return create_group(place, parent, name.c_str());
  return own(H5Gopen2(parent, name.c_str(), H5P_DEFAULT), H5Gclose, place, "cannot open the group", name);
}

bool is_relabelled(const Hdf5Place& place, hid_t root, std::uint64_t mode) {
  return has_link(place, root, modes_group) && has_link(place, root, group_of(mode).c_str()) &&
         has_link(place, root, dataset_of(mode).c_str());
}

std::uint32_t checksum_of(std::span<const std::uint32_t> originals) { return crc32c(std::as_bytes(originals)); }

bool is_permutation(std::span<const std::uint32_t> originals) {
  std::vector<bool> seen(originals.size());
  for (const std::uint32_t original : originals) {
    if (original >= seen.size() || seen[original]) return false;
    seen[original] = true;
  }
  return true;
}

}  // namespace

std::uint32_t write_relabelling(const Hdf5Place& place, hid_t root, std::uint64_t mode,
                                std::span<const std::uint32_t> originals) {
  static_cast<void>(open_or_create_group(place, root, modes_group));
  const Hdf5Id group = open_or_create_group(place, root, group_of(mode));
  const hsize_t length = originals.size();
  const hsize_t chunk = std::min<hsize_t>(length, chunk_rows);
  const Hdf5Id creation = make_properties(place, H5P_DATASET_CREATE);
  checked(H5Pset_chunk(creation.get(), 1, &chunk), place, "cannot set the chunk size of", dataset_name);
  checked(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER), place, "cannot set the fill time of", dataset_name);
  checked(H5Pset_obj_track_times(creation.get(), false), place, "cannot turn object times off");
  checked(H5Pset_shuffle(creation.get()), place, "cannot set the filters of", dataset_name);
  checked(H5Pset_deflate(creation.get(), deflate_level), place, "cannot set the filters of", dataset_name);
  const Hdf5Id space = own(H5Screate_simple(1, &length, nullptr), H5Sclose, place, "cannot make a space");
  const Hdf5Id dataset = own(H5Dcreate2(group.get(), dataset_name, number_type<std::uint32_t>(), space.get(),
                                        H5P_DEFAULT, creation.get(), H5P_DEFAULT),
                             H5Dclose, place, "cannot create the dataset", dataset_name);
  checked(H5Dwrite(dataset.get(), number_type<std::uint32_t>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, originals.data()), place,
          "cannot write the dataset", dataset_name);
  const std::uint32_t checksum = checksum_of(originals);
  write_attribute(place, dataset.get(), checksum_name, checksum);
  return checksum;
}

std::vector<RelabelledMode> find_relabelled(const Hdf5Place& place, hid_t root, std::span<const std::uint64_t> shape,
                                            std::uint64_t file_bytes) {
  std::vector<RelabelledMode> found;
  for (std::uint64_t mode = 0; mode < shape.size(); ++mode) {
    if (!is_relabelled(place, root, mode)) continue;
    const std::string name = dataset_of(mode);
    const Hdf5Id dataset = open_dataset(place, root, name.c_str());
    const Hdf5Id type = own(H5Dget_type(dataset.get()), H5Tclose, place, "cannot read the type of", name);
    const bool is_whole = H5Tget_class(type.get()) == H5T_INTEGER;
    if (!is_whole || dataset_extents(place, dataset.get(), name.c_str()) != Extents{shape[mode]} ||
        shape[mode] > max_relabelled_rows || shape[mode] / max_rows_per_byte > file_bytes) {
      fail_at(place, "the dataset " + name + " does not have one entry per index of mode " + std::to_string(mode));
    }
    const std::uint64_t checksum = read_integer(place, dataset.get(), checksum_name);
    found.push_back({mode, static_cast<std::uint32_t>(checksum)});
  }
  return found;
}

std::vector<std::uint32_t> read_relabelling(const std::filesystem::path& path, const RelabelledMode& relabelled,
                                            std::uint64_t length) {
  const QuietHdf5 quiet;
  const Hdf5Id file = open_hdf5_file({path, ErrorKind::io});
  const Hdf5Place place = {path, ErrorKind::corrupt};
  const std::string name = dataset_of(relabelled.mode);
  const Hdf5Id dataset = open_dataset(place, file.get(), name.c_str());
  if (dataset_extents(place, dataset.get(), name.c_str()) != Extents{length}) {
    fail_at(place, "the dataset " + name + " was rewritten after the file was opened");
  }
  std::vector<std::uint32_t> originals(static_cast<std::size_t>(length));
  checked(H5Dread(dataset.get(), number_type<std::uint32_t>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, originals.data()), place,
          "cannot read the dataset", name);
  if (checksum_of(originals) != relabelled.crc32c) {
    fail_at(place, "the checksum of the dataset " + name + " does not match");
  }
  if (!is_permutation(originals)) {
    fail_at(place,
            "the dataset " + name + " is not a permutation of the indices of mode " + std::to_string(relabelled.mode));
  }
  return originals;
}

}  // namespace blco
