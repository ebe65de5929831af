// Where a file of cuBLAS may lie beside the loader's path.
#pragma once

#include <string>
#include <vector>

namespace blco {

// Files of this name in the usual folders of the CUDA toolkit, and among the packages of Python, those of the virtual
// environment in use first. `root` stands before absolute paths, for tests.
std::vector<std::string> cublas_files(const std::string& name, const std::string& root = {});

}  // namespace blco
