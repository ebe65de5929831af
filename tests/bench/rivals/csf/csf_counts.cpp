#include "tests/bench/rivals/csf/csf_counts.hpp"

#include <numeric>

namespace blco {

std::uint64_t csf_words(std::span<const std::uint64_t> nodes) {
  return 2 * std::accumulate(nodes.begin(), nodes.end() - 1, std::uint64_t{0}) + nodes.back();
}

std::uint64_t mm_csf_words(std::span<const std::uint64_t> nodes) {
  return nodes.size() == 2 ? csf_words(nodes) : csf_words(nodes.subspan(1)) + nodes[1];
}

std::uint64_t csl_words(std::uint64_t slices, std::uint64_t nnz, std::uint64_t order) {
  return 2 * slices + (order - 1) * nnz;
}

std::uint64_t coo_words(std::uint64_t nnz, std::uint64_t order) { return order * nnz; }

CsfWork& CsfWork::operator+=(const CsfWork& other) {
  flops += other.flops;
  row_reads += other.row_reads;
  row_writes += other.row_writes;
  return *this;
}

CsfWork csf_work(std::span<const std::uint64_t> nodes, std::size_t target) {
  CsfWork work;
  work.row_writes = nodes[target];
  work.flops = (target + 1) * nodes[target];
  for (std::size_t level = 0; level < nodes.size(); ++level) {
    if (level != target) work.row_reads += nodes[level];
    if (level > target) work.flops += 2 * nodes[level];
  }
  return work;
}

CsfWork csl_work(std::uint64_t slices, std::uint64_t nnz, std::uint64_t order) {
  return {order * nnz + slices, (order - 1) * nnz, slices};
}

CsfWork coo_work(std::uint64_t nnz, std::uint64_t order) { return {order * nnz, (order - 1) * nnz, nnz}; }

}  // namespace blco
