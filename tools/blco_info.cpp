// blco-info: what is in a BLCO container or a model.
#include <fmt/format.h>

#include <algorithm>
#include <blco/model.hpp>
#include <blco/tensor_file.hpp>
#include <cmath>
#include <functional>

#include "tools/cli.hpp"

namespace {

using namespace blco;

constexpr std::size_t weights_shown = 10;

template <class Value>
void print_row(const char* name, const Value& value) {
  fmt::print("{:<12}{}\n", name, value);
}

void print_modes(const std::vector<std::uint64_t>& shape, const std::vector<std::string>& names) {
  print_row("shape", cli::format_shape(shape));
  for (std::size_t n = 0; n < shape.size(); ++n) {
    fmt::print("  mode {:<5}{}{}\n", n, cli::format_count(shape[n]), n < names.size() ? "  " + names[n] : "");
  }
}

double density(const TensorSummary& summary) {
  double share = static_cast<double>(summary.nnz);
  for (const std::uint64_t length : summary.shape) share /= static_cast<double>(length);
  return share;
}

void print_column(const char* name, const TensorColumn& column, std::uint64_t nnz) {
  const std::string streamed = cli::format_bits(column.streamed_bytes, nnz);
  fmt::print("{:<12}{:>9}{:>9}{:>10}\n", name, cli::format_bits(column.stored_bytes, nnz), streamed, streamed);
}

TensorColumn sum(const TensorColumn& a, const TensorColumn& b) {
  return {a.stored_bytes + b.stored_bytes, a.streamed_bytes + b.streamed_bytes};
}

void print_tensor(const std::filesystem::path& path) {
  const TensorFile file(path);
  const TensorSummary& summary = file.summary();
  print_row("tensor", path.string());
  print_modes(summary.shape, summary.mode_names);
  print_row("nonzeros", cli::format_count(summary.nnz));
  print_row("density", fmt::format("{:.3g}", density(summary)));
  print_row("norm", fmt::format("{:.6g}", std::sqrt(summary.sum_of_squares)));
  print_row("line bits", summary.line_bits);
  print_row("chunks", fmt::format("{} of up to {} nonzeros", cli::format_count(summary.chunk_count),
                                  cli::format_count(summary.chunk_nnz)));
  print_row("file", cli::format_bytes(summary.file_bytes));

  const TensorColumn index = sum(summary.index, summary.key);
  fmt::print("\n{:<12}{:>9}{:>9}{:>10}   bits per nonzero\n", "", "stored", "cached", "streamed");
  print_column("index", index, summary.nnz);
  if (summary.key.streamed_bytes != 0) print_column("  its key", summary.key, summary.nnz);
  print_column("value", summary.value, summary.nnz);
  print_column("both", sum(index, summary.value), summary.nnz);
}

void print_model(const std::filesystem::path& path) {
  const CpdModel model = load_model(path);
  print_row("model", path.string());
  print_modes(model.shape, model.mode_names);
  print_row("rank", model.rank);
  print_row("fit", fmt::format("{:.12f}", model.fit()));
  print_row("sweeps", model.fit_history.size());
  print_row("stopped by", to_string(model.stop_reason));
  print_row("seed", model.seed);

  std::vector<double> weights = model.weights;
  std::ranges::sort(weights, std::greater<>());
  weights.resize(std::min(weights.size(), weights_shown));
  const std::string rest = model.weights.size() > weights_shown ? " ..." : "";
  print_row("weights", fmt::format("{:.6g}{}", fmt::join(weights, " "), rest));
}

}  // namespace

int main(int argc, char** argv) {
  cli::CommandLine line("blco-info", "Prints what is in a BLCO container or in a model.",
                        "  blco-info calls.blco\n  blco-info calls-model.h5");
  std::filesystem::path path;
  line.add_path("FILE", path,
                {.type = "", .description = "A container of blco-ingest or a model of blco-cpd", .required = true});
  return line.run(argc, argv, [&] { is_model(path) ? print_model(path) : print_tensor(path); });
}
