#include "kernels/cublas_files.hpp"

#include <wordexp.h>

#include <filesystem>

namespace blco {
namespace {

// Wheels for CUDA 12 and 13 have folders of different names.
constexpr const char* packages = "/nvidia/*/lib/";

// As a shell expands them, in the order of the search; a folder of another machine's home or environment has no match.
std::vector<std::string> folders_under(const std::string& root) {
  std::vector<std::string> folders{"\"$VIRTUAL_ENV\"/lib/python3*/site-packages" + std::string(packages)};
  for (const char* toolkit : {"/usr/local/cuda/lib64/", "/usr/local/cuda-*/lib64/", "/opt/cuda/lib64/"}) {
    folders.push_back(root + toolkit);
  }
  folders.push_back("~/.local/lib/python3*/site-packages" + std::string(packages));
  for (const char* python : {"/usr/local/lib/python3*/*-packages", "/usr/lib/python3*/*-packages",
                             "/opt/*/lib/python3*/site-packages", "/opt/*/.venv/lib/python3*/site-packages"}) {
    folders.push_back(root + python + packages);
  }
  return folders;
}

}  // namespace

std::vector<std::string> cublas_files(const std::string& name, const std::string& root) {
  std::vector<std::string> files;
  for (const std::string& folder : folders_under(root)) {
    wordexp_t found{};
    if (wordexp((folder + name).c_str(), &found, WRDE_NOCMD) == 0) {
      for (std::size_t i = 0; i < found.we_wordc; ++i) {
        // What has no match stays as it is.
        std::error_code ignored;
        if (std::filesystem::exists(found.we_wordv[i], ignored)) files.emplace_back(found.we_wordv[i]);
      }
      wordfree(&found);
    }
  }
  return files;
}

}  // namespace blco
