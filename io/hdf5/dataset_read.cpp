// Looks at the filters of a dataset once reading it has failed: one that is missing may not have been needed.
#include "io/hdf5/dataset_read.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "blco/refuse.hpp"

namespace blco {
namespace {

// As HDF5 and the HDF Group's register of filters number them.
constexpr std::array<std::pair<H5Z_filter_t, const char*>, 19> filter_names = {{{H5Z_FILTER_DEFLATE, "deflate"},
                                                                                {H5Z_FILTER_SZIP, "szip"},
                                                                                {305, "LZO"},
                                                                                {307, "bzip2"},
                                                                                {32000, "LZF"},
                                                                                {32001, "Blosc"},
                                                                                {32002, "MAFISC"},
                                                                                {32003, "Snappy"},
                                                                                {32004, "LZ4"},
                                                                                {32005, "APAX"},
                                                                                {32006, "CBF"},
                                                                                {32008, "bitshuffle"},
                                                                                {32009, "SPDP"},
                                                                                {32013, "ZFP"},
                                                                                {32015, "zstd"},
                                                                                {32017, "SZ"},
                                                                                {32018, "FCIDECOMP"},
                                                                                {32024, "SZ3"},
                                                                                {32026, "Blosc2"}}};

// "zstd (filter 32015 of HDF5)" for the first filter of the dataset that HDF5 does not find; else empty.
std::string missing_filter(hid_t dataset) {
  const Hdf5Id creation(H5Dget_create_plist(dataset), H5Pclose);
  const int count = creation.is_open() ? H5Pget_nfilters(creation.get()) : 0;
  for (int i = 0; i < count; ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    std::array<char, 128> name{};
    const H5Z_filter_t id = H5Pget_filter2(creation.get(), static_cast<unsigned>(i), &flags, &values, nullptr,
                                           name.size() - 1, name.data(), nullptr);
    if (id < 0 || H5Zfilter_avail(id) > 0) continue;
    const auto known = std::ranges::find(filter_names, id, &std::pair<H5Z_filter_t, const char*>::first);
    const std::string shown = known != filter_names.end() ? known->second : name.data();
    const std::string number = "filter " + std::to_string(id) + " of HDF5";
    return shown.empty() ? number : shown + " (" + number + ")";
  }
  return {};
}

}  // namespace

void read_from_dataset(const Hdf5Place& place, hid_t dataset, hid_t type, hid_t memory, hid_t file, void* out,
                       const std::string& name) {
  if (H5Dread(dataset, type, memory, file, H5P_DEFAULT, out) >= 0) return;
  const Hdf5Place intact = {place.path, ErrorKind::invalid_argument};
  const hid_t stack = H5Eget_current_stack();  // later calls would empty it
  const std::string filter = missing_filter(dataset);
  static_cast<void>(H5Eset_current_stack(stack));  // closes it
  if (!filter.empty()) {
    fail_at(intact, "the dataset '" + name + "' takes " + filter +
                        ", which is not here; name the folder of its plugin in the environment variable "
                        "HDF5_PLUGIN_PATH (the Python package hdf5plugin has one), or write the file without it where "
                        "it is (h5repack -f NONE FILE FILE.new.h5)");
  }
  fail_hdf5(place, "cannot read the dataset", name);
}

}  // namespace blco
