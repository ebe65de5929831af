#include "tests/bench/rivals/csf/csf_pieces.hpp"

#include <algorithm>
#include <utility>

#include "tests/bench/rivals/natural_sort.hpp"
#include "tests/bench/rivals/csf/mm_parts.hpp"

namespace blco {
namespace {

void build_hybrid(const RivalTensor& tensor, std::span<const int> modes, const RivalKnobs& knobs, Executor& executor,
                  const std::function<void(CsfPiece)>& take) {
  const HbParts parts = hb_parts(tensor, modes, sorted_by(tensor, modes, executor));
  if (!parts.coo.empty()) take(build_singleton_list(tensor, modes, parts.coo, executor));
  if (!parts.csl.empty()) take(build_csl_list(tensor, modes, parts.csl, executor));
  if (!parts.csf.empty()) take(build_csf(tensor, modes, parts.csf, knobs.fiber_limit, executor));
}

void build_partitions(const RivalTensor& tensor, const RivalKnobs& knobs, Executor& executor,
                      const std::function<void(CsfPiece)>& take) {
  const std::vector<MmCandidate> candidates = mm_candidates(tensor.shape, knobs.every_leaf);
  for (const MmPart& part : mm_parts(tensor, candidates, MmStrategy::by_current_size, executor)) {
    take(build_mm_csf(tensor, part.modes, part.sorted, knobs.fiber_limit, executor));
  }
}

}  // namespace

bool has_piece_per_mode(RivalKind kind) { return kind != RivalKind::csf_one && kind != RivalKind::mm_csf; }

void build_csf_pieces(RivalKind kind, const RivalTensor& tensor, const RivalKnobs& knobs, Executor& executor,
                      const std::function<void(CsfPiece)>& take) {
  if (tensor.nnz() == 0) return;
  if (kind == RivalKind::mm_csf) return build_partitions(tensor, knobs, executor, take);
  if (kind == RivalKind::csf_one) {
    const std::vector<int> modes = ascending_modes(tensor.shape);
    return take(build_csf(tensor, modes, sorted_by(tensor, modes, executor), 0, executor));
  }
  for (int root = 0; root < tensor.order(); ++root) {
    const std::vector<int> modes = modes_under(root, tensor.shape);
    if (kind == RivalKind::hb_csf) {
      build_hybrid(tensor, modes, knobs, executor, take);
    } else {
      const std::uint32_t fiber_limit = kind == RivalKind::b_csf ? knobs.fiber_limit : 0;
      take(build_csf(tensor, modes, sorted_by(tensor, modes, executor), fiber_limit, executor));
    }
  }
}

std::uint64_t index_words(const CsfPiece& piece) {
  if (const auto* tree = std::get_if<CsfTree>(&piece)) {
    const std::vector<std::uint64_t> nodes = count_nodes(*tree);
    return tree->has_paired_roots() ? mm_csf_words(nodes) : csf_words(nodes);
  }
  const SliceList& list = std::get<SliceList>(piece);
  if (list.is_coo()) return coo_words(list.nnz(), list.order());
  return csl_words(list.slices(), list.nnz(), list.order());
}

RivalPart part_of(const CsfPiece& piece) {
  if (const auto* tree = std::get_if<CsfTree>(&piece)) return {"csf", tree->modes, count_nodes(*tree)};
  const SliceList& list = std::get<SliceList>(piece);
  return {list.is_coo() ? "coo" : "csl", list.modes, {list.nnz()}};
}

CsfWork work_of(const CsfPiece& piece, int mode) {
  if (const auto* tree = std::get_if<CsfTree>(&piece)) {
    const auto level = std::ranges::find(tree->modes, mode) - tree->modes.begin();
    return csf_work(count_nodes(*tree), static_cast<std::size_t>(level));
  }
  const SliceList& list = std::get<SliceList>(piece);
  if (list.is_coo()) return coo_work(list.nnz(), list.order());
  return csl_work(list.slices(), list.nnz(), list.order());
}

}  // namespace blco
