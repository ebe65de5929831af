// Fuzzes the reader of coordinate lists in HDF5 files: lists, matrices and groups of any types, extents and storage.
#include "blco/executor.hpp"
#include "io/arrays/coo_reader.hpp"
#include "io/hdf5/hdf5_data.hpp"
#include "tests/fuzz/batch_rules.hpp"
#include "tests/fuzz/hdf5_script.hpp"
#include "tests/temporary_folder.hpp"

namespace {

using namespace blco;

const fuzz::ScriptNames names{{"shape", "format"},
                              {"coords", "data", "indices", "values", "shape", "row", "col", "coords/0", "coords/1",
                               "mode0", "mode1", "mode2", "fill_value", "indptr", "weights", "index", "value"}};

std::string make_list(bool is_matrix) {
  const TemporaryFolder folder;
  const Hdf5Place place{folder / "t.h5", ErrorKind::io};
  {
    const Hdf5Id file = create_hdf5_file(place, place.path);
    const std::vector<std::uint64_t> numbers = {0, 5, 2, 7, 1, 1, 9, 3, 4, 4, 1, 6};
    const std::vector<double> values = {1, 2.5, -3, 0.25};
    if (is_matrix) {
      write_dataset<std::uint64_t>(place, file.get(), "coords", {3, 4}, numbers);
      write_dataset<std::uint64_t>(place, file.get(), "shape", {3}, std::vector<std::uint64_t>{10, 10, 10});
    } else {
      for (std::size_t n = 0; n < 3; ++n) {
        const std::string name = "mode" + std::to_string(n);
        write_dataset<std::uint64_t>(place, file.get(), name.c_str(), {4}, std::span(numbers).subspan(4 * n, 4));
      }
    }
    write_dataset<double>(place, file.get(), "data", {4}, values);
  }
  return file_contents(place.path);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string matrix = make_list(true);
  static const std::string lists = make_list(false);
  fuzz::FuzzInput input(data, size);
  const fuzz::MemoryFile file(input.flag() ? matrix : lists);
  fuzz::edit_hdf5(file.path(), names, input);
  SerialExecutor executor;
  fuzz::read_entries([&] {
    std::vector<std::unique_ptr<CooSource>> sources;
    sources.push_back(open_hdf5_coo(file.path()));
    return make_coo_reader(std::move(sources), std::uint64_t{1} << 22, executor);
  });
  return 0;
}
