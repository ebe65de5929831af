// What a job says whose budget is below its minimum: what the memory is for, and advice that helps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/cpd.hpp>
#include <blco/evaluate.hpp>
#include <blco/generate.hpp>
#include <blco/starts.hpp>
#include <blco/tensor_file.hpp>
#include <blco/tucker.hpp>
#include <functional>
#include <regex>
#include <string>
#include <vector>

#include "blco/error.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

constexpr double bytes_of_mebibyte = 1 << 20;

// In MiB.
double size_of(const std::string& number, const std::string& unit) {
  const double factor = unit == "GiB" ? 1024 : unit == "MiB" ? 1 : unit == "KiB" ? 1.0 / 1024 : 1 / bytes_of_mebibyte;
  return std::stod(number) * factor;
}

struct Refusal {
  double minimum = 0;
  double sum = 0;  // of what it is for
  std::string message;
};

Refusal refusal_of(const std::function<void()>& job, const std::string& memory = "host") {
  try {
    job();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::out_of_memory) << error.what();
    Refusal refusal{.message = error.what()};
    std::smatch parts;
    const std::regex form(R"(requires at least ([0-9.]+) ([KMG]?i?B) of )" + memory +
                          R"( memory \((.*)\), but the budget)");
    EXPECT_TRUE(std::regex_search(refusal.message, parts, form)) << refusal.message;
    if (parts.empty()) return refusal;
    refusal.minimum = size_of(parts[1], parts[2]);
    const std::string terms = parts[3];
    const std::regex term(R"(([0-9.]+) ([KMG]?i?B) for )");
    for (std::sregex_iterator at(terms.begin(), terms.end(), term); at != std::sregex_iterator(); ++at) {
      refusal.sum += size_of((*at)[1], (*at)[2]);
    }
    return refusal;
  }
  ADD_FAILURE() << "no refusal";
  return {};
}

class RefusedBudget : public testing::Test {
 protected:
  TensorFile generate(const std::string& name, const std::vector<std::uint64_t>& shape, std::uint64_t nnz) {
    generate_container({.shape = shape, .nnz = nnz, .counts = true}, folder_ / name);
    return TensorFile(folder_ / name);
  }

  TemporaryFolder folder_;
};

CpdOptions options_of(const CpdMethod& method, std::uint64_t bytes = 1 << 20) {
  return {.method = method, .rank = 8, .compute = {.devices = {"cpu"}, .threads = 2, .memory = {.host_bytes = bytes}}};
}

TEST_F(RefusedBudget, SaysWhatTheMemoryIsFor) {
  const TensorFile tensor = generate("t.blco", {30000, 20000, 10000}, 20000);
  const TensorFile held_out = generate("h.blco", {30000, 20000, 10000}, 2000);
  const RowConstraint simplex{.set = RowSet::simplex};
  std::vector<std::pair<std::string, std::function<void()>>> jobs;
  const auto add_fit = [&](const std::string& term, const CpdMethod& method) {
    jobs.emplace_back(term, [&tensor, method] { fit_cpd(tensor, options_of(method)); });
  };
  add_fit("momentum", AlsMethod());
  add_fit("duals of the constraints", AlsMethod{{simplex, {}, {}}});
  add_fit("the output of a pass", AprMethod());
  add_fit("vectors of L-BFGS", GcpMethod());
  add_fit("vectors of L-BFGS", GcpMethod{.loss = {LossKind::poisson}});
  add_fit("sampled cells", GcpAdamMethod{.loss = {LossKind::huber, 1}});
  add_fit("directions of conjugate gradients", CompletionMethod{});
  add_fit("the best model", CompletionMethod{.validation = &held_out});
  jobs.emplace_back("initial factors", [&] {
    CpdOptions options = options_of(AlsMethod());
    options.start = Start::nvecs;
    fit_cpd(tensor, options);
  });
  jobs.emplace_back("models of other starts", [&] { fit_starts(tensor, options_of(AlsMethod()), 3); });
  for (const TuckerMethod method : {TuckerMethod::hooi, TuckerMethod::hoqri}) {
    jobs.emplace_back("matrices", [&tensor, method] {
      fit_tucker(tensor, {.method = method, .ranks = {8}, .compute = options_of(AlsMethod()).compute});
    });
  }
  for (const auto& [term, job] : jobs) {
    const Refusal refusal = refusal_of(job);

    // Each of at most 12 terms is rounded to 0.05 MiB.
    EXPECT_NEAR(refusal.sum, refusal.minimum, 0.65) << refusal.message;
    EXPECT_THAT(refusal.message, testing::HasSubstr(" MiB for " + term));
    EXPECT_THAT(refusal.message, testing::HasSubstr(" MiB for the library"));
  }
}

