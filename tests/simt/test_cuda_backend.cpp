// The CUDA backend on streams whose work runs late and in any legal order: order, reuse of buffers, residents, and
// draining on failure. The kernels run in the emulator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "blco/error.hpp"
#include "kernels/row_solver.hpp"
#include "tests/kernels/reference_backend.hpp"
#include "tests/kernels/rows_near.hpp"
#include "tests/simt/every_schedule.hpp"
#include "tests/simt/simt_control.hpp"

namespace blco::testing {
namespace {

constexpr int launch_failure = 719;

TEST_P(EverySchedule, AddsUpChunksThatShareLanes) {
  for (const int slots : {1, 2, 3}) {
    EmulatedBackend streamed = backend({.rank = backend_rank, .slots = slots});
    for (const int mode : {0, 1, 2, 1}) {
      EXPECT_THAT(streamed.pass(chunks_, mode), RowsNear(expected(static_cast<std::size_t>(mode)), backend_tolerance));
    }
  }
}

// Who polls keeps a processor busy.
TEST_P(EverySchedule, PollsForNoKernelOfAPass) {
  EmulatedBackend device = backend();
  const std::uint64_t before = simt::counters().polled_kernels;

  device.run(chunks_, 1);

  EXPECT_EQ(simt::counters().polled_kernels, before);
}

TEST_P(EverySchedule, MixesChunksOfTheDeviceOfHostMemoryAndOfTheStream) {
  EmulatedBackend mixed = backend({.rank = backend_rank, .slots = 2});
  std::vector<std::unique_ptr<HostBuffer>> kept;
  std::vector<std::optional<ResidentId>> residents(chunks_.size());

  for (int pass = 0; pass < 6; ++pass) {
    const int mode = pass % 3;
    mixed->begin_pass(mode);
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      if (residents[c]) {
        mixed->submit_resident(*residents[c]);
      } else if (c % 3 == 0) {
        const auto [slot, view] = mixed.stage_next(chunks_[c]);
        mixed->submit(slot, view);
      } else if (c % 3 == 1) {
        const auto [slot, view] = mixed.stage_next(chunks_[c]);
        residents[c] = mixed->keep(slot, view, Tier::device);
        mixed->submit_resident(*residents[c]);
      } else {
        kept.push_back(mixed->allocate_host(payload_bytes(chunks_[c])));
        residents[c] = mixed->keep(0, stage(chunks_[c], kept.back()->bytes()), Tier::packed);
        mixed->submit_resident(*residents[c]);
      }
    }
    mixed->finish_pass();

    EXPECT_THAT(mixed.output(mode), RowsNear(expected(static_cast<std::size_t>(mode)), backend_tolerance))
        << "pass " << pass;
  }
}

TEST_P(EverySchedule, LaunchesResidentsTogether) {
  EmulatedBackend device = backend({.rank = backend_rank, .slots = 1});
  const auto small_chunks = encode(tensor_, 50);
  ASSERT_GT(small_chunks.size(), 32U);
  ASSERT_LE(small_chunks.size(), 48U);
  std::vector<ResidentId> residents;
  for (const EncodedChunk& chunk : small_chunks) {
    const auto [slot, view] = device.stage_next(chunk);
    residents.push_back(device->keep(slot, view, Tier::device));
    device->wait_slot(slot);
  }
  device.pass(chunks_, 0);

  for (const int mode : {0, 1, 2}) {
    const std::uint64_t before = simt::counters().kernels;
    device->begin_pass(mode);
    for (const ResidentId resident : residents) device->submit_resident(resident);
    device->finish_pass();

    if (!on_hardware) {
      EXPECT_LE(simt::counters().kernels - before, 4U)
          << "three times up to 16 chunks; copies of the output are merged";
    }
    EXPECT_THAT(device.output(mode), RowsNear(expected(static_cast<std::size_t>(mode)), backend_tolerance));
  }
}

TEST_P(EverySchedule, UpdatesRowsAsTheReferenceDoes) {
  EmulatedBackend device = backend();
  const auto reference = make_reference_backend(emulated_config(tensor_.shape, {.rank = backend_rank}));
  for (int mode = 0; mode < 3; ++mode) reference->load_factor(mode, 0, factors_[static_cast<std::size_t>(mode)]);

  for (const int mode : {0, 1, 2, 0}) {
    device.pass(chunks_, mode);
    reference->begin_pass(mode);
    for (const EncodedChunk& chunk : chunks_) reference->submit(0, chunk.view());
    reference->finish_pass();
    std::vector<double> v(backend_rank * backend_rank, 1.0);
    for (int other = 0; other < 3; ++other) {
      for (std::size_t i = 0; other != mode && i < v.size(); ++i) v[i] *= reference->gram(other)[i];
    }
    const RowUpdate actual = device->update_rows(mode, RowSolver(v, backend_rank));
    const RowUpdate wanted = reference->update_rows(mode, RowSolver(v, backend_rank));

    EXPECT_NEAR(actual.inner, wanted.inner, 1e-9 * std::abs(wanted.inner));
    EXPECT_THAT(actual.norms, ::testing::Pointwise(::testing::DoubleNear(1e-8), wanted.norms));
    EXPECT_THAT(device->gram(mode), ::testing::Pointwise(::testing::DoubleNear(1e-9), reference->gram(mode)));
  }
}

TEST_P(EverySchedule, TakesAnUpdateBackAfterAPassThatWasGivenUp) {
  EmulatedBackend device = backend();
  const auto identity = [](double scale) {
    std::vector<double> v(backend_rank * backend_rank);
    for (std::size_t r = 0; r < backend_rank; ++r) v[r * backend_rank + r] = scale + static_cast<double>(r);
    return RowSolver(v, backend_rank);
  };
  device.pass(chunks_, 0);
  device->update_rows(0, identity(1));
  const auto before = device.factor(0);
  device.pass(chunks_, 0);
  device->update_rows(0, identity(5));
  ASSERT_NE(device.factor(0), before);
  device->begin_pass(1);
  const auto [slot, view] = device.stage_next(chunks_[0]);
  device->submit(slot, view);
  device->finish_pass();

  device->restore_factor(0);

  EXPECT_EQ(device.factor(0), before);
  EXPECT_EQ(device->take_factor(0), before);
}

TEST_P(EverySchedule, NamesACoordinateOutsideItsMode) {
  EmulatedBackend shorter(std::vector<std::uint64_t>{40, 3, 50}, {.rank = backend_rank});

  try {
    shorter.pass(chunks_, 0);
    FAIL() << "a coordinate outside the tensor was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::corrupt);
    EXPECT_THAT(error.what(), ::testing::AllOf(::testing::HasSubstr("chunk "), ::testing::HasSubstr("mode 2")));
  }
}

TEST_P(EverySchedule, DrainsAfterACallThatFailsAndStartsTheNextPassFromZero) {
  SKIP_ON_HARDWARE();
  for (const char* call : {"cudaMemcpyAsync", "launch", "cudaEventRecord", "cudaMemsetAsync"}) {
    EmulatedBackend device = backend();
    simt::fail_call(call, 2, launch_failure);

    try {
      device.pass(chunks_, 0);
      FAIL() << call << " failed, and nobody noticed";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::cuda) << call;
      EXPECT_THAT(error.what(), ::testing::HasSubstr("launch failure")) << call;
    }

    EXPECT_THAT(device.pass(chunks_, 2), RowsNear(expected(2), backend_tolerance)) << "after " << call;
  }
}

