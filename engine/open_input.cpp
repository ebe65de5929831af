// Chooses a reader by magic bytes.
#include "engine/open_input.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include "blco/error.hpp"
#include "engine/memory.hpp"
#include "io/coo_reader.hpp"
#include "io/hdf5_coo_reader.hpp"
#include "io/npz_reader.hpp"
#include "io/tns_reader.hpp"

namespace blco {
namespace {

namespace fs = std::filesystem;

enum class InputKind { text, npz, hdf5 };

// A pipe is text: what is read from it now would be missing later.
InputKind kind_of(const fs::path& input) {
  constexpr std::string_view zip = "PK\x03\x04";
  constexpr std::string_view empty_zip = "PK\x05\x06";
  constexpr std::string_view hdf5 = "\x89HDF\r\n\x1a\n";
  const fs::path file = split_hdf5_group(input).first;
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return InputKind::text;
  std::array<char, hdf5.size()> bytes{};
  std::ifstream stream(file, std::ios::binary);
  stream.read(bytes.data(), bytes.size());
  const std::string_view head(bytes.data(), static_cast<std::size_t>(stream.gcount()));
  if (head == hdf5) return InputKind::hdf5;
  return head.starts_with(zip) || head.starts_with(empty_zip) ? InputKind::npz : InputKind::text;
}

// Where memory is short, the reader takes an eighth of it.
std::uint64_t reader_share(const IngestOptions& options) { return host_budget(options.memory_bytes) / 8; }

std::unique_ptr<CoordinateReader> open_text(const std::vector<fs::path>& inputs, const IngestOptions& options,
                                            Executor& executor) {
  constexpr std::size_t least_block_bytes = std::size_t{16} << 10;
  TnsOptions tns{options.index_base, options.skip_lines};
  const std::uint64_t share = reader_share(options) / tns_reader_bytes(1, executor.width());
  tns.block_bytes = std::max<std::size_t>(least_block_bytes, std::min<std::uint64_t>(tns.block_bytes, share));
  return open_tns(inputs, tns, executor);
}

}  // namespace

std::unique_ptr<CoordinateReader> open_input(const std::vector<fs::path>& inputs, const IngestOptions& options,
                                             Executor& executor) {
  std::vector<InputKind> kinds;
  for (const fs::path& input : inputs) kinds.push_back(kind_of(input));
  const auto text = std::ranges::find(kinds, InputKind::text);
  const auto arrays = std::ranges::find_if(kinds, [](InputKind kind) { return kind != InputKind::text; });
  if (arrays == kinds.end()) return open_text(inputs, options, executor);
  const auto name_of = [&](auto kind) { return inputs[static_cast<std::size_t>(kind - kinds.begin())].string(); };
  if (text != kinds.end()) {
    throw Error(ErrorKind::invalid_argument, name_of(arrays) + " has arrays and " + name_of(text) +
                                                 " is text; files of one tensor are all text or all arrays");
  }
  if (options.skip_lines != 0) {
    throw Error(ErrorKind::invalid_argument, name_of(arrays) + " has no lines to skip; leave out --skip-lines");
  }
  std::vector<std::unique_ptr<CooSource>> sources;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    sources.push_back(kinds[i] == InputKind::npz ? open_npz(inputs[i]) : open_hdf5_coo(inputs[i]));
  }
  return make_coo_reader(std::move(sources), reader_share(options), executor);
}

}  // namespace blco
