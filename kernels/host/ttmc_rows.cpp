// The rows of a TTMc, compiled once per precision and instruction set.
#include "kernels/host/ttmc_rows.hpp"

#include "kernels/highway_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/host/ttmc_rows.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/host/row_columns-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace blco::HWY_NAMESPACE {
namespace {

// Vectors of last rows that stay in registers while all products multiply them: of as many nonzeros as share an output
// row, up to most_together, so that their sums are loaded and stored once.
constexpr std::size_t most_vectors = 8;
constexpr std::size_t most_tile = 4;
// Nonzeros whose rows are looked up at a time, and between a prefetch of their rows and its use.
constexpr std::size_t block_entries = 64;
constexpr std::size_t ahead = 4;

// Nonzeros of one output row.
template <class Sum, class Factor>
struct Together {
  const Sum* products = nullptr;  // of each, `room` numbers apart
  std::uint64_t room = 0;
  std::array<const Factor*, most_together> last{};
};

// out += the sum over nonzeros of products x (Count vectors of the last row), one nonzero after the other.
template <std::size_t Entries, std::size_t Count, class Tag, class Sum, class Factor>
HWY_INLINE void add_outer(Tag tag, const Together<Sum, Factor>& of, const KroneckerRow& row, std::size_t column,
                          Sum* out) {
  const std::size_t lanes = hn::Lanes(tag);
  hn::Vec<Tag> last[Entries][Count];
  for (std::size_t e = 0; e < Entries; ++e) {
    for (std::size_t v = 0; v < Count; ++v) last[e][v] = load_numbers(tag, of.last[e] + column + v * lanes);
  }
  out += column;
  for (std::uint64_t c = 0; c < row.choices; ++c, out += row.last_stride) {
    hn::Vec<Tag> sums[Count];
    for (std::size_t v = 0; v < Count; ++v) sums[v] = hn::Load(tag, out + v * lanes);
    for (std::size_t e = 0; e < Entries; ++e) {
      const auto product = hn::Set(tag, of.products[e * of.room + c]);
      for (std::size_t v = 0; v < Count; ++v) sums[v] = hn::MulAdd(product, last[e][v], sums[v]);
    }
    for (std::size_t v = 0; v < Count; ++v) hn::Store(sums[v], tag, out + v * lanes);
  }
}

template <std::size_t Entries, class Tag, class Sum, class Factor>
HWY_INLINE void add_row(Tag tag, const Together<Sum, Factor>& of, const KroneckerRow& row, Sum* out) {
  constexpr std::size_t tile = std::min(most_tile, most_vectors / Entries);
  const std::size_t lanes = hn::Lanes(tag);
  std::size_t column = 0;
  for (; column + tile * lanes <= row.last_stride; column += tile * lanes) {
    add_outer<Entries, tile>(tag, of, row, column, out);
  }
  for (; column < row.last_stride; column += lanes) add_outer<Entries, 1>(tag, of, row, column, out);
}

// One column: vectors go along the products.
template <std::size_t Entries, class Sum, class Factor>
HWY_INLINE void add_column(const Together<Sum, Factor>& of, std::uint64_t choices, Sum* out) {
  const hn::ScalableTag<Sum> wide;
  const hn::CappedTag<Sum, 1> narrow;
  std::uint64_t c = 0;
  const auto add = [&](auto tag) {
    auto sum = hn::LoadU(tag, out + c);
    for (std::size_t e = 0; e < Entries; ++e) {
      sum = hn::MulAdd(hn::LoadU(tag, of.products + e * of.room + c), hn::Set(tag, static_cast<Sum>(*of.last[e])), sum);
    }
    hn::StoreU(sum, tag, out + c);
    c += hn::Lanes(tag);
  };
  while (c + hn::Lanes(wide) <= choices) add(wide);
  while (c < choices) add(narrow);
}

template <std::size_t Entries, class Sum, class Factor>
HWY_INLINE void add_together(const Together<Sum, Factor>& of, const KroneckerRow& row, Sum* out) {
  const hn::ScalableTag<Sum> tag;
  if (row.last_stride == 1) return add_column<Entries>(of, row.choices, out);
  if (row.last_stride >= hn::Lanes(tag)) return add_row<Entries>(tag, of, row, out);
  if constexpr (hn::MaxLanes(tag) > 2) {
    if (row.last_stride == 2) return add_row<Entries>(hn::CappedTag<Sum, 2>(), of, row, out);
  }
  if constexpr (hn::MaxLanes(tag) > 4) {
    if (row.last_stride == 4) return add_row<Entries>(hn::CappedTag<Sum, 4>(), of, row, out);
  }
  if constexpr (hn::MaxLanes(tag) > 8) {
    if (row.last_stride == 8) add_row<Entries>(hn::CappedTag<Sum, 8>(), of, row, out);
  }
}

// The products of one number of each factor but the last, the first factor's slowest, times the value.
template <class Sum, class Factor>
HWY_INLINE void multiply_out(const KroneckerTask<Sum>& product, int factors, const Factor* const* rows, Sum value,
                             Sum* products) {
  products[0] = value;
  std::uint64_t count = 1;
  // From the last to the first, so that none is overwritten before it is read.
  for (int k = 0; k + 1 < factors; ++k) {
    const std::uint64_t columns = product.columns[static_cast<std::size_t>(k)];
    for (std::uint64_t at = count; at-- > 0;) {
      const Sum of_others = products[at];
      for (std::uint64_t r = 0; r < columns; ++r) products[at * columns + r] = of_others * static_cast<Sum>(rows[k][r]);
    }
    count *= columns;
  }
}

// The rows of up to block_entries nonzeros.
template <class T>
void find_rows(const IndexedRows<T>& of, const std::uint64_t* lines, std::size_t begin, std::size_t count,
               std::uint32_t* rows) {
  for (std::size_t i = 0; i < count; ++i) {
    rows[i] = lines == nullptr ? of.rows[begin + i]
                               : static_cast<std::uint32_t>(LineRows(lines, nullptr, of.mask).row(begin + i));
  }
}

// The target rows of up to block_entries arranged nonzeros. `target`: of the first; moves on.
void find_targets(const RowsTask<BLCO_SUM, BLCO_FACTOR>& task, std::size_t begin, std::size_t count,
                  std::size_t& target, std::uint32_t* rows) {
  for (std::size_t i = 0; i < count; ++i) {
    if (begin + i == task.target_ends[target]) ++target;
    rows[i] = task.output.rows[target];
  }
}

}  // namespace

