// Trees of decoded chunks: what passes over them add up, which chunks get one, and what stays as it is without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "blco/bits.hpp"
#include "kernels/host/fiber_tree.hpp"
#include "kernels/host/host_backend.hpp"
#include "kernels/host/sorted_tiles.hpp"
#include "tests/kernels/backend_cases.hpp"
#include "tests/random_tensor.hpp"
#include "tests/thread_executor.hpp"

namespace blco::testing {
namespace {

using ::testing::ElementsAre;

constexpr std::uint64_t ample = std::uint64_t{1} << 40;

// A chunk of its own, decoded, for threads of one executor.
class TreeCase {
 public:
  TreeCase(const CooTensor& tensor, const EncodedChunk& chunk, int threads)
      : executor_(threads),
        order_(static_cast<int>(tensor.order())),
        decoder_(TensorLayout(tensor.shape), has_fast_pext() ? BitExtraction::pext : BitExtraction::tables) {
    for (int i = 0; i < threads; ++i) rings_.emplace_back(order_);
    source_ = decoder_.open(chunk.view());
    decoded_ = decoder_.make_decoded(source_);
    for (std::uint64_t frame = 0; frame < source_.frames(); ++frame) {
      decoder_.decode_into(source_, frame, rings_[0], decoded_);
    }
    source_.decoded = &decoded_;
  }

  template <class T = double>
  std::optional<FiberTree<T>> tree(std::uint64_t room = ample, std::uint64_t row_bytes = 64) {
    return build_fiber_tree<T>(decoder_, source_, order_, rings_, {row_bytes, room}, executor_);
  }

  // The first part adds to the output, every other one to a block from the chunk's lower bound on.
  template <class T>
  std::vector<double> pass(const FiberTree<T>& tree, int mode, std::span<const std::vector<double>> factors, int rank) {
    std::vector<RowMatrix<T>> held;
    std::vector<const T*> rows;
    for (const std::vector<double>& factor : factors) {
      held.emplace_back(factor.size() / static_cast<std::size_t>(rank), rank);
      for (std::size_t i = 0; i < factor.size(); ++i) at(held.back(), i, rank) = static_cast<T>(factor[i]);
    }
    for (const RowMatrix<T>& factor : held) rows.push_back(factor.row(0));
    const auto n = static_cast<std::size_t>(mode);
    const RowRange range = source_.range[n];
    RowMatrix<T> output(held[n].rows(), rank);
    for (std::size_t part = 0; part < tree.parts.size(); ++part) {
      RowMatrix<T> block(std::uint64_t{range.upper} - range.lower + 1, rank);
      FiberPass<T> pass{mode, rows, {output.row(0)}, output.stride()};
      if (part > 0) pass.target = {block.row(0), nullptr, 0, range.lower};
      mttkrp_fibers(tree, source_, pass, part);
      for (std::uint64_t i = 0; i < block.rows() * output.stride(); ++i) {
        output.row(range.lower)[i] += block.row(0)[i];
      }
    }
    std::vector<double> numbers(factors[n].size());
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(at(output, i, rank));
    return numbers;
  }

 private:
  template <class T>
  static T& at(RowMatrix<T>& matrix, std::size_t i, int rank) {
    const auto columns = static_cast<std::size_t>(rank);
    return matrix.row(i / columns)[i % columns];
  }

