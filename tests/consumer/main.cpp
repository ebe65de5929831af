// What an application does with blco: a tensor made in memory, fitted, cancelled, saved and loaded. The one argument is
// a folder for the model. Ends with 0 if every answer was the one that a dense loop gives.
#include <blco/cpd.hpp>
#include <blco/memory_tensor.hpp>
#include <blco/predict.hpp>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

namespace {

constexpr std::uint32_t rows = 20, columns = 15, layers = 12;

struct Entries {
  std::vector<std::uint32_t> i, j, k;
  std::vector<std::int64_t> matrix;  // the same, a row per entry
  std::vector<double> values;
};

// Two components, and a ripple that no model of rank 2 has.
Entries make_entries() {
  Entries entries;
  for (std::uint32_t i = 0; i < rows; ++i) {
    for (std::uint32_t j = 0; j < columns; ++j) {
      for (std::uint32_t k = 0; k < layers; ++k) {
        if ((i + 2 * j + 3 * k) % 4 == 3) continue;
        const double smooth = (1.0 + i) * (2.0 + j) * (1.0 + k) / 800 + std::cos(0.2 * i) * std::sin(0.3 * j + 1);
        entries.i.push_back(i);
        entries.j.push_back(j);
        entries.k.push_back(k);
        entries.matrix.insert(entries.matrix.end(), {i, j, k});
        entries.values.push_back(smooth + 0.1 * std::sin(1.7 * i * j + k));
      }
    }
  }
  return entries;
}

// 1 - |X - model| / |X|, over every cell.
double dense_fit(const Entries& entries, const blco::CpdModel& model) {
  std::vector<double> cells(std::size_t{rows} * columns * layers, 0.0);
  const auto cell = [](std::size_t i, std::size_t j, std::size_t k) { return (i * columns + j) * layers + k; };
  for (std::size_t e = 0; e < entries.values.size(); ++e) {
    cells[cell(entries.i[e], entries.j[e], entries.k[e])] = entries.values[e];
  }
  const auto rank = static_cast<std::size_t>(model.rank);
  double residual = 0;
  double norm = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      for (std::size_t k = 0; k < layers; ++k) {
        double value = cells[cell(i, j, k)];
        norm += value * value;
        for (std::size_t r = 0; r < rank; ++r) {
          value -= model.weights[r] * model.factors[0][i * rank + r] * model.factors[1][j * rank + r] *
                   model.factors[2][k * rank + r];
        }
        residual += value * value;
      }
    }
  }
  return 1 - std::sqrt(residual / norm);
}

bool check(bool holds, const std::string& what) {
  std::cout << (holds ? "ok      " : "WRONG   ") << what << '\n';
  return holds;
}

// What the library keeps to itself.
template <class Tensor>
concept ShowsItsChunks = requires(const Tensor& tensor) {
  tensor.chunks();
};
static_assert(!ShowsItsChunks<blco::MemoryTensor>);

}  // namespace

int main(int argc, char** argv) try {
  const std::filesystem::path folder = argc > 1 ? argv[1] : ".";
  const Entries entries = make_entries();
  const blco::MemoryTensor tensor({{entries.i, entries.j, entries.k}, entries.values});
  bool good = check(tensor.nnz() == entries.values.size(), "the tensor has every entry");

  const auto column = [&](std::size_t mode) {
    return blco::StridedView<std::int64_t>(entries.matrix.data() + mode, entries.values.size(), 3);
  };
  const blco::MemoryTensor from_matrix({{column(0), column(1), column(2)}, entries.values});
  good &= check(from_matrix.summary().sum_of_squares == tensor.summary().sum_of_squares,
                "the columns of a matrix give the same tensor");

  const blco::CpdModel model =
      blco::fit_cpd(tensor, {.rank = 2, .max_sweeps = 20, .compute = {.memory = {.host_bytes = 64 << 20}}});
  good &= check(model.fit() > 0.3 && model.fit() < 0.999, "the fit says something: " + std::to_string(model.fit()));
  good &= check(std::abs(model.fit() - dense_fit(entries, model)) < 1e-9, "a dense loop finds the same fit");

  blco::CpdOptions until_third{.rank = 2, .max_sweeps = 20, .tolerance = 0};
  until_third.on_sweep = [](const blco::SweepReport& report) { return report.sweep < 3; };
  const blco::CpdModel third = blco::fit_cpd(tensor, until_third);
  good &= check(third.stop_reason == blco::StopReason::cancelled && third.fit_history.size() == 3,
                "cancelled in the third sweep, which comes back");
  good &= check(std::abs(third.fit() - dense_fit(entries, third)) < 1e-9, "and its fit is right too");

  blco::save(model, folder / "consumer-model.h5");
  const blco::CpdModel loaded = blco::load_model(folder / "consumer-model.h5");
  good &=
      check(loaded.factors == model.factors && loaded.weights == model.weights, "the model is the same when loaded");

  const std::vector<double> product = blco::mttkrp(tensor, model.matrices(), 0);
  double first = 0;
  for (std::size_t e = 0; e < entries.values.size(); ++e) {
    if (entries.i[e] == 0)
      first += entries.values[e] * model.factors[1][2 * entries.j[e]] * model.factors[2][2 * entries.k[e]];
  }
  good &= check(std::abs(product[0] - first) < 1e-9, "the model's factors give the product of a loop");

  double value = 0;
  for (std::size_t r = 0; r < 2; ++r) {
    value += model.weights[r] * model.factors[0][2 * 3 + r] * model.factors[1][2 * 4 + r] * model.factors[2][2 * 5 + r];
  }
  good &=
      check(std::abs(model.value(std::vector<std::uint64_t>{3, 4, 5}) - value) < 1e-12, "the model's value is right");
  const std::vector<int> i = {0, 3}, j = {0, 4}, k = {0, 5};
  const std::vector<double> predicted = blco::predict(model, std::vector<blco::IndexView>{i, j, k});
  good &= check(std::abs(predicted[1] - value) < 1e-12, "the model's value of an entry is right");

  try {
    const blco::MemoryTensor refused({{entries.i, entries.j}, std::vector<double>(3)});
    good &= check(false, "a tensor of too few values is refused");
  } catch (const blco::Error& error) {
    good &= check(error.kind() == blco::ErrorKind::invalid_argument, std::string("refused: ") + error.what());
  }
  return good ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
