// The CSF family on the CPU: one kernel on the trees and lists that each format makes of the tensor.
#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "kernels/rivals/csf_counts.hpp"
#include "kernels/rivals/csf_cuts.hpp"
#include "kernels/rivals/csf_kernel.hpp"
#include "kernels/rivals/csf_tree.hpp"
#include "kernels/rivals/hb_parts.hpp"
#include "kernels/rivals/host_rival.hpp"
#include "kernels/rivals/mm_parts.hpp"
#include "kernels/rivals/natural_sort.hpp"
#include "kernels/rivals/part_ranges.hpp"
#include "kernels/rivals/rival_families.hpp"

namespace blco {
namespace {

// Parts per thread, so that whoever ends early helps the others, and the fewest nonzeros that are worth a part.
constexpr std::uint64_t parts_per_thread = 16;
constexpr std::uint64_t min_part_nnz = 64;

// A tree or a list with its values, ready for the kernel.
template <class T>
class CsfPiece {
 public:
  CsfPiece(CsfTree tree, const RivalTensor& tensor, Executor& executor)
      : modes_(tree.modes), index_(std::move(tree.index)), child_(std::move(tree.child)) {
    tree.index = index_;
  }

 private:
  std::vector<int> modes_;
  std::vector<std::vector<std::uint32_t>> index_;
  std::vector<std::vector<std::uint32_t>> child_;
};

}  // namespace
}  // namespace blco
