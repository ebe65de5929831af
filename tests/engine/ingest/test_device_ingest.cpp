// Ingest on a device: its containers are those of the CPU, byte for byte. The device is a GPU in test_gpu, and Thrust's
// CPU backend in test_engine, which runs the same lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/ingest.hpp>
#include <blco/memory_tensor.hpp>

#include "tests/engine/coordinate_tensor.hpp"
#include "tests/engine/ingest/coordinate_columns.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/two_to.hpp"

#ifndef BLCO_ON_HARDWARE
#include "tests/engine/ingest/sort/thrust_runs.hpp"
#endif

namespace blco {
namespace {

using ::testing::HasSubstr;

class DeviceIngest : public testing::Test {
 protected:
  void SetUp() override {
#if !defined(BLCO_ON_HARDWARE) && !defined(BLCO_HAS_THRUST)
    GTEST_SKIP() << "Thrust, which comes with a CUDA toolkit, was not found";
#endif
  }

  std::string bytes_on(bool on_gpu, const std::filesystem::path& input, IngestOptions options) const {
    options.sorts_on_gpu = on_gpu;
    ingest_files({input}, folder_ / "out.blco", options);
    return file_contents(folder_ / "out.blco");
  }

  // Not EXPECT_EQ, which would print the container.
  void expect_same_bytes(const std::filesystem::path& input, const IngestOptions& options = {}) const {
    const std::string expected = bytes_on(false, input, options);
    EXPECT_TRUE(bytes_on(true, input, options) == expected);
  }

