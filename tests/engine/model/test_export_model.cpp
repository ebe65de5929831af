// Export of a model: arrays that NumPy would read, under names that say what they are, all of them or none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/export.hpp>
#include <cstring>

#include "tests/io/expect_error.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

CpdModel small_model() {
  CpdModel model;
  model.shape = {3, 1, 2};
  model.rank = 2;
  model.weights = {2.5, 1e-300};
  model.factors = {{0.1, -0.0, 1, 100000, 1.0 / 3, 5e-324}, {1, 1}, {0, 0.25, -1e22, 7}};
  model.fit_history = {0.5};
  model.mode_names = {"mode0", "who/what *", "größe"};
  return model;
}

std::vector<std::string> names_of(const std::vector<fs::path>& files) {
  std::vector<std::string> names;
  for (const fs::path& file : files) names.push_back(file.filename().string());
  return names;
}

// By the definition of the format: magic, version 1.0, a length of two bytes, a dictionary, then the numbers.
void expect_npy(const fs::path& file, const std::string& shape, const std::vector<double>& values) {
  const std::string bytes = file_contents(file);
  ASSERT_GE(bytes.size(), 10u);
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const std::size_t start = 10 + static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]);
  EXPECT_EQ(start % 64, 0u);
  const std::string expected = "{'descr': '<f8', 'fortran_order': False, 'shape': (" + shape + "), }";
  EXPECT_EQ(bytes.substr(10, expected.size()), expected);
  EXPECT_EQ(bytes[start - 1], '\n');
  ASSERT_EQ(bytes.size(), start + 8 * values.size());
  EXPECT_EQ(std::memcmp(bytes.data() + start, values.data(), 8 * values.size()), 0);
}

TEST(ExportModel, WritesNumpyArraysNamedAfterTheModes) {
  const TemporaryFolder folder;
  const CpdModel model = small_model();

  const auto files = export_model(model, folder / "out");

  EXPECT_THAT(names_of(files), ElementsAre("weights.npy", "fit_history.npy", "mode0.npy", "mode1_who_what__.npy",
                                           "mode2_größe.npy", "mode0.csv", "mode1_who_what__.csv", "mode2_größe.csv"));
  expect_npy(files[0], "2,", model.weights);
  expect_npy(files[1], "1,", model.fit_history);
  expect_npy(files[2], "3,2,", model.factors[0]);
  expect_npy(files[3], "1,2,", model.factors[1]);
  expect_npy(files[4], "2,2,", model.factors[2]);
}

TEST(ExportModel, WritesTextThatReadsBackAsTheSameNumbers) {
  const TemporaryFolder folder;
  CpdModel model = small_model();
  model.mode_names.clear();
  model.fit_history.clear();

  const auto files = export_model(model, folder / "out", ArrayFormat::text);

  EXPECT_THAT(names_of(files),
              ElementsAre("weights.txt", "mode0.txt", "mode1.txt", "mode2.txt", "mode0.csv", "mode1.csv", "mode2.csv"));
  EXPECT_EQ(file_contents(files[0]), "2.5\n1e-300\n");
  EXPECT_EQ(file_contents(files[1]), "0.1 -0\n1 1e+05\n0.3333333333333333 5e-324\n");
  EXPECT_EQ(file_contents(files[3]), "0 0.25\n-1e+22 7\n");
}

TEST(ExportModel, WritesTablesOfLabelsOrCoordinates) {
  const TemporaryFolder folder;
  CpdModel model = small_model();
  model.labels = {Labels(std::vector<std::string>{"plain", "a, \"b\"", "two\nlines"}),
                  {},
                  Labels(std::vector<std::string>{"ü", "-"})};
  model.mode_names[2] = "component_1";
  model.factors[1][0] = 0x1p63;

  const auto from_one = export_model(model, folder / "one");
  const auto from_zero = export_model(model, folder / "zero", ArrayFormat::npy, {}, 0);

  EXPECT_THAT(names_of(from_one), ElementsAre("weights.npy", "fit_history.npy", "mode0.npy", "mode1_who_what__.npy",
                                              "mode2_component_1.npy", "mode0.csv", "mode1_who_what__.csv",
                                              "mode2_component_1.csv", "mode2_component_1.labels.txt"));
  EXPECT_EQ(file_contents(from_one[5]),
            "mode0,component_0,component_1\nplain,0.1,-0\n\"a, \"\"b\"\"\",1,1e+05\n"
            "\"two\nlines\",0.3333333333333333,5e-324\n");
  EXPECT_EQ(file_contents(from_one[6]), "who/what *,component_0,component_1\n1,9.223372036854776e+18,1\n");
  EXPECT_EQ(file_contents(from_zero[6]), "who/what *,component_0,component_1\n0,9.223372036854776e+18,1\n");
  EXPECT_EQ(file_contents(from_one[7]), "component_1_,component_0,component_1\nü,0,0.25\n-,-1e+22,7\n");
  expect_error(ErrorKind::invalid_argument, "index_base",
               [&] { export_model(model, folder / "two", ArrayFormat::npy, {}, 2); });
}

TEST(ExportModel, CutsALongNameBetweenLetters) {
  const TemporaryFolder folder;
  CpdModel model = small_model();
  std::string name(99, 'x');
  for (int i = 0; i < 60; ++i) name += "ß";
  model.mode_names[0] = name;

  const auto files = export_model(model, folder / "out");

  EXPECT_EQ(files[2].filename(), "mode0_" + std::string(99, 'x') + "ß.npy");
}

TEST(ExportModel, ReplacesFilesInAFolderThatIsThere) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "out");
  folder.write("out/other", "stays");
  folder.write("out/weights.npy", "goes");

  const auto files = export_model(small_model(), folder / "out/");

  expect_npy(files[0], "2,", small_model().weights);
  EXPECT_EQ(file_contents(folder / "out/other"), "stays");
}

TEST(ExportModel, LeavesNothingWhereItCannotEnd) {
  const TemporaryFolder folder;
  const CpdModel model = small_model();
  int calls = 0;

  expect_error(ErrorKind::cancelled, "cancelled", [&] {
    export_model(model, folder / "out", ArrayFormat::npy, [&](const Progress&) { return ++calls < 2; });
  });
  EXPECT_TRUE(folder.is_empty());

  // One of the files cannot be replaced, so none is.
  fs::create_directories(folder / "there/mode2_größe.npy");
  expect_error(ErrorKind::io, "it is a folder", [&] { export_model(model, folder / "there"); });
  EXPECT_THAT(std::distance(fs::directory_iterator(folder / "there"), fs::directory_iterator()), 1);

  folder.write("file", "");
  expect_error(ErrorKind::io, "it is a file", [&] { export_model(model, folder / "file"); });
  expect_error(ErrorKind::io, "cannot create the folder", [&] { export_model(model, folder / "no/such"); });
}

TEST(ExportModel, RefusesSizesThatDisagree) {
  const TemporaryFolder folder;
  for (int wrong = 0; wrong < 5; ++wrong) {
    CpdModel model = small_model();
    if (wrong == 0) model.weights.pop_back();
    if (wrong == 1) model.factors[1].pop_back();
    if (wrong == 2) model.factors.pop_back();
    if (wrong == 3) model.mode_names.pop_back();
    if (wrong == 4) model.labels = {Labels(std::vector<std::string>{"one", "two"}), {}, {}};
    expect_error(ErrorKind::invalid_argument, "cannot export the model", [&] { export_model(model, folder / "out"); });
  }
  EXPECT_TRUE(folder.is_empty());
}

}  // namespace
}  // namespace blco