void add_kronecker(const RowsTask<BLCO_SUM, BLCO_FACTOR>& task, const KroneckerTask<BLCO_SUM>& product,
                   NonzeroRange range) {
  std::uint32_t targets[block_entries];
  std::uint32_t of_factors[max_order][block_entries];
  const BLCO_FACTOR* rows[max_order];
  Together<BLCO_SUM, BLCO_FACTOR> together{product.products, product.row.choices};
  std::size_t target = range.begin;
  if (task.target_ends != nullptr) {
    const std::size_t first = target == 0 ? 0 : task.target_ends[target - 1];
    range = {first, range.count == 0 ? 0 : task.target_ends[target + range.count - 1] - first};
  }
  for (std::size_t from = range.begin; from < range.begin + range.count; from += block_entries) {
    const std::size_t count = std::min(block_entries, range.begin + range.count - from);
    if (task.target_ends != nullptr) {
      find_targets(task, from, count, target, targets);
    } else {
      find_rows(task.output, task.lines, from, count, targets);
    }
    for (int k = 0; k < task.factor_count; ++k) {
      find_rows(task.factors[static_cast<std::size_t>(k)], task.lines, from, count, of_factors[k]);
    }
    for (std::size_t i = 0; i < count;) {
      std::size_t same = 1;
      while (same < most_together && i + same < count && targets[i + same] == targets[i]) ++same;
      if (same == 3) same = 2;
      for (std::size_t e = 0; e < same; ++e) {
        for (int k = 0; k < task.factor_count; ++k) {
          const auto factor = static_cast<std::size_t>(k);
          rows[k] = task.factors[factor].matrix + of_factors[k][i + e] * product.strides[factor];
          const std::uint32_t next = of_factors[k][std::min(i + e + ahead, count - 1)];
          hwy::Prefetch(task.factors[factor].matrix + next * product.strides[factor]);
        }
        const auto value = static_cast<BLCO_SUM>(task.values != nullptr ? task.values[from + i + e] : 1.0);
        multiply_out(product, task.factor_count, rows, value, product.products + e * product.row.choices);
        together.last[e] = rows[task.factor_count - 1];
      }
      BLCO_SUM* const out = task.output.matrix + (targets[i] - task.output.first_row) * product.row.stride;
      if (same == 4) {
        add_together<4>(together, product.row, out);
      } else if (same == 2) {
        add_together<2>(together, product.row, out);
      } else {
        add_together<1>(together, product.row, out);
      }
      i += same;
    }
  }
}

}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace blco {

HWY_EXPORT(add_kronecker);

template <class Sum, class Factor>
void ttmc_rows(const RowsTask<Sum, Factor>& task, const KroneckerTask<Sum>& product, NonzeroRange range) {
  HWY_DYNAMIC_DISPATCH(add_kronecker)(task, product, range);
}

template void ttmc_rows(const RowsTask<BLCO_SUM, BLCO_FACTOR>&, const KroneckerTask<BLCO_SUM>&, NonzeroRange);

}  // namespace blco
#endif  // HWY_ONCE
