// The CSF family on the CPU: one kernel for the trees and lists that each format makes of the tensor.
#include <algorithm>
#include <atomic>
#include <utility>

#include "kernels/host/mttkrp_rows.hpp"
#include "kernels/part_ranges.hpp"
#include "tests/bench/rivals/csf/csf_kernel.hpp"
#include "tests/bench/rivals/csf/csf_pieces.hpp"
#include "tests/bench/rivals/csf/csf_tree.hpp"
#include "tests/bench/rivals/csf/slice_kernel.hpp"
#include "tests/bench/rivals/host_rival.hpp"
#include "tests/bench/rivals/list_cuts.hpp"
#include "tests/bench/rivals/private_outputs.hpp"
#include "tests/bench/rivals/rival_families.hpp"

namespace blco {
namespace {

// Parts per thread, so that a thread that ends early helps the others; and the fewest nonzeros that are worth a part.
constexpr std::uint64_t parts_per_thread = 16;
constexpr std::uint64_t min_part_nnz = 64;
// Threads have copies of the output where these have at most so many rows per addition that needs no lock then.
constexpr std::uint64_t private_rows_per_addition = 3;

template <class T>
struct LoadedPiece {
  CsfPiece piece;  // without the numbers of the nonzeros
  std::vector<int> modes;
  AlignedBuffer<T> values;
  std::vector<CsfPart> cuts;
};

template <class T>
AlignedBuffer<T> gather_values(const RivalTensor& tensor, std::span<const std::uint32_t> nonzeros, Executor& executor) {
  AlignedBuffer<T> values(nonzeros.size());
  run_shares(executor, nonzeros.size(), [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) values.data()[i] = static_cast<T>(tensor.values[nonzeros[i]]);
  });
  return values;
}

template <class T>
class CsfRival final : public HostRival<T> {
 public:
  CsfRival(RivalKind kind, const RivalTensor& tensor, const RivalOptions& options, Executor& executor)
      : HostRival<T>(tensor.shape, options, executor),
        has_piece_per_mode_(has_piece_per_mode(kind)),
        is_private_(tensor.shape.size()) {
    build_csf_pieces(kind, tensor, options.knobs, executor, [&](CsfPiece piece) { load(std::move(piece), tensor); });
    std::uint64_t private_rows = 0;
    for (std::size_t mode = 0; mode < tensor.shape.size(); ++mode) {
      is_private_[mode] = wants_copies(mode);
      if (is_private_[mode]) private_rows = std::max(private_rows, this->length(mode));
    }
    copies_ = PrivateOutputs<T>(private_rows, options.rank, private_rows > 0 ? executor.width() : 1);
  }

  RivalStorage storage() const override {
    RivalStorage storage;
    for (const LoadedPiece<T>& loaded : pieces_) {
      storage.index_bytes += index_words(loaded.piece) * sizeof(std::uint32_t);
      storage.value_bytes += loaded.values.size() * sizeof(T);
      storage.auxiliary_bytes += loaded.cuts.size() * sizeof(CsfPart);
    }
    storage.auxiliary_bytes += copies_.bytes() + RowLocks::bytes();
    storage.copies = has_piece_per_mode_ ? static_cast<int>(this->order()) : 1;
    return storage;
  }

  std::vector<RivalPart> parts() const override {
    std::vector<RivalPart> parts;
    for (const LoadedPiece<T>& loaded : pieces_) parts.push_back(part_of(loaded.piece));
    return parts;
  }

  RivalWork work(int mode) const override {
    CsfWork rows;
    std::uint64_t bytes = 0;
    for (const LoadedPiece<T>& loaded : pieces_) {
      if (!serves(loaded, mode)) continue;
      rows += work_of(loaded.piece, mode);
      bytes += index_words(loaded.piece) * sizeof(std::uint32_t) + loaded.values.size() * sizeof(T);
    }
    const auto n = static_cast<std::size_t>(mode);
    const std::uint64_t merged_rows = is_private_[n] ? (copies_.parts() - 1) * this->length(n) : 0;
    const auto columns = static_cast<double>(this->rank());
    const std::uint64_t touched_rows = rows.row_reads + 2 * rows.row_writes + 3 * merged_rows;
    return {static_cast<double>(rows.flops + merged_rows) * columns,
            static_cast<double>(bytes) + static_cast<double>(touched_rows) * columns * sizeof(T)};
  }

  void mttkrp(int mode) override {
    const auto n = static_cast<std::size_t>(mode);
    const std::uint64_t numbers = this->length(n) * this->stride();
    if (is_private_[n]) {
      this->executor().run(copies_.parts(),
                           [&](std::size_t part) { copies_.begin_part(part, this->output().row(0), numbers); });
    } else {
      this->zero_output(n);
    }
    for (const LoadedPiece<T>& loaded : pieces_) {
      if (serves(loaded, mode)) run(loaded, n);
    }
    if (is_private_[n]) copies_.merge(this->output().row(0), numbers, this->executor());
  }

