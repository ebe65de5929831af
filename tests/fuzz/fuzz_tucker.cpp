// Fuzzes the reader of Tucker models.
#include <algorithm>
#include <cmath>

#include "io/container/model_file.hpp"
#include "tests/fuzz/hdf5_script.hpp"
#include "tests/temporary_folder.hpp"

namespace {

using namespace blco;

const fuzz::ScriptNames names{
    {"format", "version", "shape", "ranks", "seed", "method", "stop_reason", "tensor_nnz", "tensor_sum_of_squares",
     "mode_names"},
    {"core", "fit_history", "factors/0", "factors/1", "factors/2", "modes/0/labels", "modes/0/label_ends"}};

std::string make_tucker() {
  const TemporaryFolder folder;
  ModelFile model;
  model.kind = ModelKind::tucker;
  model.shape = {3, 4};
  model.ranks = {2, 2};
  model.core = {1, 0, 0, 0.5};
  model.factors = {{1, 0, 0, 1, 0, 0}, {1, 0, 0, 1, 0, 0, 0, 0}};
  model.method = "hooi";
  model.fit_history = {0.5};
  model.mode_names = {"user", "item"};
  write_model_file(folder / "t.h5", model);
  return fuzz::without_trailer(file_contents(folder / "t.h5"));
}

bool are_finite(const std::vector<double>& numbers) {
  return std::ranges::all_of(numbers, [](double number) { return std::isfinite(number); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string whole = make_tucker();
  fuzz::FuzzInput input(data, size);
  const fuzz::MemoryFile file(whole);
  fuzz::edit_hdf5(file.path(), names, input);
  fuzz::refusal_of([&] {
    const ModelFile model = read_model_file(file.path(), ModelKind::tucker);
    std::uint64_t core = 1;
    for (std::size_t n = 0; n < model.shape.size(); ++n) {
      core *= model.ranks[n];
      fuzz::require(model.factors[n].size() == model.shape[n] * model.ranks[n] && are_finite(model.factors[n]));
    }
    fuzz::require(model.core.size() == core && are_finite(model.core));
  });
  model_kind(file.path());
  return 0;
}
