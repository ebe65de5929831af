#include "engine/common/compile_note.hpp"

namespace blco {

void tell_of_compiling(const DeviceLimits& gpu, const std::function<void(const std::string&)>& on_compile) {
  if (gpu.has_machine_code || !on_compile) return;
  const std::string dotted = std::to_string(gpu.capability / 100) + '.' + std::to_string(gpu.capability % 100 / 10);
  on_compile("this build has no machine code for compute capability " + dotted + ", that of the GPU " + gpu.name +
             ": the driver compiles it at the first start, which takes minutes; later starts find it in the driver's " +
             "cache");
}

}  // namespace blco