TEST_P(EverySchedule, MovesTheBytesOfTheChunksThatCrossTheLinkAndNoMore) {
  SKIP_ON_HARDWARE();
  EmulatedBackend device = backend();
  std::uint64_t payloads = 0;  // each from a multiple of 256 bytes on
  for (const EncodedChunk& chunk : chunks_) {
    std::uint64_t bytes = 0;
    for (const auto& payload : chunk.view().payload) {
      if (!payload.empty()) bytes = (bytes + 255) / 256 * 256 + payload.size();
    }
    payloads += bytes;
  }
  const std::uint64_t before = simt::counters().bytes_to_device;

  device.pass(chunks_, 1);

  EXPECT_EQ(simt::counters().bytes_to_device - before, payloads);
}

INSTANTIATE_TEST_SUITE_P(CudaBackend, EverySchedule, ::testing::ValuesIn(schedules), name_of_schedule);

// Two chunks and one slot, which tests fill themselves.
struct OneLane {
  OneLane() { device.load(factors); }

  CooTensor tensor = random_tensor({.shape = {40, 31, 57}, .nnz = 600, .seed = 2});
  std::vector<std::vector<double>> factors = random_factors(tensor.shape, backend_rank, 11);
  std::vector<EncodedChunk> chunks = encode(tensor, 300);
  EmulatedBackend device{tensor.shape, {.rank = backend_rank}};
  std::unique_ptr<HostBuffer> memory = device->allocate_host(1 << 20);
};

