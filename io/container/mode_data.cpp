// Datasets behind filters that every HDF5 has, so that any program reads them without a plugin: labels as bytes and
// offsets, reorderings as indices.
#include "io/container/mode_data.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <string>
#include <utility>

#include "blco/crc32c.hpp"
#include "blco/error.hpp"
#include "io/container/container_table.hpp"
#include "io/hdf5/dataset_read.hpp"
#include "io/hdf5/hdf5_data.hpp"

namespace blco {
namespace {

static_assert(std::endian::native == std::endian::little, "the checksum is of little-endian numbers");

// The size of HDF5's compressed chunks of labels, and the most that HDF5 may allocate for one.
constexpr std::uint64_t chunk_bytes = std::uint64_t{1} << 20;
// Deflate packs at most about a thousandfold, so one byte of the file yields at most this many indices.
constexpr std::uint64_t max_rows_per_byte = 1024;
constexpr const char* modes_group = "modes";
constexpr const char* text_name = "labels";
constexpr const char* ends_name = "label_ends";
constexpr const char* reordering_name = "relabelling";
constexpr const char* checksum_name = "crc32c";

struct Deflation {
  std::uint64_t chunk_values;
  unsigned level;
  H5D_fill_time_t fill_time;
};
template <class T>
constexpr Deflation label_deflation = {chunk_bytes / sizeof(T), 4, H5D_FILL_TIME_IFSET};
// Above this level original indices hardly shrink.
constexpr Deflation reordering_deflation = {std::uint64_t{1} << 16, 1, H5D_FILL_TIME_NEVER};

std::uint32_t checksum(std::string_view text, std::span<const std::uint64_t> ends) {
  return crc32c(std::as_bytes(std::span(text)), crc32c(std::as_bytes(ends)));
}

template <class T>
Hdf5Id write_deflated(const Hdf5Place& place, hid_t group, const char* name, std::span<const T> values,
                      const Deflation& deflation) {
  const hsize_t count = values.size();
  const hsize_t chunk = std::min<hsize_t>(count, deflation.chunk_values);
  const Hdf5Id creation = make_properties(place, H5P_DATASET_CREATE);
  checked(H5Pset_chunk(creation.get(), 1, &chunk), place, "cannot set the chunk size of", name);
  checked(H5Pset_fill_time(creation.get(), deflation.fill_time), place, "cannot set the fill time of", name);
  checked(H5Pset_obj_track_times(creation.get(), false), place, "cannot turn object times off");
  if (sizeof(T) > 1) checked(H5Pset_shuffle(creation.get()), place, "cannot set the filters of", name);
  checked(H5Pset_deflate(creation.get(), deflation.level), place, "cannot set the filters of", name);
  const Hdf5Id space = own(H5Screate_simple(1, &count, nullptr), H5Sclose, place, "cannot make a space");
  Hdf5Id dataset = own(H5Dcreate2(group, name, number_type<T>(), space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
                       H5Dclose, place, "cannot create the dataset", name);
  checked(H5Dwrite(dataset.get(), number_type<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), place,
          "cannot write the dataset", name);
  return dataset;
}

// Returns a closed id if there is no such link.
Hdf5Id open_group(const Hdf5Place& place, hid_t parent, const std::string& name) {
  if (!has_link(place, parent, name.c_str())) return {};
  return own(H5Gopen2(parent, name.c_str(), H5P_DEFAULT), H5Gclose, place, "cannot open the group", name);
}

Hdf5Id open_or_create_group(const Hdf5Place& place, hid_t parent, const std::string& name) {
  Hdf5Id group = open_group(place, parent, name);
  return group.is_open() ? std::move(group) : create_group(place, parent, name.c_str());
}

// The group of a mode, if it has this dataset.
Hdf5Id open_mode_with(const Hdf5Place& place, hid_t root, std::size_t mode, const char* dataset) {
  const Hdf5Id modes = open_group(place, root, modes_group);
  if (!modes.is_open()) return {};
  Hdf5Id group = open_group(place, modes.get(), std::to_string(mode));
  return group.is_open() && has_link(place, group.get(), dataset) ? std::move(group) : Hdf5Id();
}

// HDF5 allocates a whole chunk, whatever the extent of the dataset.
void check_chunk(const Hdf5Place& place, hid_t dataset, const char* name, std::uint64_t element_bytes) {
  const Hdf5Id creation = own(H5Dget_create_plist(dataset), H5Pclose, place, "cannot read the layout of", name);
  if (H5Pget_layout(creation.get()) != H5D_CHUNKED) return;
  constexpr std::uint64_t max_bytes = 64 * chunk_bytes;
  hsize_t chunk = 0;
  if (H5Pget_chunk(creation.get(), 1, &chunk) != 1 || chunk > max_bytes / element_bytes) {
    fail_at(place, std::string("the dataset ") + name + " of a mode is in chunks of more than 64 MiB");
  }
}

// Length of the text of a mode's labels, after checking everything that they consist of.
std::uint64_t text_bytes(const Hdf5Place& place, hid_t group, std::uint64_t length, std::uint64_t file_bytes) {
  const Hdf5Id ends = open_checked_dataset(place, group, ends_name, /*reals=*/false, {length}, file_bytes);
  check_chunk(place, ends.get(), ends_name, sizeof(std::uint64_t));
  const Extents extents = extents_of_dataset(place, group, text_name);
  if (extents.size() != 1) fail_at(place, "the dataset labels of a mode is not a list of bytes");
  const Hdf5Id text = open_checked_dataset(place, group, text_name, /*reals=*/false, extents, file_bytes);
  check_chunk(place, text.get(), text_name, 1);
  return extents[0];
}

Labels read_mode(const Hdf5Place& place, hid_t group, std::uint64_t length, std::uint64_t file_bytes) {
  std::string text(static_cast<std::size_t>(text_bytes(place, group, length, file_bytes)), '\0');
  const Hdf5Id dataset = open_dataset(place, group, text_name);
  read_from_dataset(place, dataset.get(), H5T_NATIVE_UINT8, text.data(), text_name);
  std::vector<std::uint64_t> ends = read_dataset<std::uint64_t>(place, group, ends_name, {length}, file_bytes);
  // Labels written by other programs need no checksum.
  if (has_attribute(place, dataset.get(), checksum_name) &&
      read_integer(place, dataset.get(), checksum_name) != checksum(text, ends)) {
    fail_at(place, "the checksum of its labels does not match");
  }
  try {
    return {std::move(text), std::move(ends)};
  } catch (const Error& error) {
    fail_at(place, error.what());
  }
}

std::string reordering_of(std::uint64_t mode) {
  return std::string(modes_group) + "/" + std::to_string(mode) + "/" + reordering_name;
}

bool is_permutation(std::span<const std::uint32_t> originals) {
  std::vector<bool> seen(originals.size());
  for (const std::uint32_t original : originals) {
    if (original >= seen.size() || seen[original]) return false;
    seen[original] = true;
  }
  return true;
}

}  // namespace

void write_reading(const Hdf5Place& place, hid_t root, const InputReading& reading) {
  if (!reading.columns.empty()) write_texts(place, root, "columns", reading.columns);
  if (!reading.missing.empty()) write_text(place, root, "missing", reading.missing);
  if (reading.duplicates) write_text(place, root, "duplicates", to_string(*reading.duplicates));
}

InputReading read_reading(const Hdf5Place& place, hid_t root, std::size_t order) {
  InputReading reading;
  if (has_attribute(place, root, "columns")) {
    reading.columns = read_texts(place, root, "columns", order, max_name_bytes);
    if (reading.columns.size() != order) fail_at(place, "columns and shape differ in length");
  }
  if (has_attribute(place, root, "missing")) reading.missing = read_text(place, root, "missing", max_name_bytes);
  if (!has_attribute(place, root, "duplicates")) return reading;
  const std::string word = read_text(place, root, "duplicates", max_name_bytes);
  reading.duplicates = parse_duplicate_policy(word);
  if (!reading.duplicates) fail_at(place, "the attribute duplicates is \"" + word + "\", which is no way to coalesce");
  return reading;
}

void write_labels(const Hdf5Place& place, hid_t root, std::span<const Labels> labels) {
  if (std::ranges::all_of(labels, &Labels::empty)) return;
  const Hdf5Id modes = open_or_create_group(place, root, modes_group);
  for (std::size_t n = 0; n < labels.size(); ++n) {
    if (labels[n].empty()) continue;
    const Hdf5Id group = open_or_create_group(place, modes.get(), std::to_string(n));
    const std::string_view text = labels[n].text();
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(text.data());
    const Hdf5Id dataset = write_deflated<std::uint8_t>(place, group.get(), text_name, {bytes, text.size()},
                                                        label_deflation<std::uint8_t>);
    write_attribute(place, dataset.get(), checksum_name, checksum(text, labels[n].ends()));
    write_deflated<std::uint64_t>(place, group.get(), ends_name, labels[n].ends(), label_deflation<std::uint64_t>);
  }
}

std::vector<std::uint64_t> find_label_bytes(const Hdf5Place& place, hid_t root, std::span<const std::uint64_t> shape,
                                            std::uint64_t file_bytes) {
  std::vector<std::uint64_t> bytes(shape.size());
  for (std::size_t n = 0; n < shape.size(); ++n) {
    const Hdf5Id group = open_mode_with(place, root, n, text_name);
    if (!group.is_open()) continue;
    bytes[n] = Labels::memory_bytes(shape[n], text_bytes(place, group.get(), shape[n], file_bytes));
  }
  return bytes;
}

std::vector<Labels> read_labels(const Hdf5Place& place, hid_t root, std::span<const std::uint64_t> shape,
                                std::uint64_t file_bytes) {
  std::vector<Labels> labels(shape.size());
  for (std::size_t n = 0; n < shape.size(); ++n) {
    const Hdf5Id group = open_mode_with(place, root, n, text_name);
    if (group.is_open()) labels[n] = read_mode(place, group.get(), shape[n], file_bytes);
  }
  return std::ranges::all_of(labels, &Labels::empty) ? std::vector<Labels>{} : labels;
}

std::uint32_t write_reordering(const Hdf5Place& place, hid_t root, std::uint64_t mode,
                               std::span<const std::uint32_t> originals) {
  const Hdf5Id modes = open_or_create_group(place, root, modes_group);
  const Hdf5Id group = open_or_create_group(place, modes.get(), std::to_string(mode));
  const Hdf5Id dataset = write_deflated(place, group.get(), reordering_name, originals, reordering_deflation);
  const std::uint32_t checksum = crc32c(std::as_bytes(originals));
  write_attribute(place, dataset.get(), checksum_name, checksum);
  return checksum;
}

std::vector<ReorderedMode> find_reordered(const Hdf5Place& place, hid_t root, std::span<const std::uint64_t> shape,
                                          std::uint64_t file_bytes) {
  std::vector<ReorderedMode> found;
  for (std::uint64_t mode = 0; mode < shape.size(); ++mode) {
    if (!open_mode_with(place, root, mode, reordering_name).is_open()) continue;
    const std::string name = reordering_of(mode);
    const Hdf5Id dataset = open_dataset(place, root, name.c_str());
    const Hdf5Id type = own(H5Dget_type(dataset.get()), H5Tclose, place, "cannot read the type of", name);
    const bool is_whole = H5Tget_class(type.get()) == H5T_INTEGER;
    if (!is_whole || dataset_extents(place, dataset.get(), name.c_str()) != Extents{shape[mode]} ||
        shape[mode] > max_reordered_rows || shape[mode] / max_rows_per_byte > file_bytes) {
      fail_at(place, "the dataset " + name + " does not have one entry per index of mode " + std::to_string(mode));
    }
    const std::uint64_t checksum = read_integer(place, dataset.get(), checksum_name);
    found.push_back({mode, static_cast<std::uint32_t>(checksum)});
  }
  return found;
}

std::vector<std::uint32_t> read_reordering(const std::filesystem::path& path, const ReorderedMode& reordered,
                                           std::uint64_t length) {
  const QuietHdf5 quiet;
  const Hdf5Id file = open_hdf5_file({path, ErrorKind::io});
  const Hdf5Place place = {path, ErrorKind::corrupt};
  const std::string name = reordering_of(reordered.mode);
  const Hdf5Id dataset = open_dataset(place, file.get(), name.c_str());
  if (dataset_extents(place, dataset.get(), name.c_str()) != Extents{length}) {
    fail_at(place, "the dataset " + name + " was rewritten after the file was opened");
  }
  std::vector<std::uint32_t> originals(static_cast<std::size_t>(length));
  read_from_dataset(place, dataset.get(), number_type<std::uint32_t>(), originals.data(), name);
  if (crc32c(std::as_bytes(std::span(originals))) != reordered.crc32c) {
    fail_at(place, "the checksum of the dataset " + name + " does not match");
  }
  if (!is_permutation(originals)) {
    fail_at(place,
            "the dataset " + name + " is not a permutation of the indices of mode " + std::to_string(reordered.mode));
  }
  return originals;
}

}  // namespace blco