  ThreadExecutor executor_;
  int order_;
  FrameDecoder decoder_;
  std::vector<FrameRing> rings_;
  FrameSource source_;
  DecodedChunk decoded_;
};

CooTensor part_of(const CooTensor& tensor, std::size_t first, std::size_t count) {
  const auto begin = tensor.coordinates.begin() + static_cast<std::ptrdiff_t>(first * tensor.order());
  const auto values = tensor.values.begin() + static_cast<std::ptrdiff_t>(first);
  return {tensor.shape,
          {begin, begin + static_cast<std::ptrdiff_t>(count * tensor.order())},
          {values, values + static_cast<std::ptrdiff_t>(count)}};
}

// Compares passes of all modes over the tree of the tensor's second half.
template <class T>
void expect_right_trees(const CooTensor& tensor, int rank, int threads, double tolerance) {
  const std::size_t half = tensor.nnz() / 2;
  const CooTensor rest = part_of(tensor, half, tensor.nnz() - half);
  TreeCase chunk(tensor, encode_chunk(tensor, half, rest.nnz(), 1), threads);
  const auto factors = random_factors(tensor.shape, rank, 7);

  const auto tree = chunk.tree<T>();

  ASSERT_TRUE(tree);
  for (std::size_t mode = 0; mode < tensor.order(); ++mode) {
    EXPECT_THAT(chunk.pass(*tree, static_cast<int>(mode), factors, rank),
                RowsNear(coordinate_mttkrp(rest, factors, rank, mode), tolerance))
        << tensor.order() << " modes, mode " << mode << ", rank " << rank << ", " << threads << " threads";
  }
}

TEST(FiberTrees, AddUpWhatCoordinatesGive) {
  const std::vector<std::vector<std::uint64_t>> shapes{{30, 200}, {5, 150, 7}, {3, 4, 5, 120}, {3, 2, 90, 4, 2}};
  for (const auto& shape : shapes) {
    for (const Values values : {Values::uniform, Values::ones}) {
      const auto tensor = random_tensor({.shape = shape, .nnz = 9000, .seed = 4, .values = values});
      for (const int rank : {1, 16, 17, 33}) {
        expect_right_trees<double>(tensor, rank, rank % 2 + 2, 1e-12);
        expect_right_trees<float>(tensor, rank, 2, 1e-5);
      }
    }
  }
}

// Coordinates near the end of modes whose line index has more than 64 bits.
TEST(FiberTrees, AddUpChunksWithKeys) {
  const std::vector<std::uint64_t> near{3, 2, 100, 2, 3};
  CooTensor tensor = random_tensor({.shape = near, .nnz = 6000, .seed = 5});
  tensor.shape.assign(5, 8192);
  for (std::size_t i = 0; i < tensor.coordinates.size(); ++i) tensor.coordinates[i] += 8192 - near[i % 5];
  tensor = coalesce(tensor);
  ASSERT_TRUE(TensorLayout(tensor.shape).has_high_word());

  expect_right_trees<double>(tensor, 3, 3, 1e-12);
}

TEST(FiberTrees, HaveTheModeOfTheLongestFibersAsLeaves) {
  // 40 fibers along mode 1, each of a row of its own in mode 0.
  CooTensor tensor{{300, 60, 4}, {}, {}};
  for (std::uint64_t i = 0; i < 40; ++i) {
    for (std::uint64_t j = 0; j < 60; ++j) {
      for (const std::uint64_t coordinate : {7 * i, j, i % 4}) tensor.coordinates.push_back(coordinate);
      tensor.values.push_back(1.0);
    }
  }
  tensor = coalesce(tensor);
  TreeCase chunk(tensor, encode_chunk(tensor, 0, tensor.nnz(), 0), 2);

  const auto tree = chunk.tree();
  const auto without = chunk.tree(ample, /*row_bytes=*/max_leaf_bytes / 60 + 1);

  ASSERT_TRUE(tree);
  EXPECT_THAT(tree->tree.modes, ElementsAre(2, 0, 1));
  EXPECT_THAT(count_nodes(tree->tree), ElementsAre(4, 40, 2400));
  EXPECT_EQ(tree->parts.size(), 2U);
  EXPECT_TRUE(tree->serves(0));
  EXPECT_FALSE(tree->serves(1));
  EXPECT_FALSE(without) << "the rows of the leaves are too many for the cache, and other fibers are short";
}

TEST(FiberTrees, TakeNoMoreThanTheirRoom) {
  const auto tensor = random_tensor({.shape = {3, 4, 5, 120}, .nnz = 6000, .seed = 6});
  TreeCase chunk(tensor, encode_chunk(tensor, 0, tensor.nnz(), 0), 2);
  const auto tree = chunk.tree();
  ASSERT_TRUE(tree);
  const std::uint64_t bytes = fiber_tree_bytes<double>(count_nodes(tree->tree));
  const std::uint64_t scratch = fiber_scratch_bytes(4, tensor.nnz(), 2);

  EXPECT_EQ(tree->tree.nonzero.capacity(), 0U);
  EXPECT_GE(bytes, tensor.nnz() * (sizeof(double) + sizeof(std::uint32_t)));
  EXPECT_TRUE(chunk.tree(bytes + scratch));
  EXPECT_FALSE(chunk.tree(bytes + scratch - 1));
  EXPECT_FALSE(chunk.tree(scratch - 1));
}

TEST(FiberTrees, CountInTheBytesOfUseForCopies) {
  const std::vector<std::uint64_t> nnzs{5000, 100'000};
  BackendConfig config{TensorLayout(std::vector<std::uint64_t>{3, 4, 5, 120}), 16};
  const std::uint64_t with = host_sorted_bytes(config, nnzs, 2);
  config.fiber_trees = false;
  const std::uint64_t without = host_sorted_bytes(config, nnzs, 2);

  EXPECT_GE(with, fiber_scratch_bytes(4, 100'000, 2) + 105'000 * 12U);
  EXPECT_GE(with, without);
  config.fiber_trees = true;
  EXPECT_LE(host_sorted_bytes(config, nnzs, 1), without) << "one thread makes no trees";
}

// A backend that keeps chunks decoded; trees are allowed.
class TreePasses {
 public:
  TreePasses(const BackendCase& which, const CooTensor& tensor, int rank, std::uint64_t private_bytes = ample,
             bool fiber_trees = true)
      : chunks_(encode(tensor, 3000)),
        backend_(which, tensor.shape, rank, private_bytes, /*sorted_bytes=*/ample, fiber_trees) {
    backend_.load(random_factors(tensor.shape, rank, 2));
    for (const EncodedChunk& chunk : chunks_) {
      kept_.push_back(backend_->keep(0, chunk.view(), ResidentForm::decoded));
    }
  }

  // After as many passes as sorting and trees wait for.
  std::vector<double> late_pass(int mode) {
    for (int i = 0; i < passes_before_sorting; ++i) backend_.resident_pass(kept_, mode);
    return backend_.resident_pass(kept_, mode);
  }
  std::vector<double> streamed_pass(int mode) { return backend_.pass(chunks_, mode); }
  std::uint64_t trees() { return backend_->tree_chunks(); }
  std::size_t chunks() const { return chunks_.size(); }

 private:
  std::vector<EncodedChunk> chunks_;
  BackendUnderTest backend_;
  std::vector<ResidentId> kept_;
};

CooTensor with_long_fibers(Values values = Values::uniform) {
  return random_tensor({.shape = {3, 4, 2, 300}, .nnz = 8000, .seed = 8, .values = values});
}

TEST(HostBackendTrees, ServeEveryModeAfterSomePasses) {
  for (const Values values : {Values::uniform, Values::ones}) {
    const CooTensor tensor = with_long_fibers(values);
    const auto factors = random_factors(tensor.shape, 17, 2);
    for (const BackendCase which : {BackendCase{2, Precision::f64}, BackendCase{3, Precision::f32}}) {
      TreePasses passes(which, tensor, 17);

      for (std::size_t mode = 0; mode < 4; ++mode) {
        const auto output = passes.late_pass(static_cast<int>(mode));

        EXPECT_THAT(output, RowsNear(coordinate_mttkrp(tensor, factors, 17, mode), which.tolerance()))
            << which.name() << ", mode " << mode;
        EXPECT_EQ(passes.trees(), passes.chunks()) << which.name();
      }
    }
  }
}

TEST(HostBackendTrees, AreNotMadeWhereTheyWouldChangeBitsOrSlowDown) {
  const CooTensor tensor = with_long_fibers();
  const CooTensor short_fibers = random_tensor({.shape = {20, 40, 50, 60}, .nnz = 4000, .seed = 9});
  const CooTensor few_modes = random_tensor({.shape = {5, 8, 200}, .nnz = 5000, .seed = 10});
  TreePasses one_thread({1, Precision::f64}, tensor, 16);
  TreePasses mixed({2, Precision::mixed}, tensor, 16);
  TreePasses forbidden({2, Precision::f64}, tensor, 16, ample, /*fiber_trees=*/false);
  TreePasses scattered({2, Precision::f64}, short_fibers, 16);
  TreePasses of_three({2, Precision::f64}, few_modes, 16);

  for (TreePasses* passes : {&one_thread, &mixed, &forbidden, &scattered, &of_three}) {
    for (int mode = 1; mode < 3; ++mode) EXPECT_EQ(passes->late_pass(mode), passes->streamed_pass(mode));
    EXPECT_EQ(passes->trees(), 0U);
  }
}

// Without private rows, each row's terms are added in the order of the chunk whatever the threads.
TEST(HostBackendTrees, ServeNoPassWhoseRowsHaveOwners) {
  const CooTensor tensor = with_long_fibers();
  TreePasses two({2, Precision::f64}, tensor, 16, /*private_bytes=*/0);
  TreePasses three({3, Precision::f64}, tensor, 16, /*private_bytes=*/0);
  TreePasses one({1, Precision::f64}, tensor, 16);

  for (int mode = 0; mode < 4; ++mode) {
    const auto expected = one.streamed_pass(mode);
    EXPECT_EQ(two.late_pass(mode), expected);
    EXPECT_EQ(three.late_pass(mode), expected);
  }
  EXPECT_GT(two.trees(), 0U) << "this test wants trees that are not used";
}

}  // namespace
}  // namespace blco::testing
