// Prints what evaluate() says of a model's factors, as JSON with all digits: {"value": F, "gradients": [per mode,
// rows]}.
//
// usage: dump_gradients TENSOR MODEL LOSS zeros|unknown [HOST_BYTES]
#include <blco/evaluate.hpp>
#include <blco/model.hpp>
#include <blco/tensor_file.hpp>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

namespace {

// The weights go into the first factor.
nlohmann::json evaluate_model(const std::string& tensor, const std::string& path, const std::string& loss,
                              const std::string& absent, std::uint64_t host_bytes) {
  blco::CpdModel model = blco::load_model(path);
  const auto rank = static_cast<std::size_t>(model.rank);
  for (std::size_t i = 0; i < model.factors[0].size(); ++i) model.factors[0][i] *= model.weights[i % rank];
  const blco::LossValue result =
      blco::evaluate(blco::TensorFile(tensor), model.matrices(), blco::parse_loss(loss).value(),
                     absent == "zeros" ? blco::AbsentCells::zeros : blco::AbsentCells::unknown,
                     {.devices = {"cpu"}, .threads = 1, .memory = {.host_bytes = host_bytes}});
  return {{"value", result.value}, {"gradients", result.gradients}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5 || argc > 6) {
    std::cerr << "usage: dump_gradients TENSOR MODEL LOSS zeros|unknown [HOST_BYTES]\n";
    return 2;
  }
  try {
    const std::uint64_t host_bytes = argc == 6 ? std::strtoull(argv[5], nullptr, 10) : 0;
    std::cout << evaluate_model(argv[1], argv[2], argv[3], argv[4], host_bytes) << "\n";
  } catch (const std::exception& error) {
    std::cerr << "dump_gradients: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