TEST_F(RefusedBudget, SaysWhatDeviceMemoryIsFor) {
  const TensorFile tensor = generate("t.blco", {300000, 20000, 10000}, 20000);
  const DeclaredGpu gpu{.memory_bytes = std::uint64_t{1} << 30};
  const RowConstraint simplex{.set = RowSet::simplex};
  const std::vector<std::pair<std::string, CpdMethod>> methods{
      {"factors", AprMethod()},
      {"the output of a pass", GcpMethod()},
      {"duals of the constraints", AlsMethod{{simplex, {}, {}}}},
      {"chunks on their way", CompletionMethod()}};
  for (const auto& [term, method] : methods) {
    CpdOptions options = options_of(method, 0);
    options.rank = 1;  // of more columns, a device may have fewer
    options.compute.devices.clear();
    const auto minimum = static_cast<double>(plan_cpd(tensor, options, &gpu).device_minimum_bytes);
    options.compute.memory.device_bytes = 1 << 20;

    const Refusal refusal = refusal_of([&] { plan_cpd(tensor, options, &gpu); }, "device");

    EXPECT_NEAR(refusal.sum, minimum / bytes_of_mebibyte, 0.5) << refusal.message;
    EXPECT_THAT(refusal.message, testing::HasSubstr(" MiB for " + term));
  }
}

TEST_F(RefusedBudget, AdvisesWhatLeavesRoom) {
  const TensorFile tensor = generate("t.blco", {300000, 200000, 1000}, 200000);
  const auto least_of = [&](const CpdOptions& options) {
    CpdOptions ample = options;
    ample.compute.memory.host_bytes = 0;
    return plan_cpd(tensor, ample).minimum_bytes;
  };
  CpdOptions plain = options_of(AlsMethod());
  plain.momentum = false;
  CpdOptions of_rank_1 = options_of(AlsMethod());
  of_rank_1.rank = 1;
  CpdOptions sampled = options_of(AlsMethod());
  sampled.start = Start::nvecs;
  const auto message = [&](CpdOptions options, std::uint64_t bytes) {
    options.compute.memory.host_bytes = bytes;
    return refusal_of([&] { fit_cpd(tensor, options); }).message;
  };
  const CpdOptions with_momentum = options_of(AlsMethod());
  const std::uint64_t least = least_of(with_momentum);
  const std::uint64_t of_one = least_of(of_rank_1);

  EXPECT_THAT(message(with_momentum, least - 1), testing::HasSubstr("a lower rank"));
  EXPECT_THAT(message(with_momentum, of_one + (2 << 20)), testing::HasSubstr("a lower rank"));
  EXPECT_THAT(message(with_momentum, of_one - (1 << 20)), testing::EndsWith("KiB`"));
  EXPECT_THAT(message(of_rank_1, of_one - 1), testing::Not(testing::HasSubstr("lower rank")));
  EXPECT_THAT(message(sampled, least_of(sampled) - 1), testing::HasSubstr("a lower rank"));
  EXPECT_THAT(message(with_momentum, least_of(plain)), testing::HasSubstr("`momentum = off`"));
  EXPECT_THAT(message(with_momentum, least_of(plain) - (1 << 20)), testing::Not(testing::HasSubstr("momentum = off")));
  // What is advised is enough.
  CpdOptions single = plain;
  single.compute.precision = Precision::f32;
  EXPECT_THAT(message(plain, least_of(plain) - 1), testing::HasSubstr("`precision = f32`"));
  EXPECT_LT(least_of(single), least_of(plain));
  EXPECT_THAT(message(plain, least_of(single) - (1 << 20)), testing::Not(testing::HasSubstr("precision = f32")));
}

}  // namespace
}  // namespace blco
