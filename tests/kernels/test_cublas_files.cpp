// Where cuBLAS is looked for: a tree of folders as toolkits and Python leave them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "kernels/cublas_files.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

// An environment variable that is put back at the end.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { old_.empty() ? unsetenv(name_) : setenv(name_, old_.c_str(), 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::string old_;
};

class CublasFiles : public ::testing::Test {
 protected:
  std::string place(const std::string& folder, const std::string& name = "libcublas.so.13") {
    std::filesystem::create_directories(tree_ / folder);
    return tree_.write(folder + "/" + name, "").string();
  }

  std::vector<std::string> found() const { return cublas_files("libcublas.so.13", tree_.path().string()); }

  TemporaryFolder tree_;
  Variable home_{"HOME", (tree_ / "home").string()};
  Variable environment_{"VIRTUAL_ENV", (tree_ / "my work/venv").string()};
};

TEST_F(CublasFiles, AreThoseOfToolkitsAndOfEveryPython) {
  const std::vector<std::string> placed{
      place("my work/venv/lib/python3.12/site-packages/nvidia/cu13/lib"),
      place("usr/local/cuda-13.0/lib64"),
      place("opt/cuda/lib64"),
      place("home/.local/lib/python3.11/site-packages/nvidia/cublas/lib"),
      place("usr/local/lib/python3.11/dist-packages/nvidia/cu13/lib"),
      place("usr/lib/python3.11/dist-packages/nvidia/cu13/lib"),
      place("opt/conda/lib/python3.12/site-packages/nvidia/cu13/lib"),
      place("opt/torch/.venv/lib/python3.12/site-packages/nvidia/cu13/lib"),
  };
  place("opt/torch/.venv/lib/python3.12/site-packages/nvidia/cu12/lib", "libcublas.so.12");

  EXPECT_THAT(found(), ::testing::ElementsAreArray(placed));
}

TEST_F(CublasFiles, AreNoneWhereThereAreNone) { EXPECT_THAT(found(), ::testing::IsEmpty()); }

}  // namespace
}  // namespace blco
