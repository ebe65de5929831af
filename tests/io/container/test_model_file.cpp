// Model files, written and read back here and by h5py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <tuple>

#include "io/container/model_file.hpp"
#include "io/hdf5/hdf5_data.hpp"
#include "io/hdf5/hdf5_output.hpp"
#include "tests/io/container/stored_tensor.hpp"
#include "tests/io/expect_error.hpp"
#include "tests/io/hdf5/variable_texts.hpp"

namespace blco::tests {
namespace {

ModelFile random_model(const std::vector<std::uint64_t>& shape, std::uint64_t rank) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  ModelFile model;
  model.shape = shape;
  model.rank = rank;
  for (std::uint64_t r = 0; r < rank; ++r) model.weights.push_back(normal(random));
  for (const std::uint64_t length : shape) {
    model.factors.emplace_back(length * rank);
    for (double& entry : model.factors.back()) entry = normal(random);
  }
  model.fit_history = {0.25, 0.5, 0.75};
  model.mode_names.assign(shape.size(), "zürich");
  model.reading = {std::vector<std::string>(shape.size(), "wann:day"), "unknown", DuplicatePolicy::mean};
  model.seed = ~std::uint64_t{0};
  model.ridge = 0.125;
  model.stop_reason = StopReason::tolerance;
  return model;
}

void expect_equal(const ModelFile& a, const ModelFile& b) {
  EXPECT_EQ(a.shape, b.shape);
  EXPECT_EQ(a.rank, b.rank);
  EXPECT_EQ(a.weights, b.weights);
  EXPECT_EQ(a.factors, b.factors);
  EXPECT_EQ(a.fit_history, b.fit_history);
  EXPECT_EQ(a.mode_names, b.mode_names);
  EXPECT_TRUE(a.reading == b.reading);
  EXPECT_EQ(a.fit(), b.fit());
  EXPECT_EQ(a.sweeps(), b.sweeps());
  EXPECT_EQ(a.seed, b.seed);
  EXPECT_EQ(a.ridge, b.ridge);
  EXPECT_EQ(a.stop_reason, b.stop_reason);
}

// The largest metadata: all modes, with labels and three matrices of a method beside each factor.
TEST(ModelFile, IsNoLargerThanWhatIsReserved) {
  const TemporaryFolder folder;
  ModelFile model = random_model(std::vector<std::uint64_t>(16, 2), 1);
  model.mode_names.assign(16, std::string(4096, 'x'));
  model.reading.columns.assign(16, std::string(4096, 'y'));
  model.constraints.assign(16, RowConstraint{.set = RowSet::nonnegative});
  model.state_numbers = {1, 2};
  model.state_matrices = {"first", "second", "third"};
  model.labels.assign(16, Labels(std::vector<std::string>{"a", "b"}));
  const auto rows = [](auto... place_and_rows) {
    const std::span<double> block = std::get<sizeof...(place_and_rows) - 1>(std::tuple(place_and_rows...));
    std::ranges::fill(block, 0.5);
  };

  write_model_file(folder / "model.h5", model, ModelNumbers{rows, rows});

  const std::uint64_t texts = padded_text_bytes(model.mode_names) + padded_text_bytes(model.reading.columns);
  EXPECT_LE(std::filesystem::file_size(folder / "model.h5"),
            model_file_bytes(model.shape, std::vector<std::uint64_t>(16, 1), 1, memory_bytes(model.labels), 3) + texts +
                5 * sizeof(double));
}

bool have_h5py() { return std::system("/usr/bin/python3 -c 'import h5py' >/dev/null 2>&1") == 0; }

int run_python(const TemporaryFolder& folder, const std::string& script) {
  write_file(folder / "script.py", script);
  return std::system(("cd '" + folder.path().string() + "' && /usr/bin/python3 script.py").c_str());
}

TEST(ModelFile, RoundTrips) {
  const TemporaryFolder folder;
  for (const auto& shape : {std::vector<std::uint64_t>{1}, {7, 1, 30}, std::vector<std::uint64_t>(16, 2)}) {
    for (const std::uint64_t rank : {1, 5}) {
      const ModelFile model = random_model(shape, rank);

      write_model_file(folder / "m.h5", model);

      expect_equal(read_model_file(folder / "m.h5"), model);
      EXPECT_EQ(model_kind(folder / "m.h5"), ModelKind::cp);
    }
  }
}

TEST(ModelFile, RoundTripsWithoutHistoryAndNames) {
  const TemporaryFolder folder;
  ModelFile model = random_model({3, 4}, 2);
  model.fit_history.clear();
  model.mode_names.clear();

  write_model_file(folder / "m.h5", model);

  expect_equal(read_model_file(folder / "m.h5"), model);
}

TEST(ModelFile, GivesTheSameBytesTwiceAndLeavesNothingElse) {
  const TemporaryFolder folder;
  const ModelFile model = random_model({30, 40}, 3);

  write_model_file(folder / "a.h5", model);
  write_model_file(folder / "b.h5", model);

  EXPECT_TRUE(file_contents(folder / "a.h5") == file_contents(folder / "b.h5"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 2);
}

TEST(ModelFile, IsReadableWithPlainH5py) {
  if (!have_h5py()) GTEST_SKIP() << "/usr/bin/python3 has no h5py (apt install python3-h5py)";
  const TemporaryFolder folder;
  ModelFile model = random_model({3, 2}, 2);
  model.weights = {2, 0.5};
  model.factors = {{1, 2, 3, 4, 5, 6}, {-1, 0, 1, 0.25}};
  write_model_file(folder / "m.h5", model);

  const int status = run_python(folder, R"(
import h5py, numpy as np, subprocess
with h5py.File('m.h5', 'r') as f:
    for name, length in (('format', 10), ('stop_reason', 9), ('mode_names', 7)):
        kind = h5py.check_string_dtype(f.attrs.get_id(name).dtype)
        assert kind.length == length and kind.encoding == 'utf-8', name
    assert f.attrs['format'].decode() == 'blco-model' and f.attrs['version'] == 1
    assert f.attrs['rank'] == 2 and list(f.attrs['shape']) == [3, 2]
    assert f.attrs['fit'] == 0.75 and f.attrs['sweeps'] == 3 and f.attrs['seed'] == 2**64 - 1
    assert f.attrs['stop_reason'].decode() == 'tolerance'
    assert [name.decode() for name in f.attrs['mode_names']] == ['zürich'] * 2
    assert f['weights'].dtype == '<f8' and list(f['weights']) == [2, 0.5]
    assert np.array_equal(f['factors/0'], [[1, 2], [3, 4], [5, 6]])
    assert np.array_equal(f['factors/1'], [[-1, 0], [1, 0.25]])
    assert list(f['fit_history']) == [0.25, 0.5, 0.75]
shown = subprocess.run(['h5dump', '-a', 'stop_reason', 'm.h5'], check=True, stdout=subprocess.PIPE, text=True).stdout
assert 'H5T_STR_NULLPAD' in shown and 'H5T_CSET_UTF8' in shown and '"tolerance"' in shown, shown
)");

  EXPECT_EQ(status, 0);
}

TEST(ModelFile, AcceptsWhatH5pyWrites) {
  if (!have_h5py()) GTEST_SKIP() << "/usr/bin/python3 has no h5py (apt install python3-h5py)";
  const TemporaryFolder folder;
  const int status = run_python(folder, R"(
import h5py, numpy as np
with h5py.File('plain.h5', 'w') as f:
    f.attrs['format'] = 'blco-model'
    f.attrs['rank'] = 2
    f.attrs['shape'] = [3, 2]
    f['weights'] = [1, 2]
    f['factors/0'] = np.arange(6, dtype='f4').reshape(3, 2) / 4
    f.create_dataset('factors/1', data=np.zeros((2, 2)), compression='gzip')
with h5py.File('fixed.h5', 'w') as f:
    f.attrs['format'] = np.bytes_('blco-model')
    f.attrs['rank'] = np.int16(1)
    f.attrs['shape'] = np.array([1], dtype='>i4')
    f.attrs['mode_names'] = np.array([b'a'])
    f.attrs['stop_reason'] = 'sweeps'
    f.attrs['seed'] = [5]
    f['weights'] = np.array([1], dtype='>f8')
    f['factors/0'] = np.ones((1, 1), dtype='i1')
)");
  ASSERT_EQ(status, 0);

  const ModelFile plain = read_model_file(folder / "plain.h5");
  const ModelFile fixed = read_model_file(folder / "fixed.h5");

  EXPECT_THAT(plain.weights, testing::ElementsAre(1, 2));
  EXPECT_THAT(plain.factors[0], testing::ElementsAre(0, 0.25, 0.5, 0.75, 1, 1.25));
  EXPECT_THAT(plain.factors[1], testing::ElementsAre(0, 0, 0, 0));
  EXPECT_TRUE(plain.mode_names.empty());
  EXPECT_THAT(fixed.mode_names, testing::ElementsAre("a"));
  EXPECT_EQ(fixed.stop_reason, StopReason::sweeps);
  EXPECT_EQ(fixed.seed, 5u);
  EXPECT_THAT(fixed.factors[0], testing::ElementsAre(1));
}

// As earlier builds wrote them: the trailer covers the heap that such texts lie in.
TEST(ModelFile, IsReadWithTextsOfVariableLength) {
  const TemporaryFolder folder;
  const Hdf5Place place{folder / "m.h5", ErrorKind::io};
  Hdf5Output output(place);
  write_variable_texts(place, output.root(), "format", {}, {"blco-model"});
  write_variable_texts(place, output.root(), "method", {}, {"apr"});
  write_variable_texts(place, output.root(), "mode_names", {2}, {"", "zürich"});
  write_attribute(place, output.root(), "rank", std::uint64_t{1});
  write_attribute(place, output.root(), "shape", std::vector<std::uint64_t>{1, 2});
  const std::vector<double> numbers = {1, 2};
  write_dataset<double>(place, output.root(), "weights", {1}, std::span(numbers).first(1));
  Hdf5Id factors = create_group(place, output.root(), "factors");
  write_dataset<double>(place, factors.get(), "0", {1, 1}, std::span(numbers).first(1));
  write_dataset<double>(place, factors.get(), "1", {2, 1}, numbers);
  factors.reset();
  output.publish();

  const ModelFile model = read_model_file(folder / "m.h5");

  EXPECT_EQ(model.method, "apr");
  EXPECT_THAT(model.mode_names, testing::ElementsAre("", "zürich"));
}

TEST(ModelFile, KeepsSixteenLongNames) {
  const TemporaryFolder folder;
  ModelFile model = random_model(std::vector<std::uint64_t>(16, 1), 1);
  model.mode_names.assign(16, std::string(4096, 'n'));
  model.mode_names[3] = "";

  write_model_file(folder / "m.h5", model);

  EXPECT_EQ(read_model_file(folder / "m.h5").mode_names, model.mode_names);
}

// Opens a model that was just written, for a change that makes it wrong.
class WrongModel : public testing::Test {
 protected:
  WrongModel() { write_model_file(path_, random_model({3, 4}, 2)); }

  template <class Change>
  void change(Change change_root) const {
    const Hdf5Id file = own(H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose, place_, "open");
    change_root(file.get());
  }

  void replace(const char* name, const Extents& extents, const std::vector<double>& data) const {
    change([&](hid_t root) {
      H5Ldelete(root, name, H5P_DEFAULT);
      write_dataset<double>(place_, root, name, extents, data);
    });
  }

  void expect_refused(ErrorKind kind, const std::string& words) const {
    expect_error(kind, words, [&] { read_model_file(path_); });
  }

  TemporaryFolder folder_;
  fs::path path_ = folder_ / "m.h5";
  Hdf5Place place_{path_, ErrorKind::io};
};

TEST_F(WrongModel, IsRefusedForNumbersThatAreNotFinite) {
  replace("factors/1", {4, 2}, {1, 2, 3, 4, 5, std::nan(""), 7, 8});
  expect_refused(ErrorKind::corrupt, "factors/1[2, 1] is nan");

  replace("weights", {2}, {1, -std::numeric_limits<double>::infinity()});
  expect_refused(ErrorKind::corrupt, "weights[1] is -inf");
}

TEST_F(WrongModel, IsRefusedForExtentsThatDisagree) {
  replace("factors/1", {2, 4}, std::vector<double>(8));
  expect_refused(ErrorKind::corrupt, "extents [2, 4] and not [4, 2]");

  replace("weights", {3}, std::vector<double>(3));
  expect_refused(ErrorKind::corrupt, "weights");

  change([](hid_t root) { H5Ldelete(root, "weights", H5P_DEFAULT); });
  expect_refused(ErrorKind::corrupt, "weights is missing");
}

TEST_F(WrongModel, IsRefusedForSizesBeyondItsFileBeforeTheyAreAllocated) {
  change([&](hid_t root) {
    const hsize_t extents[] = {hsize_t{1} << 40, 2};
    const hsize_t chunk[] = {1024, 2};
    const Hdf5Id creation = make_properties(place_, H5P_DATASET_CREATE);
    checked(H5Pset_chunk(creation.get(), 2, chunk), place_, "chunk");
    const Hdf5Id space = own(H5Screate_simple(2, extents, nullptr), H5Sclose, place_, "space");
    H5Ldelete(root, "factors/0", H5P_DEFAULT);
    const Hdf5Id made =
        own(H5Dcreate2(root, "factors/0", H5T_NATIVE_DOUBLE, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
            H5Dclose, place_, "create");
    H5Adelete(root, "shape");
    write_attribute(place_, root, "shape", std::vector<std::uint64_t>{std::uint64_t{1} << 40, 4});
  });

  expect_refused(ErrorKind::corrupt, "larger than the file can hold");
}

TEST_F(WrongModel, IsRefusedForOtherFormatsAndVersions) {
  change([&](hid_t root) {
    H5Adelete(root, "version");
    write_attribute(place_, root, "version", std::uint32_t{9});
  });
  expect_refused(ErrorKind::invalid_argument, "version 9");

  write_tensor(random_tensor({{3, 4}, 5, 2, Values::counts}), path_);
  expect_refused(ErrorKind::invalid_argument, "is a tensor, not a model");
  EXPECT_FALSE(model_kind(path_));

  write_file(path_, "no model");
  expect_refused(ErrorKind::invalid_argument, "not an HDF5 file");
  EXPECT_FALSE(model_kind(path_));

  fs::remove(path_);
  expect_refused(ErrorKind::io, "m.h5");
  EXPECT_FALSE(model_kind(path_));
}

TEST_F(WrongModel, IsRefusedWhenTruncated) {
  const std::string whole = file_contents(path_);
  write_file(path_, whole.substr(0, whole.size() - 10));

  expect_refused(ErrorKind::corrupt, "truncated");
}

TEST_F(WrongModel, IsNotWritten) {
  ModelFile model = random_model({3, 4}, 2);
  model.factors[1].pop_back();

  expect_error(ErrorKind::invalid_argument, "factor", [&] { write_model_file(folder_ / "new.h5", model); });

  EXPECT_FALSE(fs::exists(folder_ / "new.h5"));
}

}  // namespace
}  // namespace blco::tests
