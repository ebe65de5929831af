// Values that do not suit a method are refused with their place.
#include <gtest/gtest.h>

#include <blco/ingest.hpp>
#include <blco/tensor_file.hpp>

#include "blco/error.hpp"
#include "engine/fit/methods/value_check.hpp"
#include "tests/engine/coordinate_tensor.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

bool is_count(double value) { return value >= 0; }

// What check_values says of the tensor; empty: nothing.
std::string complaint(const Tensor& tensor, const std::function<bool(double)>& is_allowed) {
  const ProgressCallback silent;
  ProgressMeter meter(silent);
  try {
    check_values(
        tensor, [&](double x, std::uint64_t) { return is_allowed(x); }, "this test takes values of at least 0", meter);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return error.what();
  }
  return {};
}

class ValueCheck : public testing::Test {
 protected:
  TensorFile ingest(const CoordinateTensor& tensor, IngestOptions options = {}) {
    options.chunk_nnz = 300;
    ingest_files({folder_.write("in.tns", as_text(tensor))}, folder_ / "in.blco", options);
    return TensorFile(folder_ / "in.blco");
  }

  // Coordinates of more than 64 bits in some shapes, so that the container has keys.
  static CoordinateTensor counts(const std::vector<std::uint64_t>& shape) {
    return random_coordinates({.shape = shape, .nnz = 1000, .seed = 5, .counts = true});
  }

  TemporaryFolder folder_;
};

TEST_F(ValueCheck, AcceptsWhatSuitsInEveryChunk) { EXPECT_EQ(complaint(ingest(counts({70, 80, 90})), is_count), ""); }

TEST_F(ValueCheck, NamesThePlaceOfTheOnlyWrongValue) {
  for (const std::vector<std::uint64_t>& shape : {std::vector<std::uint64_t>{70, 80, 90}, {8192, 1 << 30, 1 << 30}}) {
    CoordinateTensor tensor = counts(shape);
    tensor.points.push_back({33, 44, 55});
    tensor.values.push_back(-2.5);

    EXPECT_EQ(complaint(ingest(tensor), is_count),
              "the value at (33, 44, 55), counted from 0, is -2.5, but this test takes values of at least 0");
  }
}

TEST_F(ValueCheck, NamesThePlaceByTheIndicesOfTheInputAlsoOfAReorderedTensor) {
  CoordinateTensor tensor = counts({70, 80, 90});
  tensor.points.push_back({33, 44, 55});
  tensor.values.push_back(-1e9);

  const TensorFile reordered = ingest(tensor, {.reorder = Reorder::frequency});

  ASSERT_FALSE(reordered.summary().reordered_modes.empty());
  EXPECT_EQ(complaint(reordered, is_count),
            "the value at (33, 44, 55), counted from 0, is -1e+09, but this test takes values of at least 0");
}

TEST_F(ValueCheck, KnowsThatValuesThatAreNotStoredAreOnes) {
  CoordinateTensor tensor = counts({70, 80, 90});
  for (double& value : tensor.values) value = 1;
  tensor.points.resize(1);
  tensor.values.resize(1);
  const TensorFile ones = ingest(tensor);

  EXPECT_EQ(complaint(ones, is_count), "");
  EXPECT_NE(complaint(ones, [](double value) { return value < 1; }).find("(69, 79, 89), counted from 0, is 1, but"),
            std::string::npos);
}

TEST_F(ValueCheck, CanBeCancelled) {
  const TensorFile tensor = ingest(counts({70, 80, 90}));
  const ProgressCallback cancel = [](const Progress&) { return false; };
  ProgressMeter meter(cancel, 0, std::chrono::milliseconds(0));

  EXPECT_THROW(check_values(
                   tensor, [](double x, std::uint64_t) { return is_count(x); }, "", meter),
               Error);
}

}  // namespace
}  // namespace blco
