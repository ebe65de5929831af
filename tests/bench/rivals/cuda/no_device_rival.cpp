// A build without CUDA: there are no rivals on a device.
#include "blco/error.hpp"
#include "kernels/rivals/rival_families.hpp"

namespace blco {

std::unique_ptr<Rival> make_device_rival(RivalKind, const RivalTensor&, const RivalOptions&, Executor&) {
  throw Error(ErrorKind::not_built, "blco was built without CUDA");
}

}  // namespace blco