  std::string refusal_on(bool on_gpu, const std::filesystem::path& input, IngestOptions options) const {
    try {
      bytes_on(on_gpu, input, options);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }

  TemporaryFolder folder_;
};

// Values of every codec, with duplicates. Decimals do not add up exactly: their sums tell the order of the input.
enum class Values { ones, counts, large_integers, decimals, singles, doubles };

double draw(Values values, std::mt19937_64& random) {
  switch (values) {
    case Values::ones:
      return 1;
    case Values::counts:
      return static_cast<double>(random() % 40) - 5;
    case Values::large_integers:
      return static_cast<double>(random() >> 12) * (random() % 2 == 0 ? 1 : -1);
    case Values::decimals:
      return static_cast<double>(random() % 100000) / 1000;
    case Values::singles:
      return static_cast<double>(static_cast<float>(random() % 1000) / 7.0F);
    default:
      return std::normal_distribution<double>()(random);
  }
}

CoordinateTensor drawn(const std::vector<std::uint64_t>& shape, std::size_t nnz, Values values) {
  CoordinateTensor tensor = random_coordinates({.shape = shape, .nnz = nnz, .seed = 41});
  std::mt19937_64 random(42);
  for (double& value : tensor.values) value = draw(values, random);
  return tensor;
}

struct ShapeCase {
  const char* name;
  std::vector<std::uint64_t> shape;
};

class DeviceIngestOfEveryShape : public DeviceIngest, public testing::WithParamInterface<ShapeCase> {};

TEST_P(DeviceIngestOfEveryShape, GivesTheBytesOfTheCpu) {
  for (const Values values :
       {Values::ones, Values::counts, Values::large_integers, Values::decimals, Values::singles, Values::doubles}) {
    const auto input = folder_.write("in.tns", as_text(drawn(GetParam().shape, 3000, values)));

    SCOPED_TRACE(static_cast<int>(values));
    expect_same_bytes(input, {.shape = GetParam().shape, .chunk_nnz = 1000});
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, DeviceIngestOfEveryShape,
                         testing::Values(ShapeCase{"no_bits", {1, 1}}, ShapeCase{"order_1", {5000}},
                                         ShapeCase{"order_2", {97, 101}}, ShapeCase{"order_3", {50, 60, 7}},
                                         ShapeCase{"order_5", {5, 6, 7, 3, 9}},
                                         ShapeCase{"order_16", {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}},
                                         ShapeCase{"bits_64", {two_to(22), two_to(21), two_to(21)}},
                                         ShapeCase{"bits_65", {two_to(22), two_to(22), two_to(21)}},
                                         ShapeCase{"bits_74", {two_to(40), two_to(5), two_to(29)}},
                                         ShapeCase{"bits_128", {two_to(32), two_to(32), two_to(32), two_to(32)}},
                                         ShapeCase{"keys_of_few", {two_to(40), 3, two_to(40)}}),
                         [](const auto& test) { return std::string(test.param.name); });

// One to 300 nonzeros: frames that are not full, and more of them than a thread block has.
TEST_F(DeviceIngest, GivesTheBytesOfTheCpuForFramesOfAnyLength) {
  for (const std::size_t nnz : {1, 2, 255, 256, 257, 511, 513}) {
    const auto input = folder_.write("in.tns", as_text(drawn({5000, 5000, 5000}, nnz, Values::counts)));

    SCOPED_TRACE(nnz);
    expect_same_bytes(input);
    expect_same_bytes(input, {.chunk_nnz = 256});
  }
}

TEST_F(DeviceIngest, CoalescesDuplicatesByEveryPolicyAsTheCpuDoes) {
  for (const Values values : {Values::counts, Values::decimals, Values::doubles}) {
    for (const std::vector<std::uint64_t>& shape :
         {std::vector<std::uint64_t>{9, 8, 7}, std::vector<std::uint64_t>{two_to(40), 1, two_to(30)}}) {
      CoordinateTensor tensor = drawn(shape, 6000, values);
      for (Point& point : tensor.points) {
        for (std::uint64_t& coordinate : point) coordinate %= 12;
      }
      const auto input = folder_.write("in.tns", as_text(tensor));
      for (const DuplicatePolicy policy : {DuplicatePolicy::sum, DuplicatePolicy::first, DuplicatePolicy::last,
                                           DuplicatePolicy::max, DuplicatePolicy::mean, DuplicatePolicy::count}) {
        SCOPED_TRACE(testing::Message() << static_cast<int>(values) << " " << static_cast<int>(policy));
        expect_same_bytes(input, {.duplicates = policy, .shape = shape, .chunk_nnz = 300});
      }
    }
  }
}

TEST_F(DeviceIngest, RefusesWhatTheCpuRefusesInTheSameWords) {
  const auto twice = folder_.write("twice.tns", "1 5 1\n2 2 3\n1 5 1\n2 2 4\n");
  const auto infinite = folder_.write("infinite.tns", "3 3 1\n2 2 1e308\n1 5 2\n2 2 1e308\n");
  const auto squares = folder_.write("squares.tns", "1 1 1e200\n2 2 1e200\n");
  const IngestOptions options{.duplicates = DuplicatePolicy::error};

  EXPECT_EQ(refusal_on(true, twice, options), refusal_on(false, twice, options));
  EXPECT_THAT(refusal_on(true, twice, options), HasSubstr("occur more than once"));
  EXPECT_EQ(refusal_on(true, infinite, {}), refusal_on(false, infinite, {}));
  EXPECT_THAT(refusal_on(true, infinite, {}), HasSubstr("more than a double can hold"));
  EXPECT_EQ(refusal_on(true, squares, {}), refusal_on(false, squares, {}));
}

TEST_F(DeviceIngest, GivesTheBytesOfTheCpuReorderedFromArraysAndInMemory) {
  const CoordinateTensor tensor = drawn({40, 300, 20}, 20000, Values::decimals);
  const auto input = folder_.write("in.tns", as_text(tensor));
  const CoordinateColumns columns(tensor);

  expect_same_bytes(input, {.reorder = Reorder::frequency, .chunk_nnz = 5000});
  ingest_coordinates(columns.arrays(), folder_ / "arrays.blco", {.chunk_nnz = 5000, .sorts_on_gpu = true});

  EXPECT_TRUE(file_contents(folder_ / "arrays.blco") == bytes_on(false, input, {.chunk_nnz = 5000}));
  const TensorSummary packed = MemoryTensor(columns.arrays(), {.sorts_on_gpu = true}).summary();
  const TensorSummary expected = MemoryTensor(columns.arrays(), {}).summary();
  EXPECT_EQ(packed.nnz, expected.nnz);
  EXPECT_EQ(packed.sum_of_squares, expected.sum_of_squares);
  EXPECT_EQ(packed.index.streamed_bytes, expected.index.streamed_bytes);
  EXPECT_EQ(packed.value.streamed_bytes, expected.value.streamed_bytes);
}

#if !defined(BLCO_ON_HARDWARE) && defined(BLCO_HAS_THRUST)
// A device with room for so many entries.
class SmallDevice {
 public:
  explicit SmallDevice(std::uint64_t entries) {
    thrust_runs() = {.free_bytes = (std::uint64_t{64} << 20) + 72 * entries, .runs = 0};
  }
  ~SmallDevice() { thrust_runs() = {}; }
  SmallDevice(const SmallDevice&) = delete;
  SmallDevice& operator=(const SmallDevice&) = delete;
};

TEST_F(DeviceIngest, SortsInRunsThatTheBudgetHolds) {
  for (const Values values : {Values::counts, Values::decimals}) {
    const auto input = folder_.write("in.tns", as_text(drawn({300, 500, 700}, 400000, values)));
    const SmallDevice ample(std::uint64_t{1} << 30);

    for (const std::vector<std::uint64_t>& shape :
         {std::vector<std::uint64_t>{}, std::vector<std::uint64_t>{300, 500, 700}}) {
      expect_same_bytes(input,
                        {.memory_bytes = std::uint64_t{6} << 20, .threads = 2, .shape = shape, .chunk_nnz = 5000});
    }

    EXPECT_GT(thrust_runs().runs, 4);
  }
}

TEST_F(DeviceIngest, SortsInRunsThatTheDeviceHolds) {
  const auto input = folder_.write("in.tns", as_text(drawn({90, 80, 70}, 300000, Values::decimals)));
  for (const std::vector<std::uint64_t>& shape :
       {std::vector<std::uint64_t>{}, std::vector<std::uint64_t>{two_to(30), two_to(30), two_to(30)}}) {
    const SmallDevice small(40000);

    expect_same_bytes(input,
                      {.memory_bytes = std::uint64_t{64} << 20, .threads = 2, .shape = shape, .chunk_nnz = 50000});

    EXPECT_GT(thrust_runs().runs, 3);
  }
}

TEST_F(DeviceIngest, RefusesWhatNoDeviceHoldsAndLeavesNothingBehind) {
  const CoordinateTensor tensor = drawn({90, 80, 70}, 20000, Values::counts);
  const auto input = folder_.write("in.tns", as_text(tensor));
  const SmallDevice small(100);

  const std::string refusal = refusal_on(true, input, {});

  EXPECT_THAT(refusal, HasSubstr("a run of 20000 entries is to be sorted on the GPU, whose free memory holds 200"));
  EXPECT_THAT(refusal, HasSubstr("leave out `sorts_on_gpu`"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out.blco"));
}

#endif

TEST_F(DeviceIngest, GivesTheBytesOfTheCpuForRealTensors) {
  const std::filesystem::path data(BLCO_DATA_DIR);
  if (!std::filesystem::exists(data)) GTEST_SKIP() << "no real tensors at " << data;
  for (const char* name :
       {"darpa1998-3d", "darpa1998-3d-events", "darpa1998-5d", "icews18", "nips12", "uber-head", "unhcr"}) {
    SCOPED_TRACE(name);
    expect_same_bytes(data / (std::string(name) + ".tns.gz"));
  }
}

}  // namespace
}  // namespace blco
