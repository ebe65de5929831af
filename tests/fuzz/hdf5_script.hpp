// Edits HDF5 files as a fuzzer's input describes. HDF5 itself makes the edits, so it can read the files, and the code
// behind it is tested: HDF5 1.10 does not survive all damaged files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_input.hpp"

namespace blco::fuzz {

struct ScriptNames {
  std::vector<std::string> attributes;  // of the root
  std::vector<std::string> datasets;
};

// Without the trailer, which an edit would leave behind the data.
std::string without_trailer(std::string bytes);

// Replaces or removes up to eight attributes and datasets of the file. Takes 1 + 4 bytes and the data for each.
void edit_hdf5(const std::filesystem::path& path, const ScriptNames& names, FuzzInput& input);

}  // namespace blco::fuzz
