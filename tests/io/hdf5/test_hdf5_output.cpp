// HDF5 files on a disk that is full.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "io/container/model_file.hpp"
#include "tests/io/container/stored_tensor.hpp"
#include "tests/io/expect_error.hpp"

namespace blco::tests {
namespace {

// Files cannot grow beyond `bytes` while it lives.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST(Hdf5Output, AFullDiskIsAnErrorAndLeavesNoContainer) {
  const TemporaryFolder folder;
  const StoredTensor tensor = random_tensor({{1 << 20, 1 << 20}, 40'000, 1000, Values::doubles});
  // With none at all HDF5 cannot write its first bytes.
  for (const rlim_t bytes : {rlim_t{0}, rlim_t{100}, rlim_t{1'050'000}, rlim_t{1'200'000}, rlim_t{1'400'000}}) {
    {
      const FullDisk full(bytes);
      expect_error(ErrorKind::io, "cannot write", [&] { write_tensor(tensor, folder / "t.blco"); });
    }

    EXPECT_TRUE(folder.is_empty()) << bytes;
  }
  write_tensor(tensor, folder / "t.blco");
  EXPECT_EQ(read_columns(ContainerReader(folder / "t.blco")), tensor.columns);
}

TEST(Hdf5Output, AFullDiskIsAnErrorAndLeavesNoModel) {
  const TemporaryFolder folder;
  ModelFile model;
  model.shape = {100'000};
  model.rank = 2;
  model.weights = {1, 1};
  model.factors = {std::vector<double>(200'000, 0.5)};

  {
    const FullDisk full(1'600'000);  // the numbers, but nothing beside them
    expect_error(ErrorKind::io, "cannot write", [&] { write_model_file(folder / "m.h5", model); });
  }

  EXPECT_TRUE(folder.is_empty());
  write_model_file(folder / "m.h5", model);
  EXPECT_EQ(read_model_file(folder / "m.h5").factors, model.factors);
}

}  // namespace
}  // namespace blco::tests