 private:
  void load(CsfPiece piece, const RivalTensor& tensor) {
    LoadedPiece<T> loaded;
    const auto width = static_cast<std::uint64_t>(this->executor().width());
    std::visit(
        [&](auto& format) {
          loaded.modes = format.modes;
          loaded.values = gather_values<T>(tensor, format.nonzero, this->executor());
          const std::uint64_t most = format.nonzero.size() / min_part_nnz + 1;
          const std::uint64_t parts = width == 1 ? 1 : std::min(width * parts_per_thread, most);
          if constexpr (std::is_same_v<std::decay_t<decltype(format)>, CsfTree>) {
            loaded.cuts = cut_tree(format, parts);
          } else {
            loaded.cuts = cut_list(format, parts);
          }
          std::vector<std::uint32_t>().swap(format.nonzero);
        },
        piece);
    loaded.piece = std::move(piece);
    pieces_.push_back(std::move(loaded));
  }

  bool serves(const LoadedPiece<T>& loaded, int mode) const { return !has_piece_per_mode_ || loaded.modes[0] == mode; }

  std::size_t level_of(const LoadedPiece<T>& loaded, std::size_t mode) const {
    const auto at = std::ranges::find(loaded.modes, static_cast<int>(mode));
    return static_cast<std::size_t>(at - loaded.modes.begin());
  }

  // As SPLATT does: copies of the output for the threads, unless clearing and merging them costs more than locks.
  bool wants_copies(std::size_t mode) const {
    std::uint64_t additions = 0;
    for (const LoadedPiece<T>& loaded : pieces_) {
      const std::size_t level = level_of(loaded, mode);
      if (level > 0 && !has_piece_per_mode_) additions += std::get<CsfTree>(loaded.piece).nodes(level);
    }
    const auto copies = static_cast<std::uint64_t>(this->executor().width() - 1);
    return copies > 0 && copies * this->length(mode) <= private_rows_per_addition * additions;
  }

  CsfTask<T> task_of(const LoadedPiece<T>& loaded, std::size_t mode) {
    CsfTask<T> task;
    task.order = loaded.modes.size();
    task.target = level_of(loaded, mode);
    task.values = loaded.values.data();
    task.output = this->output().row(0);
    task.stride = this->stride();
    if (this->executor().width() > 1) task.locks = &locks_;
    for (std::size_t level = 0; level < task.order; ++level) {
      const auto n = static_cast<std::size_t>(loaded.modes[level]);
      CsfLevel<T>& of = task.levels[level];
      std::visit([&](const auto& format) { of.index = format.index[level].data(); }, loaded.piece);
      of.child = children_of(loaded.piece, level);
      of.matrix = n == mode ? task.output : this->factor(n).row(0);
      of.prefetch = this->length(n) * this->stride() * sizeof(T) > prefetched_bytes(this->stride() * sizeof(T));
    }
    return task;
  }

  static const std::uint32_t* children_of(const CsfPiece& piece, std::size_t level) {
    if (const auto* tree = std::get_if<CsfTree>(&piece)) {
      return level + 1 == tree->order() || tree->child[level].empty() ? nullptr : tree->child[level].data();
    }
    const SliceList& list = std::get<SliceList>(piece);
    return level > 0 || list.is_coo() ? nullptr : list.child.data();
  }

  void run(const LoadedPiece<T>& loaded, std::size_t mode) {
    const CsfTask<T> task = task_of(loaded, mode);
    const bool is_list = std::holds_alternative<SliceList>(loaded.piece);
    if (task.target > 0 && is_private_[mode]) return run_private(loaded, task);
    this->executor().run(loaded.cuts.size(), [&](std::size_t part) {
      is_list ? mttkrp_slices(task, loaded.cuts[part]) : mttkrp_csf(task, loaded.cuts[part]);
    });
  }

  // Each thread takes parts while there are any, and adds them to its own output.
  void run_private(const LoadedPiece<T>& loaded, const CsfTask<T>& task) {
    std::atomic<std::size_t> next{0};
    this->executor().run(copies_.parts(), [&](std::size_t copy) {
      CsfTask<T> own = task;
      own.locks = nullptr;
      own.output = copies_.begin_part(copy, task.output, 0);
      own.levels[task.target].matrix = own.output;
      for (std::size_t part = next++; part < loaded.cuts.size(); part = next++) mttkrp_csf(own, loaded.cuts[part]);
    });
  }

  bool has_piece_per_mode_;
  std::vector<LoadedPiece<T>> pieces_;
  std::vector<char> is_private_;  // per mode: threads add to copies of the output
  PrivateOutputs<T> copies_{0, 1, 1};
  RowLocks locks_;
};

}  // namespace

std::unique_ptr<Rival> make_csf_rival(RivalKind kind, const RivalTensor& tensor, const RivalOptions& options,
                                      Executor& executor) {
  if (options.precision == Precision::f32) return std::make_unique<CsfRival<float>>(kind, tensor, options, executor);
  return std::make_unique<CsfRival<double>>(kind, tensor, options, executor);
}

}  // namespace blco
