#include <type_traits>
#include <variant>

#include "tests/bench/rivals/csf/csf_pieces.hpp"
#include "tests/bench/rivals/cuda/device_families.hpp"
#include "tests/bench/rivals/cuda/device_tree.hpp"

namespace blco::cuda {
namespace {

TreeSchedule schedule_of(RivalKind kind, const RivalKnobs& knobs) {
  TreeSchedule schedule;
  schedule.block_threads = static_cast<unsigned>(knobs.block_threads);
  // A block for as many nonzeros of a slice as it has threads (Nisa et al., IPDPS 2019).
  if (kind == RivalKind::b_csf || kind == RivalKind::hb_csf) schedule.part_nnz = schedule.block_threads;
  if (kind == RivalKind::mm_csf) schedule.team_warps = static_cast<std::uint32_t>(knobs.warps_per_fiber);
  return schedule;
}

template <class T>
struct DevicePiece {
  RivalPart part;
  std::uint64_t index_bytes = 0;
  std::uint64_t value_bytes = 0;
  std::vector<CsfWork> work;  // per mode, of a piece for one mode only
  std::variant<DeviceTree<T>, DeviceSliceList<T>> arrays;

  std::uint64_t schedule_bytes() const {
    return std::visit([](const auto& format) { return format.schedule_bytes(); }, arrays);
  }
};

template <class T>
class DeviceCsf final : public DeviceRival<T> {
 public:
  DeviceCsf(RivalKind kind, const RivalTensor& tensor, const RivalOptions& options, Executor& executor)
      : DeviceRival<T>(tensor.shape, options), has_piece_per_mode_(has_piece_per_mode(kind)) {
    const TreeSchedule schedule = schedule_of(kind, options.knobs);
    build_csf_pieces(kind, tensor, options.knobs, executor, [&](CsfPiece piece) { load(piece, tensor, schedule); });
  }

  RivalStorage storage() const override {
    RivalStorage storage;
    for (const DevicePiece<T>& piece : pieces_) {
      storage.index_bytes += piece.index_bytes;
      storage.value_bytes += piece.value_bytes;
      storage.auxiliary_bytes += piece.schedule_bytes();
    }
    storage.copies = has_piece_per_mode_ ? static_cast<int>(this->order()) : 1;
    return storage;
  }

  std::vector<RivalPart> parts() const override {
    std::vector<RivalPart> parts;
    for (const DevicePiece<T>& piece : pieces_) parts.push_back(piece.part);
    return parts;
  }

  // As the papers count: a row that several warps add is counted once.
  RivalWork work(int mode) const override {
    CsfWork rows;
    std::uint64_t bytes = 0;
    for (const DevicePiece<T>& piece : pieces_) {
      if (!serves(piece, mode)) continue;
      rows += piece.work[static_cast<std::size_t>(mode)];
      bytes += piece.index_bytes + piece.value_bytes;
    }
    const auto columns = static_cast<double>(this->rank());
    return {.flops = static_cast<double>(rows.flops) * columns,
            .bytes = static_cast<double>(bytes) +
                     static_cast<double>(rows.row_reads + 2 * rows.row_writes) * columns * sizeof(T)};
  }

 protected:
  void add(std::size_t mode) override {
    std::vector<const T*> factors;
    for (std::size_t n = 0; n < this->order(); ++n) factors.push_back(this->factor(n));
    for (const DevicePiece<T>& piece : pieces_) {
      if (!serves(piece, static_cast<int>(mode))) continue;
      std::visit([&](const auto& format) { format.add(mode, factors, this->rank(), this->output(), this->stream()); },
                 piece.arrays);
    }
  }

 private:
  bool serves(const DevicePiece<T>& piece, int mode) const {
    return !has_piece_per_mode_ || piece.part.modes.front() == mode;
  }

  void load(const CsfPiece& piece, const RivalTensor& tensor, const TreeSchedule& schedule) {
    std::vector<CsfWork> work;
    for (int mode = 0; mode < tensor.order(); ++mode) work.push_back(work_of(piece, mode));
    std::visit(
        [&](const auto& format) {
          using Loaded = std::conditional_t<std::is_same_v<std::decay_t<decltype(format)>, CsfTree>, DeviceTree<T>,
                                            DeviceSliceList<T>>;
          pieces_.push_back({part_of(piece), index_words(piece) * sizeof(std::uint32_t),
                             format.nonzero.size() * sizeof(T), std::move(work),
                             Loaded(format, tensor, schedule, this->uploader())});
        },
        piece);
  }

  bool has_piece_per_mode_;
  std::vector<DevicePiece<T>> pieces_;
};

}  // namespace

template <class T>
std::unique_ptr<Rival> make_device_csf(RivalKind kind, const RivalTensor& tensor, const RivalOptions& options,
                                       Executor& executor) {
  return std::make_unique<DeviceCsf<T>>(kind, tensor, options, executor);
}

template std::unique_ptr<Rival> make_device_csf<double>(RivalKind, const RivalTensor&, const RivalOptions&, Executor&);
template std::unique_ptr<Rival> make_device_csf<float>(RivalKind, const RivalTensor&, const RivalOptions&, Executor&);

}  // namespace blco::cuda
