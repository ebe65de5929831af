// Which passes look at the rows of a chunk: the first one over its payloads, whatever it computes, and no later one.
//
// Payloads are told apart by the checksums in their headers. One that was changed without its checksum is taken for
// what it was: that shows whether a pass has looked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "blco/error.hpp"
#include "blco/payload.hpp"
#include "kernels/device_kind.hpp"
#include "kernels/host/proved_chunks.hpp"
#include "tests/kernels/loss_cases.hpp"
#include "tests/random_tensor.hpp"
#include "tests/thread_executor.hpp"

namespace blco::testing {
namespace {

constexpr std::uint64_t ample_bytes = std::uint64_t{1} << 30;

// Lines of up to 64 bits, and longer ones.
std::vector<std::vector<std::uint64_t>> proved_shapes() { return {{64, 64, 64}, {8192, 8192, 8192, 8192, 8192}}; }

struct PassCase {
  std::string name;
  bool kronecker = false;
  bool losses = false;
  ModeSet outputs = 0;  // of loss passes: bits past the last mode mean none
  int threads = 1;
  std::uint64_t private_bytes = ample_bytes;
  Tier tier = Tier::streamed;
};

std::ostream& operator<<(std::ostream& out, const PassCase& pass) { return out << pass.name; }

std::vector<PassCase> pass_cases() {
  std::vector<PassCase> cases;
  for (const Tier tier : {Tier::streamed, Tier::packed}) {
    const std::string held = tier == Tier::packed ? "Packed" : "Streamed";
    for (const int threads : {1, 2}) {
      for (const std::uint64_t private_bytes : {std::uint64_t{0}, ample_bytes}) {
        if (threads == 1 && private_bytes == 0) continue;
        const std::string end = held + std::to_string(threads) + (private_bytes == 0 ? "Owned" : "");
        cases.push_back({"Mttkrp" + end, false, false, 0, threads, private_bytes, tier});
        cases.push_back({"Kronecker" + end, true, false, 0, threads, private_bytes, tier});
        cases.push_back({"LossAlone" + end, false, true, 0, threads, private_bytes, tier});
        cases.push_back({"LossOfOneMode" + end, false, true, mode_bit(1), threads, private_bytes, tier});
        cases.push_back({"LossOfAllModes" + end, false, true, all_modes(3), threads, private_bytes, tier});
      }
    }
  }
  return cases;
}

// A tensor whose nonzeros lie in its first corner: a row is half a mode from one that no nonzero may have.
struct Corner {
  explicit Corner(const std::vector<std::uint64_t>& shape, std::uint64_t nnz = 700, std::uint64_t seed = 1)
      : tensor(random_tensor({.shape = halved(shape), .nnz = nnz, .seed = seed, .values = Values::counts})) {
    tensor.shape = shape;
    tensor = coalesce(tensor);
  }
  static std::vector<std::uint64_t> halved(std::vector<std::uint64_t> shape) {
    for (std::uint64_t& length : shape) length /= 2;
    return shape;
  }
  EncodedChunk chunk(std::uint64_t number = 3) const { return encode_chunk(tensor, 0, tensor.nnz(), number); }
  // One nonzero, the last or another, in the other half of a mode; the chunk keeps its bounds, and checksums are right.
  EncodedChunk forged(std::size_t entry, std::size_t mode) const {
    CooTensor moved = tensor;
    moved.coordinates[entry * tensor.order() + mode] += tensor.shape[mode] / 2;
    EncodedChunk result = encode_chunk(moved, 0, tensor.nnz(), 3);
    result.lower = chunk().lower;
    result.upper = chunk().upper;
    return result;
  }

  CooTensor tensor;
};

// Moves the first frame by one bit, whatever the checksum says.
EncodedChunk with_moved_base(EncodedChunk chunk, std::uint64_t bit) {
  std::uint64_t base = 0;
  std::byte* const at = chunk.index.data() + offsetof(PayloadHeader, base);
  std::memcpy(&base, at, sizeof(base));
  base += bit;
  std::memcpy(at, &base, sizeof(base));
  return chunk;
}

class ProvedChunksOf : public ::testing::TestWithParam<PassCase> {
 protected:
  // A backend with its factors, and passes over one chunk.
  class Passes {
   public:
    Passes(const PassCase& of, const std::vector<std::uint64_t>& shape)
        : of_(of), shape_(shape), executor_(of.threads) {
      BackendConfig config{.layout = TensorLayout(shape), .rank = 2, .private_bytes = of.private_bytes};
      config.loss_passes = config.all_outputs = of.losses;
      if (of.kronecker) config.columns.assign(shape.size(), 2);
      backend_ = host_kind().make(config, executor_);
      const auto factors = positive_factors(shape, 2, 5);
      for (std::size_t n = 0; n < factors.size(); ++n) backend_->load_factor(static_cast<int>(n), 0, factors[n]);
    }

    // `chunk` must live on if the tier is packed.
    void pass(const EncodedChunk& chunk) {
      backend_->begin_pass(request());
      try {
        if (of_.tier == Tier::packed) {
          backend_->submit_resident(backend_->keep(0, chunk.view(), Tier::packed));
        } else {
          backend_->submit(0, chunk.view());
        }
      } catch (...) {
        backend_->finish_pass();
        throw;
      }
      backend_->finish_pass();
    }
    bool refuses(const EncodedChunk& chunk) {
      try {
        pass(chunk);
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::corrupt);
        EXPECT_THAT(error.what(), ::testing::HasSubstr("has a coordinate outside"));
        return true;
      }
      return false;
    }
    // The sum of terms of losses; else the output.
    std::vector<double> result() const {
      if (of_.losses) return {backend_->sum_of_terms()};
      const std::uint64_t columns = of_.kronecker ? std::uint64_t{1} << (shape_.size() - 1) : 2;
      std::vector<double> rows(shape_[1] * columns);
      backend_->read_output(1, 0, rows);
      return rows;
    }

