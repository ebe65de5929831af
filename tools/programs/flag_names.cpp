// What the library calls an option, and the flag that sets it.
#include <algorithm>
#include <array>
#include <string_view>

#include "tools/programs/cli.hpp"

namespace blco::cli {
namespace {

// Flags that are not the name of the option with hyphens.
constexpr std::array<std::pair<std::string_view, std::string_view>, 15> other_flags{{
    {"checkpoint_sweeps", "--every"},
    {"device_bytes", "--device-memory"},
    {"formats", "--format"},
    {"host_bytes", "--memory"},
    {"initial", "--init"},
    {"inner_iterations", "--inner"},
    {"kkt_tolerance", "--tolerance"},
    {"label_files", "--labels"},
    {"max_sweeps", "--sweeps"},
    {"memory_bytes", "--memory"},
    {"planted_rank", "--rank"},
    {"temporary_directory", "--tmp"},
    {"time_limit_seconds", "--time-limit"},
    {"validation", "--validate"},
    {"zstd_level", "--compression"},
}};

// Begins an option that another program has.
constexpr std::string_view ingest_options = "IngestOptions.";

std::string flag_of(std::string_view option) {
  option.remove_prefix(option.rfind('.') + 1);  // "columns.modes" is --modes
  for (const auto& [name, flag] : other_flags) {
    if (name == option) return std::string(flag);
  }
  std::string flag = "--";
  flag += option;
  std::ranges::replace(flag, '_', '-');
  return flag;
}

}  // namespace

std::string name_flags(const std::string& message, const std::function<bool(const std::string& flag)>& is_flag) {
  std::string text;
  std::size_t at = 0;
  for (std::size_t open = 0; (open = message.find('`', at)) != std::string::npos;) {
    text += message.substr(at, open - at);
    const std::size_t close = message.find('`', open + 1);
    const std::string quoted = close == std::string::npos ? "" : message.substr(open + 1, close - open - 1);
    const std::size_t sign = quoted.find(" = ");
    const std::string flag = flag_of(quoted.substr(0, sign));
    const bool is_of_ingest = quoted.starts_with(ingest_options);
    if (is_of_ingest || is_flag(flag)) {
      text += is_of_ingest ? "blco-ingest " + flag : flag;
      if (sign != std::string::npos) text.append(" ").append(quoted, sign + 3);
      at = close + 1;
    } else {  // a backtick of something else, such as the name of a file
      text += '`';
      at = open + 1;
    }
  }
  return text + message.substr(at);
}

}  // namespace blco::cli
