// Backends that hold some rows of each mode, beside whole ones, a loop over coordinates and figures worked by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "blco/error.hpp"
#include "kernels/host/arranged_nonzeros.hpp"
#include "kernels/row_solver.hpp"
#include "tests/kernels/backend_cases.hpp"
#include "tests/kernels/held_cases.hpp"
#include "tests/kernels/loss_cases.hpp"
#include "tests/kernels/wide_rows.hpp"
#include "tests/random_tensor.hpp"

namespace blco::testing {
namespace {

constexpr int held_rank = 5;
constexpr std::uint64_t ample = std::uint64_t{1} << 30;

TEST(RowIndex, CountsTheHeldRowsBeforeEachRow) {
  // Rows 0, 63, 64 and 130 of 192.
  const std::vector<std::uint64_t> bits{std::uint64_t{1} << 63 | 1, 1, 4};

  const RowIndex index(bits);

  EXPECT_EQ(index.count(), 4U);
  const std::vector<std::uint64_t> rows{0, 1, 62, 63, 64, 65, 129, 130, 131, 191, 192};
  const std::vector<std::uint64_t> places{0, 1, 1, 1, 2, 3, 3, 3, 4, 4, 4};
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(index.place_of(rows[i]), places[i]) << "row " << rows[i];
  for (const std::uint64_t row : {0, 63, 64, 130}) EXPECT_TRUE(index.holds(row)) << "row " << row;
  for (const std::uint64_t row : {1, 62, 65, 129, 131, 191}) EXPECT_FALSE(index.holds(row)) << "row " << row;
}

TEST(RowIndex, HoldsNoRowsOrAll) {
  const RowIndex none(std::vector<std::uint64_t>(2));
  const RowIndex all(std::vector<std::uint64_t>(2, ~std::uint64_t{0}));

  EXPECT_EQ(none.count(), 0U);
  EXPECT_EQ(none.place_of(128), 0U);
  EXPECT_EQ(all.count(), 128U);
  for (std::uint64_t row = 0; row <= 128; ++row) EXPECT_EQ(all.place_of(row), row);
}

TEST(RowIndex, TakesTwoBitsARow) {
  const std::vector<std::uint64_t> bits(std::size_t{1} << 16, 5);

  const std::uint64_t bytes = bytes_of<RowIndex>(std::span<const std::uint64_t>(bits));

  EXPECT_EQ(bytes, mapped_bytes((std::uint64_t{1} << 16) * 64 / 4 + 16));
}

// Orders 3 to 5, a mode of one row, lines of more than 64 bits whose modes are nearly empty.
std::vector<CooTensor> held_tensors() {
  return {random_tensor({.shape = {300, 41, 517}, .nnz = 1500, .seed = 2, .skew = 2}),
          random_tensor({.shape = {1, 200, 90, 33}, .nnz = 1500, .seed = 3, .skew = 3}),
          random_tensor({.shape = {12, 90, 40, 7, 300}, .nnz = 1500, .seed = 4, .skew = 2}),
          random_tensor({.shape = {8192, 8192, 8192, 8192, 8192}, .nnz = 700, .seed = 5})};
}

std::vector<ResidentId> keep_all(BackendUnderTest& backend, std::span<const EncodedChunk> chunks, Tier tier) {
  std::vector<ResidentId> residents;
  for (const EncodedChunk& chunk : chunks) residents.push_back(backend->keep(0, chunk.view(), tier));
  return residents;
}

class HeldRowsOf : public ::testing::TestWithParam<BackendCase> {
 protected:
  // Of a tensor, chunks, factors and held rows; whole backends and others with the same `config`.
  struct Setup {
    CooTensor tensor;
    HeldCase held;
    std::vector<EncodedChunk> chunks;
    std::vector<std::vector<double>> factors;
    std::string name;

    BackendConfig config(bool holds_some) const {
      BackendConfig config{.layout = TensorLayout(tensor.shape), .rank = held_rank, .precision = GetParam().precision};
      if (holds_some) config.held = held.index();
      return config;
    }
  };

