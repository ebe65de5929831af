#include "engine/key_sorter.hpp"

#include <hwy/contrib/sort/vqsort.h>

namespace blco {

struct KeySorter::Impl {
  hwy::Sorter sorter;
};

KeySorter::KeySorter() : impl_(std::make_unique<Impl>()) {}
KeySorter::~KeySorter() = default;
KeySorter::KeySorter(KeySorter&&) noexcept = default;
KeySorter& KeySorter::operator=(KeySorter&&) noexcept = default;

void KeySorter::sort(std::span<std::uint64_t> keys) const {
  impl_->sorter(keys.data(), keys.size(), hwy::SortAscending());
}

}  // namespace blco
