#include "engine/ingest/sort/word_sorter.hpp"

#include <hwy/contrib/sort/vqsort.h>

namespace blco {

struct WordSorter::Impl {
  hwy::Sorter sorter;
};

WordSorter::WordSorter() : impl_(std::make_unique<Impl>()) {}
WordSorter::~WordSorter() = default;
WordSorter::WordSorter(WordSorter&&) noexcept = default;
WordSorter& WordSorter::operator=(WordSorter&&) noexcept = default;

void WordSorter::sort(std::span<std::uint64_t> words) const {
  impl_->sorter(words.data(), words.size(), hwy::SortAscending());
}

}  // namespace blco