   private:
    PassRequest request() const {
      if (of_.kronecker) return {1, Product::kronecker};
      if (!of_.losses) return 1;
      return {poisson_given().function,
              of_.outputs == all_modes(3) ? all_modes(static_cast<int>(shape_.size())) : of_.outputs};
    }

    PassCase of_;
    std::vector<std::uint64_t> shape_;
    ThreadExecutor executor_;
    std::unique_ptr<Backend> backend_;
  };
};

TEST_P(ProvedChunksOf, AreLookedAtInTheFirstPassOnly) {
  for (const auto& shape : proved_shapes()) {
    const EncodedChunk chunk = Corner(shape).chunk();
    const EncodedChunk moved = with_moved_base(chunk, std::uint64_t{1} << (shape.size() == 3 ? 17 : 63));
    Passes fresh(GetParam(), shape);
    EXPECT_TRUE(fresh.refuses(moved));
    Passes passes(GetParam(), shape);
    passes.pass(chunk);
    const auto first = passes.result();

    passes.pass(chunk);
    EXPECT_EQ(passes.result(), first);
    EXPECT_FALSE(passes.refuses(moved));
    EXPECT_NE(passes.result(), first);
  }
}

TEST_P(ProvedChunksOf, AreLookedAtAgainWhereThePayloadsAreOthers) {
  for (const auto& shape : proved_shapes()) {
    const Corner corner(shape);
    const EncodedChunk chunk = corner.chunk();
    std::vector<EncodedChunk> others;
    for (std::size_t mode = 0; mode < shape.size(); ++mode) {
      for (const std::size_t entry : {std::size_t{0}, std::size_t{300}, corner.tensor.nnz() - 1}) {
        others.push_back(corner.forged(entry, mode));
      }
    }
    Passes passes(GetParam(), shape);
    passes.pass(chunk);
    const auto first = passes.result();

    for (const EncodedChunk& other : others) EXPECT_TRUE(passes.refuses(other));
    passes.pass(chunk);
    EXPECT_EQ(passes.result(), first);
  }
}

TEST_P(ProvedChunksOf, AreLookedAtAgainWhereTheBoundsAreOthers) {
  for (const auto& shape : proved_shapes()) {
    const EncodedChunk chunk = Corner(shape).chunk();
    std::vector<EncodedChunk> others;
    for (std::size_t mode = 0; mode < shape.size(); ++mode) {
      others.push_back(chunk);
      ++others.back().lower[mode];
      others.push_back(chunk);
      --others.back().upper[mode];
    }
    Passes passes(GetParam(), shape);
    passes.pass(chunk);

    for (const EncodedChunk& other : others) EXPECT_TRUE(passes.refuses(other));
  }
}

TEST_P(ProvedChunksOf, AreNotThoseOfAPassThatFailed) {
  for (const auto& shape : proved_shapes()) {
    const Corner corner(shape);
    std::vector<EncodedChunk> chunks;
    for (const std::size_t entry : {std::size_t{0}, corner.tensor.nnz() - 1}) chunks.push_back(corner.forged(entry, 2));
    Passes passes(GetParam(), shape);

    for (const EncodedChunk& chunk : chunks) {
      for (int pass = 0; pass < 3; ++pass) EXPECT_TRUE(passes.refuses(chunk));
    }
  }
}

TEST_P(ProvedChunksOf, AreProvedToTheirEndOnly) {
  // The payload of more nonzeros, of which the chunk has the first ones, and then all: the last one is out of bounds.
  for (const auto& shape : proved_shapes()) {
    const Corner corner(shape);
    const EncodedChunk all = corner.forged(corner.tensor.nnz() - 1, 0);
    EncodedChunk fewer = all;
    --fewer.nnz;
    Passes passes(GetParam(), shape);

    EXPECT_FALSE(passes.refuses(fewer));
    EXPECT_TRUE(passes.refuses(all));
  }
}

TEST_P(ProvedChunksOf, StayWhereOthersComeUnderTheirNumber) {
  const auto shape = proved_shapes()[0];
  const EncodedChunk chunk = Corner(shape).chunk();
  const EncodedChunk other = Corner(shape, 700, 2).chunk();
  Passes passes(GetParam(), shape);
  passes.pass(chunk);

  passes.pass(other);

  const std::uint64_t bit = std::uint64_t{1} << 17;
  const EncodedChunk moved = with_moved_base(chunk, bit);
  const EncodedChunk other_moved = with_moved_base(other, bit);
  EXPECT_FALSE(passes.refuses(moved));
  EXPECT_TRUE(passes.refuses(other_moved));
}

TEST_P(ProvedChunksOf, HaveNumbersBelowALimit) {
  const Corner corner(proved_shapes()[0]);
  for (const std::uint64_t number : {ProvedChunks::most_chunks - 1, ProvedChunks::most_chunks, ~std::uint64_t{0}}) {
    const EncodedChunk chunk = corner.chunk(number);
    const EncodedChunk moved = with_moved_base(chunk, std::uint64_t{1} << 17);
    Passes passes(GetParam(), proved_shapes()[0]);

    passes.pass(chunk);
    passes.pass(chunk);

    EXPECT_EQ(passes.refuses(moved), number >= ProvedChunks::most_chunks);
  }
}

INSTANTIATE_TEST_SUITE_P(HostPass, ProvedChunksOf, ::testing::ValuesIn(pass_cases()),
                         [](const auto& which) { return which.param.name; });

}  // namespace
}  // namespace blco::testing
