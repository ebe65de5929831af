// Fuzzes the parsers of what a command line gives: sizes, shapes, names, numbers, times.
#include "tests/fuzz/fuzz_input.hpp"
#include "tools/programs/cli.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace blco;
  fuzz::FuzzInput input(data, size);
  const std::string text(input.rest());
  fuzz::refusal_of([&] {
    const auto shape = cli::parse_shape(text);
    fuzz::require(!shape.empty() && cli::parse_shape(cli::format_shape(shape)) == shape);
  });
  fuzz::refusal_of([&] { cli::parse_size(text); });
  fuzz::refusal_of([&] { fuzz::require(!cli::parse_names(text).empty()); });
  fuzz::refusal_of([&] { cli::parse_compression(text); });
  fuzz::refusal_of([&] {
    const std::uint64_t number = cli::parse_whole(text, 3, 1'000'000);
    fuzz::require(number >= 3 && number <= 1'000'000);
  });
  fuzz::refusal_of([&] { cli::parse_real(text); });
  fuzz::refusal_of([&] { fuzz::require(cli::parse_duration(text) >= 0); });
  return 0;
}
