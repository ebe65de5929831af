// What a sweep of least squares sends between processes, here threads: bytes and messages of each, as JSON.
//
// usage: dump_traffic TENSOR RANK PROCESSES
#include <algorithm>
#include <blco/cpd.hpp>
#include <blco/tensor_file.hpp>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
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
  std::vector<std::map<int, blco::CountingPeers::Traffic>> sweeps;
  for (const int count : {2, 3}) {
    blco::CountingPeers others(tensor, processes, {.threads = 1});
    blco::CpdOptions options{.rank = rank, .max_sweeps = count, .tolerance = 0};
    options.compute.peers = &others;
    options.compute.threads = 1;
    blco::fit_cpd(tensor, options);
    sweeps.push_back(others.traffic());
  }
  std::size_t bytes = 0;
  std::size_t messages = 0;
  std::size_t largest = 0;
  for (const auto& [process, longer] : sweeps[1]) {
    const std::size_t more = longer.bytes - sweeps[0][process].bytes;
    bytes += more;
    messages += longer.messages - sweeps[0][process].messages;
    largest = std::max(largest, more);
  }
  const double row_bytes = rank * 8.0;
  const double others = processes - 1;
  const std::uint64_t rows = std::accumulate(tensor.shape().begin(), tensor.shape().end(), std::uint64_t{0});
  std::cout << nlohmann::json{{"processes", processes},
                              {"bytes", bytes},
                              {"messages", messages},
                              {"rows_of_a_process", static_cast<double>(bytes) / others / row_bytes},
                              {"rows_of_the_largest", static_cast<double>(largest) / row_bytes},
                              {"rows_there_and_back", 2 * rows}}
            << '\n';
}