  template <class Visit>
  static void for_each_setup(const Visit& visit) {
    for (const CooTensor& tensor : held_tensors()) {
      for (const ModeSet modes : held_modes(tensor.order())) {
        visit(Setup{tensor, HeldCase(tensor, modes), encode(tensor, 600),
                    GetParam().held(positive_factors(tensor.shape, held_rank, 7)),
                    "order " + std::to_string(tensor.order()) + ", held modes " + std::to_string(modes)});
      }
    }
  }
};

TEST_P(HeldRowsOf, GetTheMttkrpOfAWholeBackendFromChunksOfEveryTier) {
  for_each_setup([](const Setup& setup) {
    for (const std::uint64_t private_bytes : {std::uint64_t{0}, std::uint64_t{40'000}, ample}) {
      BackendConfig config = setup.config(false);
      config.private_bytes = private_bytes;
      BackendUnderTest whole(GetParam().threads, config);
      config.held = setup.held.index();
      BackendUnderTest some(GetParam().threads, config);
      whole.load(setup.factors);
      some.load(setup.held.parts(setup.factors));
      const auto packed = keep_all(some, setup.chunks, Tier::packed);
      const auto decoded = keep_all(some, setup.chunks, Tier::decoded);

      for (std::size_t mode = 0; mode < setup.tensor.order(); ++mode) {
        const int n = static_cast<int>(mode);
        const auto expected = setup.held.part(mode, coordinate_mttkrp(setup.tensor, setup.factors, held_rank, mode));
        const std::vector<double> of_whole = setup.held.part(mode, whole.pass(setup.chunks, n));
        // The first pass over a packed chunk looks at its rows, and later ones do not.
        const std::vector<std::vector<double>> outputs{some.pass(setup.chunks, n), some.resident_pass(packed, n),
                                                       some.resident_pass(packed, n), some.resident_pass(decoded, n)};

        for (const std::vector<double>& output : outputs) {
          EXPECT_THAT(output, RowsNear(expected, GetParam().tolerance())) << setup.name << ", mode " << mode;
          // Where copies have room for some chunks' rows, there is more of it with fewer rows.
          if (private_bytes == 0 || private_bytes == ample) {
            EXPECT_EQ(output, of_whole) << setup.name << ", mode " << mode;
          }
        }
      }
    }
  });
}

TEST_P(HeldRowsOf, GetTheMttkrpFromArrangedChunks) {
  for_each_setup([](const Setup& setup) {
    for (const std::uint64_t private_bytes : {std::uint64_t{0}, ample}) {
      BackendConfig config = setup.config(true);
      config.private_bytes = private_bytes;
      config.arranged_bytes = ample;
      BackendUnderTest some(GetParam().threads, config);
      some.load(setup.held.parts(setup.factors));
      const auto decoded = keep_all(some, setup.chunks, Tier::decoded);

      for (std::size_t mode = 0; mode < setup.tensor.order(); ++mode) {
        const auto expected = setup.held.part(mode, coordinate_mttkrp(setup.tensor, setup.factors, held_rank, mode));
        for (int pass = 0; pass <= passes_before_arranging; ++pass) {
          some.resident_pass(decoded, static_cast<int>(mode));
        }

        EXPECT_THAT(some.resident_pass(decoded, static_cast<int>(mode)), RowsNear(expected, GetParam().tolerance()))
            << setup.name << ", mode " << mode;
      }
    }
  });
}

TEST_P(HeldRowsOf, GetTheOutputsAndTermsOfALossPass) {
  for_each_setup([](const Setup& setup) {
    const int order = static_cast<int>(setup.tensor.order());
    const LossCase loss = poisson_given();
    const LossSums expected = expected_sums(setup.tensor, setup.factors, held_rank, loss);
    for (const std::uint64_t private_bytes : {std::uint64_t{0}, ample}) {
      BackendConfig config = setup.config(false);
      config.private_bytes = private_bytes;
      config.all_outputs = true;
      BackendUnderTest whole(GetParam().threads, config);
      config.held = setup.held.index();
      BackendUnderTest some(GetParam().threads, config);
      whole.load(setup.factors);
      some.load(setup.held.parts(setup.factors));
      const auto decoded = keep_all(some, setup.chunks, Tier::decoded);

      for (const ModeSet outputs : {all_modes(order), mode_bit(order - 1), ModeSet{0}}) {
        const PassRequest request(loss.function, outputs);
        whole.run(setup.chunks, request);
        for (const bool is_resident : {false, true}) {
          is_resident ? some.run_resident(decoded, request) : some.run(setup.chunks, request);

          EXPECT_EQ(some->sum_of_terms(), whole->sum_of_terms()) << setup.name;
          EXPECT_NEAR(some->sum_of_terms(), static_cast<double>(expected.sum),
                      GetParam().tolerance() * static_cast<double>(expected.sum_size));
          for (int mode = 0; mode < order; ++mode) {
            const auto n = static_cast<std::size_t>(mode);
            if (!has_mode(outputs, mode)) continue;
            EXPECT_EQ(some.output(mode), setup.held.part(n, whole.output(mode))) << setup.name << ", mode " << mode;
            // In f32 the weight of a row's only entry may be what rounding has left.
            if (GetParam().precision == Precision::f32) continue;
            EXPECT_THAT(some.output(mode),
                        RowsNear(setup.held.part(n, expected.outputs[n]), 4 * GetParam().tolerance()))
                << setup.name << ", mode " << mode;
          }
        }
      }
    }
  });
}

TEST_P(HeldRowsOf, GetTheKroneckerProductsOfAWholeBackend) {
  for_each_setup([](const Setup& setup) {
    const int order = static_cast<int>(setup.tensor.order());
    for (const std::uint64_t private_bytes : {std::uint64_t{0}, ample}) {
      BackendConfig config = setup.config(false);
      for (int mode = 0; mode < order; ++mode) config.columns.push_back(1 + mode % 3);
      config.rank = 3;
      config.private_bytes = private_bytes;
      BackendUnderTest whole(GetParam().threads, config);
      config.held = setup.held.index();
      BackendUnderTest some(GetParam().threads, config);
      std::vector<std::vector<double>> factors;
      for (std::size_t n = 0; n < setup.tensor.order(); ++n) {
        factors.push_back(random_matrix(setup.tensor.shape[n], config.columns[n], 3 + n));
      }
      whole.load(factors);
      some.load(setup.held.parts(factors));

      for (int mode = 0; mode < order; ++mode) {
        const PassRequest request(mode, Product::kronecker);
        whole.run(setup.chunks, request);
        some.run(setup.chunks, request);

        const auto columns = config.output_columns_of(mode);
        EXPECT_EQ(some.output(mode, columns),
                  setup.held.part(static_cast<std::size_t>(mode), whole.output(mode, columns)))
            << setup.name << ", mode " << mode;
      }
    }
  });
}

// Of every mode in turn one row of an entry is not held; the bounds of its chunk stay.
TEST_P(HeldRowsOf, RefuseChunksWithOtherRows) {
  const CooTensor tensor = random_tensor({.shape = {300, 41, 517}, .nnz = 500, .seed = 2});
  const HeldCase held(tensor, all_modes(3));
  const EncodedChunk chunk = encode_chunk(tensor, 0, tensor.nnz(), 7);
  for (std::size_t mode = 0; mode < 3; ++mode) {
    std::vector<std::uint64_t> rows = held.rows(mode);
    const std::uint64_t lost = tensor.coordinate(tensor.nnz() / 2, mode);
    ASSERT_TRUE(chunk.lower[mode] < lost && lost < chunk.upper[mode]);
    std::erase(rows, lost);
    BackendConfig config{.layout = TensorLayout(tensor.shape), .rank = held_rank, .precision = GetParam().precision};
    config.held = held.index();
    config.held[mode] = index_of(rows, tensor.shape[mode]);
    BackendUnderTest some(GetParam().threads, config);
    const auto expect_refused = [&](const std::function<void()>& call) {
      try {
        call();
        ADD_FAILURE() << "mode " << mode << ": accepted";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::corrupt);
        EXPECT_THAT(error.what(), ::testing::HasSubstr("chunk 7: mode " + std::to_string(mode) + " has coordinate " +
                                                       std::to_string(lost)));
      }
      some->finish_pass();
    };

    some->begin_pass(0);
    expect_refused([&] { some->submit(0, chunk.view()); });
    some->begin_pass(1);
    const ResidentId packed = some->keep(0, chunk.view(), Tier::packed);
    expect_refused([&] { some->submit_resident(packed); });
    some->begin_pass(2);
    expect_refused([&] { some->keep(0, chunk.view(), Tier::decoded); });
  }
}

// Rows that are not held have no entries: the solution is zero there, and steps over the others say the same.
TEST_P(HeldRowsOf, TakeTheStepsOfAWholeBackend) {
  const CooTensor tensor = random_tensor({.shape = {700, 300, 90}, .nnz = 500, .seed = 6});
  const std::vector<EncodedChunk> chunks = encode(tensor, 300);
  const auto factors = GetParam().held(random_factors(tensor.shape, held_rank, 8));
  const HeldCase held(tensor, all_modes(3) & ~mode_bit(2));
  BackendConfig config{.layout = TensorLayout(tensor.shape), .rank = held_rank, .precision = GetParam().precision};
  config.keep_previous = true;
  config.dual_modes = mode_bit(1);
  BackendUnderTest whole(GetParam().threads, config);
  config.held = held.index();
  config.vectors = {{.rows = config.rows_of(0) + config.rows_of(1) + config.rows_of(2), .has_all_modes = true},
                    {.rows = config.rows_of(0)}};
  BackendUnderTest some(GetParam().threads, config);
  whole.load(factors);
  some.load(held.parts(factors));
  const RowSolver solver(definite_matrix(held_rank), held_rank);
  const double tolerance = GetParam().precision == Precision::f64 ? 1e-12 : 1e-5;
  const auto near = [tolerance](const auto& wanted) {
    return ::testing::Pointwise(::testing::DoubleNear(tolerance), wanted);
  };

  for (const int mode : {0, 1, 2}) {
    const auto n = static_cast<std::size_t>(mode);
    RowProblem problem(solver);
    if (mode == 1) {
      problem.constraint = {.set = RowSet::box, .lower = 0, .upper = 1};
      problem.rho = 1;
    }
    whole.pass(chunks, mode);
    some.pass(chunks, mode);
    const RowUpdate wanted = whole->update_rows(mode, problem);
    const RowUpdate actual = some->update_rows(mode, problem);

    EXPECT_NEAR(actual.inner, wanted.inner, tolerance * (1 + std::abs(wanted.inner)));
    EXPECT_THAT(some.factor(mode), near(held.part(n, whole.factor(mode))));
    if (mode == 1) continue;  // without entries, a dual may move a row
    EXPECT_THAT(actual.norms, near(wanted.norms));
    EXPECT_THAT(some->gram(mode), near(whole->gram(mode)));
    EXPECT_THAT(some->column_sums(mode), near(whole->column_sums(mode)));
  }

  // A column whose norm is zero has equal entries in all rows of the mode, wherever these are.
  some.pass(chunks, 0);
  some->solve_rows(0, solver);
  some->scale_rows(0, std::vector<double>{1, 0, 1, 1, 1});
  EXPECT_NEAR(some.factor(0)[1], std::sqrt(1.0 / 700), tolerance);

  some->copy_to_vector(1, 0);
  some->scale_columns(1, std::vector<double>(held_rank, 2.0), {});
  const std::vector<double> doubled = some.factor(1);
  std::vector<double> kept(doubled.size());
  some->store_vector(0, 1, 0, kept);
  for (std::size_t i = 0; i < kept.size(); ++i) ASSERT_EQ(2 * kept[i], doubled[i]);
  some->copy_from_vector(1, 0);
  EXPECT_EQ(some.factor(1), kept);

  const auto last = static_cast<std::uint32_t>(held.rows(0).size() - 1);
  const std::vector<double> row{1, 2, 3, 4, 5};
  some->load_rows(0, std::vector<std::uint32_t>{last}, row);
  std::vector<double> stored(held_rank);
  some->store_factor(0, last, stored);
  EXPECT_EQ(stored, row);
  EXPECT_THROW(some->load_rows(0, std::vector<std::uint32_t>{last + 1}, row), Error);

  const std::uint64_t half = held.rows(1).size() / 2;
  std::vector<OwnedRows> own{{0, last + 1}, {0, half}, {0, 90}};
  const std::vector<double> all = some->column_sums(1);
  some->own(own);
  std::vector<double> sums = some->column_sums(1);
  own[1] = {half, held.rows(1).size()};
  some->own(own);
  for (std::size_t r = 0; r < sums.size(); ++r) sums[r] += some->column_sums(1)[r];
  EXPECT_THAT(sums, near(all));
  own[1].end = 300;
  EXPECT_THROW(some->own(own), Error);
  EXPECT_EQ(some->take_factor(0).size(), held.rows(0).size() * held_rank);
}

INSTANTIATE_TEST_SUITE_P(HeldRows, HeldRowsOf, ::testing::ValuesIn(every_backend()),
                         [](const auto& which) { return which.param.name(); });

// 1000 rows of 200'000, and so on.
BackendConfig with_held_rows() {
  const std::vector<std::uint64_t> shape{200'000, 300'000, 100'000};
  BackendConfig config{.layout = TensorLayout(shape), .rank = 11};
  for (std::size_t mode = 0; mode < 3; ++mode) {
    std::vector<std::uint64_t> rows;
    for (std::uint64_t row = 0; row < 1000 * (mode + 1); ++row) rows.push_back(7 * row);
    config.held.push_back(index_of(rows, shape[mode]));
  }
  return config;
}

TEST(HeldRows, TakeTheMemoryOfATensorThatHasNoOthers) {
  BackendConfig some = with_held_rows();
  BackendConfig small{.layout = TensorLayout(std::vector<std::uint64_t>{1000, 2000, 3000}), .rank = 11};
  for (BackendConfig* const config : {&some, &small}) {
    config->keep_previous = true;
    config->dual_modes = mode_bit(1);
    config->all_outputs = true;
    config->private_bytes = 300'000;
    config->vectors = {{.rows = 6000, .has_all_modes = true}};
  }
  const std::vector<std::uint64_t> nnzs{5000, 70'000};

  const Footprint footprint = host_kind().footprint(some, 2);
  const Footprint expected = host_kind().footprint(small, 2);

  EXPECT_EQ(footprint.host.bytes(), expected.host.bytes());
  EXPECT_EQ(host_kind().useful_private_bytes(some, 3), host_kind().useful_private_bytes(small, 3));
  EXPECT_EQ(host_kind().arranged_bytes(some, nnzs, 2), host_kind().arranged_bytes(small, nnzs, 2));
}

TEST(HeldRows, AreOfEveryModeAndItsLengthAndOfNaturalChunks) {
  SerialExecutor executor;
  const auto refusal = [&](const BackendConfig& config) -> std::string {
    try {
      host_kind().make(config, executor);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      return error.what();
    }
    return "";
  };
  BackendConfig config = with_held_rows();
  EXPECT_EQ(refusal(config), "");

  config.orders.resize(3);
  EXPECT_THAT(refusal(config), ::testing::HasSubstr("not of chunks in the order of a mode"));
  config.orders.clear();
  std::swap(config.held[0], config.held[1]);
  EXPECT_THAT(refusal(config), ::testing::HasSubstr("held rows of mode 0 are of a mode of another length"));
  config.held.pop_back();
  EXPECT_THAT(refusal(config), ::testing::HasSubstr("held rows are of every mode"));
}

// A worker without chunks.
TEST(HeldRows, MayBeNone) {
  BackendConfig config{.layout = TensorLayout(std::vector<std::uint64_t>{30, 40, 50}), .rank = 2};
  for (const std::uint64_t length : config.layout.shape()) config.held.push_back(index_of({}, length));
  for (const int threads : {0, 1, 2}) {
    BackendUnderTest none(threads, config);

    EXPECT_EQ(none.pass({}, 1), std::vector<double>());
    EXPECT_THAT(none->update_rows(1, RowSolver(definite_matrix(2), 2)).norms, ::testing::Each(0));
    EXPECT_THAT(none->gram(1), ::testing::Each(0));
    EXPECT_THAT(none->column_sums(0), ::testing::Each(0));
    EXPECT_EQ(none->take_factor(2), std::vector<double>());
  }
}

}  // namespace
}  // namespace blco::testing
