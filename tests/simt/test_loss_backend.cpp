// Loss passes of the CUDA backend on streams whose work runs late and in any legal order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "blco/error.hpp"
#include "kernels/row_solver.hpp"
#include "tests/simt/device_loss_cases.hpp"
#include "tests/simt/every_schedule.hpp"

namespace blco::testing {
namespace {

class LossSchedule : public EverySchedule {};

// Chunks of the stream, of host memory and of the device, whose terms add up in the same order every time.
TEST_P(LossSchedule, FillsAllOutputsByLossPassesOverChunksOfEveryTier) {
  const auto chunks = encode(tensor_, 60);
  const EmulatedOptions options{.rank = backend_rank, .slots = 2, .all_outputs = true};
  EmulatedBackend mixed = backend(options);
  LossReference reference(chunks, tensor_.shape, options, factors_);
  const PassRequest request({.loss = {LossKind::gaussian}}, all_modes(3));
  reference.run(request);
  std::vector<std::unique_ptr<HostBuffer>> kept;
  std::vector<ResidentId> residents;
  for (std::size_t c = 0; c < 31; ++c) {
    if (c % 3 == 0) {
      kept.push_back(mixed->allocate_host(payload_bytes(chunks[c])));
      residents.push_back(mixed->keep(0, stage(chunks[c], kept.back()->bytes()), Tier::packed));
    } else {
      const auto [slot, view] = mixed.stage_next(chunks[c]);
      residents.push_back(mixed->keep(slot, view, Tier::device));
    }
  }

  std::vector<double> terms;
  for (int pass = 0; pass < 3; ++pass) {
    mixed.restart_slots();
    mixed->begin_pass(request);
    for (const ResidentId resident : residents) mixed->submit_resident(resident);
    for (std::size_t c = residents.size(); c < chunks.size(); ++c) {
      const auto [slot, view] = mixed.stage_next(chunks[c]);
      mixed->submit(slot, view);
    }
    mixed->finish_pass();
    terms.push_back(mixed->sum_of_terms());

    reference.expect_same(mixed, request, tensor_.shape, backend_rank, 1e-11, "pass " + std::to_string(pass));
  }
  EXPECT_EQ(terms[1], terms[2]) << "the first pass launches residents that are on their way one by one";
}

TEST_P(LossSchedule, UpdatesTheRowsOfAnyModeThatALossPassFilled) {
  const EmulatedOptions options{.rank = backend_rank, .all_outputs = true};
  EmulatedBackend device = backend(options);
  std::vector<double> identity(backend_rank * backend_rank);
  for (std::size_t i = 0; i < identity.size(); i += backend_rank + 1) identity[i] = 1;

  device.run(chunks_, {EntryFunction{.rule = EntryRule::model}, all_modes(3)});
  const std::vector<double> first = device.output(0);
  const std::vector<double> last = device.output(2);
  device->update_rows(2, RowSolver(identity, backend_rank));
  const RowUpdate update = device->update_rows(0, RowSolver(identity, backend_rank));

  EXPECT_NE(first, last);
  std::vector<double> rows = device.factor(0);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] *= update.norms[i % backend_rank];
  EXPECT_THAT(rows, ::testing::Pointwise(::testing::DoubleNear(1e-9), first));
}

TEST_P(LossSchedule, NamesACoordinateOutsideItsModeInALossPassToo) {
  EmulatedBackend shorter(std::vector<std::uint64_t>{40, 3, 50}, {.rank = backend_rank});

  try {
    shorter.run(chunks_, {EntryFunction{.rule = EntryRule::model}, 0});
    FAIL() << "a coordinate outside the tensor was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::corrupt);
    EXPECT_THAT(error.what(), ::testing::AllOf(::testing::HasSubstr("chunk "), ::testing::HasSubstr("mode 2")));
  }
}

INSTANTIATE_TEST_SUITE_P(CudaBackend, LossSchedule, ::testing::ValuesIn(schedules), name_of_schedule);

TEST(LossBackend, RefusesWhatItHasNoOutputFor) {
  simt::reset();
  const CooTensor tensor = random_tensor({.shape = {40, 31, 57}, .nnz = 300, .seed = 2});
  const auto chunks = encode(tensor, 300);
  EmulatedBackend device(tensor.shape, {.rank = backend_rank});
  device.load(random_factors(tensor.shape, backend_rank, 11));
  const EntryFunction model{.rule = EntryRule::model};
  const auto refusal = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      return error.what();
    }
    return "";
  };

  EXPECT_THAT(refusal([&] { device->begin_pass({model, all_modes(3)}); }), ::testing::HasSubstr("all_outputs"));
  device.run(chunks, {model, mode_bit(1)});
  PassRequest more(model, mode_bit(2));
  more.continues = true;
  EXPECT_THAT(refusal([&] { device->begin_pass(more); }), ::testing::HasSubstr("the same outputs"));
  EXPECT_THAT(refusal([&] { device.output(2); }), ::testing::HasSubstr("not filled mode 2"));
}

}  // namespace
}  // namespace blco::testing
