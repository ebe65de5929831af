// The report's page: text of any bytes in it, and what it refuses. tests/engine/check_report.py has its numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/memory_tensor.hpp>
#include <blco/report.hpp>

#include "io/text/quoted_text.hpp"
#include "tests/io/expect_error.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

using testing::HasSubstr;
using testing::Not;

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

TEST(Report, IsUtf8WithoutForeignMarkupWhateverALabelHas) {
  const std::string label("\xc3<b>\xe6\xbc\0\"\xff'&\x1b", 12);

  const std::string page = page_of(model_with_label(label), {.title = "a<i>b"});

  EXPECT_EQ(find_invalid_utf8(page), std::nullopt);
  EXPECT_EQ(page.find('\0'), std::string::npos);
  EXPECT_THAT(page, HasSubstr("<bdi>\ufffd&#60;b&#62;\ufffd\ufffd\ufffd&#34;\ufffd&#39;&#38;\ufffd</bdi>"));
  EXPECT_THAT(page, HasSubstr("<h1>a&#60;i&#62;b</h1>"));
  EXPECT_THAT(page, HasSubstr("<h3>&#60;who&#62;</h3>"));
  EXPECT_THAT(page, Not(HasSubstr("<who>")));
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

  std::string page = page_of(model);

  for (const auto& [is_line, labels] : modes) {
    const std::size_t end = page.find("</section>");
    EXPECT_EQ(page.substr(0, end).find("<svg") != std::string::npos, is_line) << labels[0] << ", " << labels[1];
    page.erase(0, end + 1);
  }
}

TEST(Report, CutsLongLabelsBetweenCharacters) {
  const std::string page = page_of(model_with_label(std::string(119, 'x') + "ü" + "yz"));

  EXPECT_THAT(page, HasSubstr("xxü…</bdi>"));
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

  const std::string page = page_of(model, {.tensor = &tensor});
  model.loss.kind = LossKind::bernoulli_logit;

  // The cells are 1 and 0, the model's 1.2 and -1.6; the single column has the rows' squares for leverage.
  EXPECT_THAT(page, HasSubstr("<bdi>① Bob</bdi><i style=\"width:100.0%\"></i><b>98.5%</b><em>0.640</em>"));
  EXPECT_THAT(page, HasSubstr("<bdi>② Ann</bdi><i style=\"width:1.6%\"></i><b>1.5%</b><em>0.360</em>"));
  EXPECT_THAT(page_of(model), Not(HasSubstr("<details")));
  EXPECT_THAT(page_of(model, {.tensor = &tensor}), Not(HasSubstr("<details")));
  // Too large to be squared.
  model.loss.kind = LossKind::gaussian;
  model.weights = {1e160};
  EXPECT_THAT(page_of(model, {.tensor = &tensor}), Not(HasSubstr("<details")));
}

TEST(Report, HasARowOfCellsForEachStart) {
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
  const auto cells = [](const std::string& first, const std::string& second) {
    const std::string rest = "\" width=\"1\" height=\"1\" fill-opacity=\"";
    return "<rect x=\"0" + rest + first + "\"/><rect x=\"1" + rest + second + "\"/></svg></td></tr>\n";
  };

  const std::string page = page_of(model, {.starts = starts});

  EXPECT_THAT(page, HasSubstr("<th>fit</th>"));
  const std::string before = "</td><td><svg viewBox=\"0 0 2 1\" preserveAspectRatio=\"none\">";
  EXPECT_THAT(page, HasSubstr("<tr><td>7</td><td>0.25</td><td>0.625" + before + cells("1.00", "0.25")));
  EXPECT_THAT(page, HasSubstr("<tr><td>8</td><td>0.5</td><td>best" + before + cells("1.00", "1.00")));
  EXPECT_THAT(page, HasSubstr("<tr><td>9</td><td>0.125</td><td></td>"));
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
