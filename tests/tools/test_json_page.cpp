// JSON.md has the names of all fields of plans, sweeps and starts, and no others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/plan.hpp>
#include <blco/starts.hpp>
#include <blco/sweep.hpp>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <tuple>

namespace blco {
namespace {

using Names = std::set<std::string>;

// Of JSON's keys: those that a dot parts are two.
template <class... Reports>
Names names_of() {
  Names names;
  const auto add = [&](const auto& field) {
    std::istringstream parts(field.name);
    for (std::string part; std::getline(parts, part, '.');) names.insert(part);
  };
  (std::apply([&](const auto&... field) { (add(field), ...); }, fields_of<Reports>), ...);
  return names;
}

// The words in the section of an event that may be keys.
Names words_of(const std::string& event) {
  std::ifstream file(BLCO_JSON_PAGE);
  const std::string page(std::istreambuf_iterator<char>(file), {});
  const std::string head = "**`" + event + "`**";
  const std::size_t begin = page.find(head);
  if (begin == std::string::npos) return {};
  const std::string section = page.substr(begin + head.size(), page.find("\n**", begin) - begin - head.size());
  const std::regex word("`([a-z_]+)`");
  Names words;
  for (std::sregex_iterator match(section.begin(), section.end(), word), end; match != end; ++match) {
    words.insert((*match)[1]);
  }
  return words;
}

Names without(Names names, const Names& others) {
  for (const std::string& other : others) EXPECT_EQ(names.erase(other), 1) << other;
  return names;
}

TEST(JsonPage, NamesEachFieldAndNoOther) {
  EXPECT_EQ(without(words_of("plan"), {"own", "natural"}), (names_of<CpdPlan, ModeRead>()));
  EXPECT_EQ(without(words_of("sweep"), {"gcp"}), (names_of<SweepReport, HeldOutReport>()));
  EXPECT_EQ(
      without(words_of("start"), {"rank", "output", "sweep"}),
      without(names_of<StartReport>(), {"explained", "reaches_best", "match", "component_matches", "mode_matches"}));
}

}  // namespace
}  // namespace blco
