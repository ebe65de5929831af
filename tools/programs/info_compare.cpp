// Prints how alike two models are.
#include <fmt/format.h>

#include "tools/programs/cli.hpp"
#include "tools/programs/info.hpp"
#include "tools/programs/info_rows.hpp"

namespace blco::info {

cli::Json match_json(const std::filesystem::path& path, const std::filesystem::path& other, const ModelMatch& match) {
  cli::Json pairs = cli::Json::array();
  for (const ComponentMatch& pair : match.pairs) {
    pairs.push_back(
        {{"component", pair.component}, {"other", pair.other}, {"score", pair.score}, {"congruence", pair.congruence}});
  }
  return {
      {"type", "match"}, {"file", path.string()}, {"other", other.string()}, {"score", match.score}, {"pairs", pairs}};
}

void print_match(const std::filesystem::path& path, const CpdModel& model, const std::filesystem::path& other,
                 const CpdModel& second, const ModelMatch& match) {
  print_row("model", fmt::format("{} (rank {}, fit {:.6f})", path.string(), model.rank, model.fit()));
  print_row("other", fmt::format("{} (rank {}, fit {:.6f})", other.string(), second.rank, second.fit()));
  print_row("score",
            fmt::format("{:.4f}: factor match score, the mean over the pairs; 1: the same model", match.score));
  print_row("pairs", fmt::format("{} of {} and {} components", match.pairs.size(), model.rank, second.rank));
  fmt::print("\n{:>10}{:>10}{:>14}{:>14}{:>14}{:>10}\n", "component", "other", "weight", "other weight", "congruence",
             "score");
  for (const ComponentMatch& pair : match.pairs) {
    fmt::print("{:>10}{:>10}{:>14.6g}{:>14.6g}{:>14.4f}{:>10.4f}\n", pair.component, pair.other,
               model.weights[static_cast<std::size_t>(pair.component)],
               second.weights[static_cast<std::size_t>(pair.other)], pair.congruence, pair.score);
  }
}

}  // namespace blco::info
