// A build without CUDA: no device sorts runs. A file of its own, since tests put a device in its place.
#include "blco/error.hpp"
#include "kernels/run_device.hpp"

namespace blco {

std::unique_ptr<RunDevice> make_run_device() { throw Error(ErrorKind::not_built, "blco was built without CUDA"); }

}  // namespace blco