// What a schedule proves is worth as much as its lateness: a slot that is not waited for must show.
TEST(CudaBackend, ReadsALaneThatIsRefilledTooEarlyWrongly) {
  SKIP_ON_HARDWARE();
  simt::reset();
  simt::set_policy(simt::Policy::lazy);
  OneLane slot;
  EmulatedBackend& device = slot.device;

  device->begin_pass(0);
  for (const EncodedChunk& chunk : slot.chunks) device->submit(0, stage(chunk, slot.memory->bytes()));
  try {
    device->finish_pass();
    EXPECT_THAT(device.output(0),
                ::testing::Not(RowsNear(coordinate_mttkrp(slot.tensor, slot.factors, backend_rank, 0), 1e-3)));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::corrupt);  // headers of one chunk and frames of another
  }
}

TEST(CudaBackend, SendsAChunkInOneCopyWhereItsPayloadsFollowEachOther) {
  SKIP_ON_HARDWARE();
  simt::reset();
  OneLane slot;
  EmulatedBackend& device = slot.device;
  const auto copies_of_pass = [&](bool apart) {
    const std::uint64_t before = simt::counters().copies_to_device;
    device->begin_pass(0);
    for (const EncodedChunk& chunk : slot.chunks) {
      ChunkView view = stage(chunk, slot.memory->bytes());
      auto& value = view.payload[static_cast<std::size_t>(Column::value)];
      const std::span<std::byte> elsewhere =
          slot.memory->bytes().subspan(slot.memory->bytes().size() / 2, value.size());
      std::ranges::copy(value, elsewhere.begin());
      if (apart) value = elsewhere;
      device->submit(0, view);
      device->wait_slot(0);
    }
    device->finish_pass();
    return simt::counters().copies_to_device - before;
  };

  EXPECT_EQ(copies_of_pass(false), slot.chunks.size());
  const std::vector<double> together = device.output(0);
  EXPECT_EQ(copies_of_pass(true), 2 * slot.chunks.size());
  EXPECT_THAT(device.output(0), ::testing::Pointwise(::testing::DoubleNear(1e-10), together));
  EXPECT_THAT(together, RowsNear(coordinate_mttkrp(slot.tensor, slot.factors, backend_rank, 0), backend_tolerance));
}

TEST(CudaBackend, SaysWhatHasNoRoomOnTheDevice) {
  SKIP_ON_HARDWARE();
  simt::reset();
  simt::set_device({.memory_bytes = 64 << 10});

  try {
    EmulatedBackend device(std::vector<std::uint64_t>{4000, 31, 57}, {.rank = backend_rank});
    FAIL() << "a factor of 256,000 bytes found room in 65,536";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::out_of_memory);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("cudaMalloc of 256000 bytes"));
  }
  EXPECT_EQ(simt::counters().live_allocations, 0U);
}

TEST(CudaBackend, TakesNoMoreDeviceMemoryThanThePlanCounts) {
  SKIP_ON_HARDWARE();
  simt::reset();
  for (const int r : {1, 16, 100}) {
    for (const ModeSet dual_modes : {0U, 1U, 7U}) {
      const BackendConfig config = emulated_config(std::vector<std::uint64_t>{4000, 3, 57},
                                                   {.rank = r, .private_bytes = 1 << 20, .dual_modes = dual_modes});
      const auto device = make_cuda_backend(config, small_device());

      EXPECT_LE(simt::counters().live_bytes,
                cuda_backend_memory(config, small_device()).bytes() + config.resident_bytes)
          << "rank " << r;
    }
    for (const bool all_outputs : {false, true}) {
      const BackendConfig config = emulated_config(std::vector<std::uint64_t>{4000, 3, 3500, 2},
                                                   {.rank = r, .private_bytes = 1 << 20, .all_outputs = all_outputs});
      const auto device = make_cuda_backend(config, small_device());

      EXPECT_LE(simt::counters().live_bytes,
                cuda_backend_memory(config, small_device()).bytes() + config.resident_bytes)
          << "rank " << r;
      const std::uint64_t copied_rows = all_outputs ? 3 + 2 : 3;
      EXPECT_EQ(cuda_backend_useful_private_bytes(config, small_device()),
                7 * copied_rows * static_cast<std::uint64_t>(r) * sizeof(double));
    }
  }
}

TEST(CudaBackend, FindsNoDeviceWithoutCublas) {
  SKIP_ON_HARDWARE();
  simt::reset();
  simt::set_device({.has_cublas = false});

  const DeviceSearch found = find_device();

  EXPECT_FALSE(found.limits.has_value());
  EXPECT_THAT(found.reason, ::testing::HasSubstr("cuBLAS"));
  EXPECT_EQ(found.kind, ErrorKind::cuda);
}

}  // namespace
}  // namespace blco::testing
