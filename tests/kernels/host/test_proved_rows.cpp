// Which passes look at the rows of a chunk: every one over a chunk that is read again, and of a chunk that stays packed
// the first one alone, whatever they compute.
//
// A packed chunk whose memory a test changes nevertheless shows whether a pass has looked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "blco/error.hpp"
#include "blco/payload.hpp"
#include "kernels/device_kind.hpp"
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
void move_base(EncodedChunk& chunk, std::uint64_t bit) {
  std::uint64_t base = 0;
  std::byte* const at = chunk.index.data() + offsetof(PayloadHeader, base);
  std::memcpy(&base, at, sizeof(base));
  base += bit;
  std::memcpy(at, &base, sizeof(base));
}

class ProvedRows : public ::testing::TestWithParam<PassCase> {
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

    // A packed chunk is kept at the first call; every call takes the same one.
    void pass(const EncodedChunk& chunk) {
      backend_->begin_pass(request());
      try {
        if (of_.tier == Tier::packed) {
          if (!kept_) kept_ = backend_->keep(0, chunk.view(), Tier::packed);
          backend_->submit_resident(*kept_);
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
    std::optional<ResidentId> kept_;
  };
};

TEST_P(ProvedRows, AreThoseOfAPackedChunkAfterOnePass) {
  for (const auto& shape : proved_shapes()) {
    EncodedChunk chunk = Corner(shape).chunk();
    Passes passes(GetParam(), shape);
    passes.pass(chunk);
    const auto first = passes.result();
    passes.pass(chunk);
    EXPECT_EQ(passes.result(), first);

    move_base(chunk, std::uint64_t{1} << (shape.size() == 3 ? 17 : 63));

    EXPECT_TRUE(Passes(GetParam(), shape).refuses(chunk));
    EXPECT_EQ(passes.refuses(chunk), GetParam().tier == Tier::streamed);
  }
}

TEST_P(ProvedRows, AreNotThoseOfAPassThatFailed) {
  for (const auto& shape : proved_shapes()) {
    const Corner corner(shape);
    for (std::size_t mode = 0; mode < shape.size(); ++mode) {
      for (const std::size_t entry : {std::size_t{0}, std::size_t{300}, corner.tensor.nnz() - 1}) {
        const EncodedChunk chunk = corner.forged(entry, mode);
        Passes passes(GetParam(), shape);

        for (int pass = 0; pass < 3; ++pass) EXPECT_TRUE(passes.refuses(chunk));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(HostPass, ProvedRows, ::testing::ValuesIn(pass_cases()),
                         [](const auto& which) { return which.param.name; });

}  // namespace
}  // namespace blco::testing
