// A build without CUDA: there are no rivals on a device, and no device to measure.
#include "blco/error.hpp"
#include "tests/bench/machine/device_peaks.hpp"
#include "tests/bench/rivals/rival_families.hpp"

namespace blco {
namespace {

[[noreturn]] void refuse() { throw Error(ErrorKind::not_built, "blco was built without CUDA"); }

}  // namespace

std::unique_ptr<Rival> make_device_rival(RivalKind, const RivalTensor&, const RivalOptions&, Executor&) { refuse(); }
DeviceBandwidths measure_device_bandwidths() { refuse(); }
DevicePeaks measure_device_peaks(const PeakEffort&) { refuse(); }

}  // namespace blco
