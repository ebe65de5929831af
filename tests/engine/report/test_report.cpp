// The JSON in the report's page: text of any bytes in it, and what it refuses. tests/engine/check_report.py has its
// numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <blco/memory_tensor.hpp>
#include <blco/report.hpp>
#include <nlohmann/json.hpp>
#include <tuple>

#include "io/text/quoted_text.hpp"
#include "tests/io/expect_error.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::ordered_json;

CpdModel model_with_label(const std::string& label) {
  CpdModel model;
  model.shape = {2, 1};
  model.rank = 1;
  model.weights = {2};
  model.factors = {{0.6, -0.8}, {1}};
  model.mode_names = {"<who>", ""};
  model.labels = {Labels(std::vector<std::string>{"Ann", label}), Labels()};
  return model;
}

std::string page_of(const CpdModel& model, const ReportOptions& options = {}) {
  std::string page;
  write_report(
      model, [&](std::string_view text) { page += text; }, options);
  return page;
}

std::string json_text_of(const CpdModel& model, const ReportOptions& options = {}) {
  const std::string page = page_of(model, options);
  const std::string start = "<script id=\"data\" type=\"application/json\">";
  const std::size_t begin = page.find(start) + start.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

Json json_of(const CpdModel& model, const ReportOptions& options = {}) {
  return Json::parse(json_text_of(model, options));
}

TEST(Report, IsUtf8WithoutForeignMarkupWhateverALabelHas) {
  const std::string label("\xc3<b>\xe6\xbc\0\"\xff'&\x1b", 12);

  const std::string page = page_of(model_with_label(label), {.title = "a<i>b</script>"});
  const std::string text = json_text_of(model_with_label(label), {.title = "a<i>b</script>"});
  const Json json = Json::parse(text);

  EXPECT_EQ(find_invalid_utf8(page), std::nullopt);
  EXPECT_EQ(page.find('\0'), std::string::npos);
  EXPECT_THAT(text, Not(HasSubstr("<")));
  EXPECT_EQ(json["title"], "a<i>b</script>");
  EXPECT_EQ(json["modes"][0]["name"], "<who>");
  EXPECT_EQ(json["parts"][0]["columns"][0]["top"][0][0], std::string("\ufffd<b>\ufffd\0\"\ufffd'&\x1b", 17));
}

TEST(Report, HasNoTextThatEndsItsElement) {
  for (const std::string label : {"</script>", "<!--<script>", "\"}]", "\\u003c", "\u2028", "\\"}) {
    const std::string text = json_text_of(model_with_label(label));

    EXPECT_THAT(text, Not(HasSubstr("<")));
    EXPECT_EQ(Json::parse(text)["parts"][0]["columns"][0]["top"][0][0], label);
  }
}

TEST(Report, DrawsALineWhereLabelsAreOrdered) {
  const std::vector<std::pair<bool, std::vector<std::string>>> modes = {
      {true, {"2024-01-31", "2024-02-01", "2024-12-24"}},
      {true, {"2024-W09", "2024-W10", "2025-W01"}},
      {true, {"07", "08", "23"}},
      {true, {"Monday", "Tuesday", "Sunday"}},
      {true, {"[-1, 0.5)", "[0.5, 2)", "[2, 1000]"}},
      {true, {"-3", "9", "10", "1e3"}},
      {false, {"2024-02-01", "2024-01-31", "2024-12-24"}},
      {false, {"Monday", "Wednesday", "Tuesday"}},
      {false, {"10.0.0.1", "10.0.0.2", "10.0.0.3"}},
      {false, {"Ann", "Bob", "Cid"}},
      {false, {"07", "08"}}};
  CpdModel model;
  model.rank = 1;
  model.weights = {1};
  for (const auto& [is_line, labels] : modes) {
    model.shape.push_back(labels.size());
    model.factors.emplace_back(labels.size(), 0.5);
    model.labels.emplace_back(labels);
  }

  const Json json = json_of(model);

  for (std::size_t n = 0; n < modes.size(); ++n) {
    const auto& [is_line, labels] = modes[n];
    EXPECT_EQ(json["modes"][n].contains("ticks"), is_line) << labels[0] << ", " << labels[1];
    EXPECT_EQ(json["parts"][0]["columns"][n].contains("points"), is_line) << labels[0] << ", " << labels[1];
  }
}

TEST(Report, IsWrittenAComponentAtATime) {
  CpdModel model;
  model.shape = {2};
  model.rank = 3;
  model.weights = {3, 2, 1};
  model.factors = {{1, 1, 1, 1, 1, 1}};
  std::vector<std::string> texts;

  write_report(model, [&](std::string_view text) { texts.emplace_back(text); });

  for (int component = 0; component < 3; ++component) {
    const std::string start = "{\"component\":" + std::to_string(component);
    const auto is_alone = [&](const std::string& text) {
      return text.starts_with(start) && text.find("\"component\"", start.size()) == std::string::npos;
    };
    EXPECT_EQ(std::ranges::count_if(texts, is_alone), 1) << component;
  }
}

TEST(Report, CutsLongLabelsBetweenCharacters) {
  const std::string start(119, 'x');

  const Json json = json_of(model_with_label(start + "ü" + "yz"));

  EXPECT_EQ(json["parts"][0]["columns"][0]["top"][0][0], start + "ü…");
}

TEST(Report, RefusesATensorThatIsNotThatOfTheModel) {
  const std::vector<std::uint32_t> row{0};
  const std::vector<std::string> names{"Ann", "Bob"};
  const MemoryTensor longer({.coordinates = {row, row}}, {.shape = {3, 1}});
  const MemoryTensor renamed({.coordinates = {row, row}, .labels = {Labels(names), Labels()}}, {.shape = {2, 1}});
  const CpdModel model = model_with_label("Cid");

  expect_error(ErrorKind::invalid_argument, "the tensor has the shape 3x1, but the model 2x1",
               [&] { page_of(model, {.tensor = &longer}); });
  expect_error(ErrorKind::invalid_argument, "the labels of mode 0 are others in the tensor than in the model",
               [&] { page_of(model, {.tensor = &renamed}); });
}

TEST(Report, HasOutliersWhereEntriesHaveTheScaleOfTheModel) {
  const std::vector<std::uint32_t> row{0};
  const MemoryTensor tensor({.coordinates = {row, row}}, {.shape = {2, 1}});
  CpdModel model = model_with_label("Bob");

  const Json outliers = json_of(model, {.tensor = &tensor})["outliers"][0];
  model.loss.kind = LossKind::bernoulli_logit;

  // The cells are 1 and 0, the model's 1.2 and -1.6; the single column has the rows' squares for leverage.
  const std::vector<std::tuple<std::string, double, double>> expected = {{"Bob", 0.64, 2.56 / 2.6},
                                                                         {"Ann", 0.36, 0.04 / 2.6}};
  for (std::size_t i = 0; i < 2; ++i) {
    const auto [label, leverage, residual] = outliers["top"][i].get<std::tuple<std::string, double, double>>();
    EXPECT_EQ(label, std::get<0>(expected[i]));
    EXPECT_NEAR(leverage, std::get<1>(expected[i]), 1e-12);
    EXPECT_NEAR(residual, std::get<2>(expected[i]), 1e-12);
  }
  EXPECT_FALSE(json_of(model).contains("outliers"));
  EXPECT_FALSE(json_of(model, {.tensor = &tensor}).contains("outliers"));
  // Too large to be squared.
  model.loss.kind = LossKind::gaussian;
  model.weights = {1e160};
  EXPECT_FALSE(json_of(model, {.tensor = &tensor}).contains("outliers"));
}

TEST(Report, TellsTheConstraintOfEachModeAndThatComponentsCancel) {
  CpdModel model;
  model.shape = {2, 2};
  model.rank = 2;
  model.weights = {1000, -1000};
  model.factors = {{1, 1, 0, 0}, {1, 1, 0, 0}};
  model.tensor_sum_of_squares = 1;
  model.constraints = {RowConstraint{.set = RowSet::nonnegative}, RowConstraint{}};

  const Json json = json_of(model);

  EXPECT_EQ(json["constraints"], Json::parse(R"(["nonnegative", ""])"));
  EXPECT_EQ(json["cancellation"], Json::parse(R"({"first": 0, "second": 1, "excess": 1000.0})"));
}

TEST(Report, HasTheMatchesOfEachStart) {
  CpdModel model;
  model.shape = {2};
  model.rank = 2;
  model.weights = {2, 1};
  model.factors = {{1, 0, 0, 1}};
  model.fit_history = {0.5};
  const std::vector<StartReport> starts = {
      {.start = 1, .seed = 7, .fit = 0.25, .is_best = true, .match = 0.625, .component_matches = {1, 0.25}},
      {.start = 2, .seed = 8, .fit = 0.5, .is_best = true},
      {.start = 3, .seed = 9, .fit = 0.125}};

  const Json json = json_of(model, {.starts = starts});

  EXPECT_EQ(json["history_of"], "fit");
  EXPECT_EQ(json["starts"], Json::parse(R"([
    {"seed": "7", "value": 0.25, "best": false, "match": 0.625, "components": [1.0, 0.25]},
    {"seed": "8", "value": 0.5, "best": true, "match": null, "components": []},
    {"seed": "9", "value": 0.125, "best": false, "match": null, "components": []}])"));
}

TEST(Report, LeavesNothingBehindWhenItIsCancelled) {
  const TemporaryFolder folder;
  const std::vector<std::uint32_t> row{0};
  const MemoryTensor tensor({.coordinates = {row, row}}, {.shape = {2, 1}});

  expect_error(ErrorKind::cancelled, "", [&] {
    write_report(model_with_label("Bob"), folder.path() / "page.html", {.tensor = &tensor},
                 [](const Progress&) { return false; });
  });

  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace blco
