// Fuzzes the reader of models, and what a fit takes from a checkpoint.
#include <cmath>

#include "engine/model/resumed_state.hpp"
#include "io/container/model_file.hpp"
#include "tests/fuzz/hdf5_script.hpp"
#include "tests/temporary_folder.hpp"

namespace {

using namespace blco;

// make_corpus.py counts them.
const fuzz::ScriptNames names{
    {"format", "version", "rank", "shape", "fit", "sweeps", "seed", "ridge", "found_ridge", "stop_reason", "precision",
     "tensor_nnz", "tensor_sum_of_squares", "mode_names", "method", "loss", "constraints"},
    {"weights", "factors/0", "factors/1", "factors/2", "fit_history", "objective_history", "state/numbers",
     "state/moments/0", "state/moments/1"}};

// A checkpoint: a model with a state.
std::string make_model() {
  const TemporaryFolder folder;
  ModelFile model;
  model.shape = {3, 4};
  model.rank = 2;
  model.weights = {1, 2};
  model.method = "gcp";
  model.loss = {LossKind::bernoulli_odds};
  model.objective_history = {3.5};
  model.mode_names = {"user", "item"};
  model.state_numbers = {0, 7, -0.5};
  model.state_matrices = {"moments"};
  ModelNumbers numbers;
  numbers.factor_rows = [](std::size_t, std::uint64_t, std::span<double> rows) { std::ranges::fill(rows, 0.5); };
  numbers.state_rows = [](std::size_t, std::size_t, std::uint64_t, std::span<double> rows) {
    std::ranges::fill(rows, 0.25);
  };
  write_model_file(folder / "m.h5", model, numbers);
  return fuzz::without_trailer(file_contents(folder / "m.h5"));
}

void resume(const std::filesystem::path& path) {
  const ModelFileReader reader(path);
  check_sweeps(reader.header(), path);
  ResumedState state(reader, path);
  state.require(2, {"moments"});
  fuzz::require(std::isfinite(state.reordered_modes()));
  fuzz::require(state.next_count("the number of steps") <= ResumedState::largest_count);
  const double number = state.next_number("the error", -1);
  fuzz::require(number >= -1 && std::isfinite(number));
  state.read_rows([](std::size_t, std::size_t, std::uint64_t, std::span<const double> rows) {
    fuzz::require(std::ranges::all_of(rows, [](double entry) { return std::isfinite(entry); }));
  });
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
  fuzz::refusal_of([&] { resume(file.path()); });
  model_kind(file.path());
  return 0;
}
