// Runs the tests of this program as an older processor would, if the environment's BLCO_VECTORS names its level; ctest
// does so for those whose loops are compiled per instruction set.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

#include "blco/bits.hpp"
#include "tests/vector_limit.hpp"

namespace blco {
namespace {

const std::map<std::string, VectorLevel> levels{
    {"portable", VectorLevel::portable}, {"avx2", VectorLevel::avx2}, {"avx512", VectorLevel::avx512}};

VectorLevel level_asked_for() {
  const char* const name = std::getenv("BLCO_VECTORS");
  return levels.at(name == nullptr ? "avx512" : name);
}

class LimitedVectors : public ::testing::Environment {
 public:
  void SetUp() override {
    if (std::getenv("BLCO_VECTORS") == nullptr) return;
    if (level_asked_for() >= processor_vector_level()) {
      GTEST_SKIP() << "this CPU has nothing above " << std::getenv("BLCO_VECTORS") << ", so that the suites run it";
    }
    limit_vectors(level_asked_for());
  }
};

[[maybe_unused]] const auto* const limited = ::testing::AddGlobalTestEnvironment(new LimitedVectors);

TEST(VectorLevels, AreThoseThatWereAskedFor) {
  const VectorLevel level = level_asked_for();
  const std::int64_t best_target = hwy::SupportedTargets() & -hwy::SupportedTargets();

  EXPECT_LE(vector_level(), level);
  EXPECT_TRUE(level != VectorLevel::portable || !has_fast_pext());
  if (level == VectorLevel::portable) {
    EXPECT_EQ(best_target, HWY_STATIC_TARGET);
  }
#if HWY_ARCH_X86
  EXPECT_TRUE(level == VectorLevel::avx512 || best_target >= HWY_AVX2);  // better targets are lower bits
#endif
}

}  // namespace
}  // namespace blco
