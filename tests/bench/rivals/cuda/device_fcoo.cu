#include "tests/bench/rivals/cuda/device_families.hpp"
#include "tests/bench/rivals/cuda/device_rival.hpp"
#include "tests/bench/rivals/cuda/fcoo_kernel.cuh"
#include "tests/bench/rivals/fcoo_copies.hpp"

namespace blco::cuda {
namespace {

// One copy of the tensor in device memory.
struct LoadedFcoo {
  std::vector<int> modes;  // the target, then the others
  std::vector<DeviceBuffer> indices;
  DeviceBuffer values;
  DeviceBuffer bit_flags;
  DeviceBuffer segment_rows;
  DeviceBuffer first_segments;
  std::uint64_t segments = 0;
};

template <class T>
class DeviceFcoo final : public DeviceRival<T> {
 public:
  DeviceFcoo(const RivalTensor& tensor, const RivalOptions& options, Executor& executor)
      : DeviceRival<T>(tensor.shape, options),
        nnz_(tensor.nnz()),
        group_nonzeros_(static_cast<std::uint64_t>(options.knobs.thread_nonzeros)),
        threads_(static_cast<unsigned>(options.knobs.block_threads)) {
    for (int mode = 0; mode < tensor.order(); ++mode) {
      copies_.push_back(load(build_fcoo_copy<T>(tensor, mode, group_nonzeros_, executor)));
    }
  }

  RivalStorage storage() const override {
    const std::uint64_t groups = (nnz_ + group_nonzeros_ - 1) / group_nonzeros_;
    RivalStorage storage;
    storage.index_bytes = fcoo_index_bytes(this->order(), nnz_, group_nonzeros_);
    storage.value_bytes = this->order() * nnz_ * sizeof(T);
    for (const LoadedFcoo& copy : copies_) {
      storage.auxiliary_bytes += (copy.segments + groups) * sizeof(std::uint32_t);
    }
    storage.copies = static_cast<int>(this->order());
    return storage;
  }

  std::vector<RivalPart> parts() const override {
    std::vector<RivalPart> parts;
    for (const LoadedFcoo& copy : copies_) parts.push_back({"coo", copy.modes, {nnz_}});
    return parts;
  }

  RivalWork work(int mode) const override {
    const ColumnShape shape = warp_columns(this->rank());
    const double rounds = (this->rank() - 1) / (shape.lanes * shape.columns) + 1;
    const auto nnz = static_cast<double>(nnz_);
    const auto order = static_cast<double>(this->order());
    const auto segments = static_cast<double>(copies_[static_cast<std::size_t>(mode)].segments);
    const double row_bytes = this->rank() * static_cast<double>(sizeof(T));
    const double copy_bytes =
        static_cast<double>(fcoo_index_bytes(this->order(), nnz_, group_nonzeros_)) / order + nnz * sizeof(T);
    return {.flops = nnz * order * this->rank(),
            .bytes = rounds * copy_bytes + nnz * (order - 1) * row_bytes +
                     segments * (sizeof(std::uint32_t) + 2 * row_bytes)};
  }

 protected:
  void add(std::size_t mode) override {
    const LoadedFcoo& copy = copies_[mode];
    FcooArguments<T> arguments;
    for (std::size_t k = 0; k < copy.indices.size(); ++k) {
      arguments.indices[k] = copy.indices[k].as<std::uint32_t>();
      arguments.rows[k] = this->factor(static_cast<std::size_t>(copy.modes[k + 1]));
    }
    arguments.values = copy.values.as<T>();
    arguments.bit_flags = copy.bit_flags.as<std::uint32_t>();
    arguments.segment_rows = copy.segment_rows.as<std::uint32_t>();
    arguments.first_segments = copy.first_segments.as<std::uint32_t>();
    arguments.output = this->output();
    arguments.nnz = nnz_;
    arguments.group_nonzeros = group_nonzeros_;
    arguments.others = static_cast<int>(copy.indices.size());
    arguments.rank = this->rank();
    arguments.threads = threads_;
    launch_fcoo(arguments, this->stream());
  }

 private:
  LoadedFcoo load(const FcooCopy<T>& copy) {
    Uploader& uploader = this->uploader();
    LoadedFcoo loaded;
    loaded.modes = {copy.mode};
    for (int n = 0; n < static_cast<int>(this->order()); ++n) {
      if (n != copy.mode) loaded.modes.push_back(n);
    }
    for (const auto& index : copy.indices) loaded.indices.push_back(uploader.copy(index, "indices"));
    loaded.values = uploader.copy(copy.values, "values");
    loaded.bit_flags = uploader.copy(copy.bit_flags, "flags");
    loaded.segment_rows = uploader.copy(copy.rows, "rows of segments");
    loaded.first_segments = uploader.copy(copy.first_segments, "segments of groups");
    loaded.segments = copy.rows.size();
    return loaded;
  }

  std::uint64_t nnz_;
  std::uint64_t group_nonzeros_;
  unsigned threads_;
  std::vector<LoadedFcoo> copies_;  // per target mode
};

}  // namespace

template <class T>
std::unique_ptr<Rival> make_device_fcoo(const RivalTensor& tensor, const RivalOptions& options, Executor& executor) {
  return std::make_unique<DeviceFcoo<T>>(tensor, options, executor);
}

template std::unique_ptr<Rival> make_device_fcoo<double>(const RivalTensor&, const RivalOptions&, Executor&);
template std::unique_ptr<Rival> make_device_fcoo<float>(const RivalTensor&, const RivalOptions&, Executor&);

}  // namespace blco::cuda
