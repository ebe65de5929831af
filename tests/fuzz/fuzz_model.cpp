// Fuzzes the reader of models.
#include "io/container/model_file.hpp"
#include "tests/fuzz/hdf5_script.hpp"
#include "tests/temporary_folder.hpp"

namespace {

using namespace blco;

const fuzz::ScriptNames names{{"format", "version", "rank", "shape", "fit", "sweeps", "seed", "ridge", "stop_reason",
                               "precision", "tensor_nnz", "tensor_sum_of_squares", "mode_names"},
                              {"weights", "factors/0", "factors/1", "factors/2", "fit_history"}};

std::string make_model() {
  const TemporaryFolder folder;
  ModelFile model;
  model.shape = {3, 4};
  model.rank = 2;
  model.weights = {1, 2};
  model.fit_history = {0.5};
  model.factors = {std::vector<double>(6, 0.5), std::vector<double>(8, 0.25)};
  model.stop_reason = "sweeps";
  model.mode_names = {"user", "item"};
  write_model_file(folder / "m.h5", model);
  return fuzz::without_trailer(file_contents(folder / "m.h5"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string whole = make_model();
  fuzz::FuzzInput input(data, size);
  const fuzz::MemoryFile file(whole);
  fuzz::edit_hdf5(file.path(), names, input);
  fuzz::refusal_of([&] {
    const ModelFile model = read_model_file(file.path());
    fuzz::require(model.weights.size() == model.rank && model.factors.size() == model.shape.size());
  });
  is_model_file(file.path());
  return 0;
}
