// What processes, here threads, send each other in a sweep of least squares, as JSON: rows and messages, there and
// back, of the first process and of the others.
//
// usage: dump_traffic TENSOR RANK PROCESSES
#include <algorithm>
#include <array>
#include <blco/cpd.hpp>
#include <blco/tensor_file.hpp>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "tests/engine/work/counting_peers.hpp"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: dump_traffic TENSOR RANK PROCESSES\n";
    return 2;
  }
  const blco::TensorFile tensor(argv[1]);
  const int rank = std::atoi(argv[2]);
  const int processes = std::atoi(argv[3]);
  // Of a sweep, what two take more than one.
  std::array<std::vector<blco::Traffic>, 2> sweeps;
  for (const int count : {2, 3}) {
    blco::CountingPeers others(tensor, processes, {.threads = 1});
    blco::CpdOptions options{.rank = rank, .max_sweeps = count, .tolerance = 0};
    options.compute.peers = &others;
    options.compute.threads = 1;
    blco::fit_cpd(tensor, options);
    sweeps[static_cast<std::size_t>(count - 2)] = others.traffic();
  }
  std::vector<std::size_t> messages;
  std::vector<double> moved;  // rows
  for (std::size_t process = 0; process < sweeps[0].size(); ++process) {
    const std::size_t bytes = sweeps[1][process].bytes - sweeps[0][process].bytes;
    moved.push_back(static_cast<double>(bytes) / (rank * 8.0));
    messages.push_back(sweeps[1][process].messages - sweeps[0][process].messages);
  }
  const std::uint64_t rows = std::accumulate(tensor.shape().begin(), tensor.shape().end(), std::uint64_t{0});
  std::cout << nlohmann::json{{"processes", processes},
                              {"rows_of_first", moved[0]},
                              {"rows_mean", std::accumulate(moved.begin(), moved.end(), 0.0) / processes},
                              {"rows_largest", *std::ranges::max_element(moved)},
                              {"messages_of_first", messages[0]},
                              {"messages_largest", *std::ranges::max_element(messages)},
                              {"rows_there_and_back", 2 * rows}}
            << '\n';
}
