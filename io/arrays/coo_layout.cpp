// Finds coordinates and values among named arrays, and refuses anything but a coordinate list.
#include "io/arrays/coo_layout.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "blco/layout.hpp"
#include "blco/refuse.hpp"

namespace blco {
namespace {

using Description = NamedArrays::Description;

[[noreturn]] void fail(const NamedArrays& arrays, const std::string& what) { refuse(arrays.place() + ": " + what); }

std::string describe(const std::vector<std::uint64_t>& extents) {
  std::string text = "(";
  for (std::size_t i = 0; i < extents.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(extents[i]);
  return text + ")";
}

void refuse_other_formats(const NamedArrays& arrays) {
  if (arrays.has("indptr") || arrays.has("pointers_to_1")) {
    fail(
        arrays,
        "the arrays hold compressed rows or columns (CSR, CSC, BSR or GCXS), not a coordinate list; convert the tensor "
        "with .tocoo() in scipy.sparse or .asformat('coo') in sparse, and save it again");
  }
  if (arrays.has("offsets")) {
    fail(
        arrays,
        "the arrays hold diagonals (DIA), not a coordinate list; convert the matrix with .tocoo() in scipy.sparse, and "
        "save it again");
  }
}

// Of a list; MATLAB has them as matrices of one row or column.
std::vector<std::uint64_t> list_extents(const std::vector<std::uint64_t>& extents) {
  const bool is_line = extents.size() == 2 && (extents[0] == 1 || extents[1] == 1);
  return is_line ? std::vector<std::uint64_t>{extents[0] * extents[1]} : extents;
}

// Empty if there is none.
std::string find_values(const NamedArrays& arrays) {
  for (const char* name : {"values", "data"}) {
    if (arrays.has(name)) return name;
  }
  return {};
}

CooPart make_part(const NamedArrays& arrays, const std::string& name, std::size_t first_mode, std::size_t modes,
                  const Description& description) {
  // Reals are integers all the same where they are whole, which the reader checks.
  if (modes > 0 && description.type.kind == NumberKind::boolean) {
    fail(arrays, "the array '" + name +
                     "' does not hold integers, but coordinates are integers; convert it with .astype('i8')");
  }
  return {name, first_mode, modes, description.type, false};
}

// A matrix, or a list if there is only one mode.
CooPart matrix_part(NamedArrays& arrays, const std::string& name, std::uint64_t count) {
  const Description description = arrays.describe(name);
  const std::vector<std::uint64_t>& extents = description.extents;
  if (extents.size() == 1 && extents[0] == count) return make_part(arrays, name, 0, 1, description);
  const bool by_entry = extents.size() == 2 && extents[0] == count;
  const bool by_mode = extents.size() == 2 && extents[1] == count;
  if (!by_entry && !by_mode) {
    fail(arrays, "the array '" + name + "' has the shape " + describe(extents) + ", but there are " +
                     std::to_string(count) + " values; its shape must be (values, modes) or (modes, values)");
  }
  const bool is_entry_major = by_entry && !(by_mode && name == "coords");
  const std::uint64_t modes = extents[is_entry_major ? 1 : 0];
  if (modes == 0 || modes > static_cast<std::uint64_t>(max_order)) {
    fail(arrays, "the array '" + name + "' has the shape " + describe(extents) + ", which means " +
                     std::to_string(modes) + " modes; a tensor has 1 to " + std::to_string(max_order));
  }
  CooPart part = make_part(arrays, name, 0, static_cast<std::size_t>(modes), description);
  part.is_entry_major = is_entry_major;
  return part;
}

std::vector<std::string> find_lists(const NamedArrays& arrays) {
  if (arrays.has("row") && arrays.has("col")) return {"row", "col"};
  for (const char* prefix : {"coords/", "indices/", "coords_", "indices_", "mode"}) {
    std::vector<std::string> names;
    for (int n = 0; n < max_order && arrays.has(prefix + std::to_string(n)); ++n) {
      names.push_back(prefix + std::to_string(n));
    }
    if (names.empty()) continue;
    for (auto n = static_cast<int>(names.size()) + 1; n < max_order; ++n) {
      if (!arrays.has(prefix + std::to_string(n))) continue;
      fail(arrays, "there is an array '" + std::string(prefix) + std::to_string(n) + "', but no '" + prefix +
                       std::to_string(names.size()) + "'; number the modes from 0 on without a gap");
    }
    if (arrays.has(prefix + std::to_string(max_order))) {
      fail(arrays, "there is an array '" + std::string(prefix) + std::to_string(max_order) +
                       "', but a tensor has at most " + std::to_string(max_order) + " modes; leave some out");
    }
    return names;
  }
  return {};
}

// The number of entries where only the arrays of coordinates tell; 0 if there are none.
std::uint64_t count_coordinates(NamedArrays& arrays, std::size_t order) {
  for (const char* name : {"coords", "indices"}) {
    if (!arrays.has(name)) continue;
    const std::vector<std::uint64_t> extents = arrays.describe(name).extents;
    if (extents.size() != 2) return extents.empty() ? 0 : extents[0];
    const bool fits_by_mode = extents[0] == order;
    const bool fits_by_entry = extents[1] == order;
    const bool is_coords = std::string_view(name) == "coords";
    return (is_coords ? fits_by_mode || !fits_by_entry : fits_by_mode && !fits_by_entry) ? extents[1] : extents[0];
  }
  const std::vector<std::string> names = find_lists(arrays);
  if (names.empty()) return 0;
  const std::vector<std::uint64_t> extents = list_extents(arrays.describe(names.front()).extents);
  return extents.empty() ? 0 : extents[0];
}

void add_coordinates(NamedArrays& arrays, CooLayout& layout) {
  for (const char* name : {"coords", "indices"}) {
    if (!arrays.has(name)) continue;
    layout.parts.push_back(matrix_part(arrays, name, layout.entry_count));
    return;
  }
  const std::vector<std::string> names = find_lists(arrays);
  if (names.empty()) {
    fail(arrays,
         "there are no arrays of coordinates; save them as 'coords' of shape (modes, values), or as 'row' and "
         "'col', or as 'mode0', 'mode1' and so on");
  }
  for (const std::string& name : names) {
    const Description description = arrays.describe(name);
    if (list_extents(description.extents) != std::vector<std::uint64_t>{layout.entry_count}) {
      fail(arrays, "the array '" + name + "' has the shape " + describe(description.extents) + ", but there are " +
                       std::to_string(layout.entry_count) + " values; it must have one coordinate per value");
    }
    layout.parts.push_back(make_part(arrays, name, layout.parts.size(), 1, description));
  }
}

void read_shape(NamedArrays& arrays, std::size_t order, CooLayout& layout) {
  if (!arrays.has("shape")) return;
  const Description description = arrays.describe("shape");
  if (description.type.kind == NumberKind::boolean ||
      list_extents(description.extents) != std::vector<std::uint64_t>{order}) {
    fail(arrays, "the array 'shape' has the shape " + describe(description.extents) + ", but must be a list of " +
                     std::to_string(order) + " integers, one length per mode; correct it, or leave it out");
  }
  const std::vector<std::byte> bytes = arrays.read_small("shape");
  visit_number(description.type, [&](const auto& load) {
    for (std::size_t n = 0; n < order; ++n) {
      const auto length = load(bytes.data() + n * description.type.bytes);
      const std::uint64_t whole = length > 0 ? index_of_number(length) : no_index;
      if (whole == no_index) {
        fail(arrays, "the array 'shape' has the length " + std::to_string(length) +
                         ", but a mode's length is a whole number from 1; correct it, or leave it out");
      }
      layout.shape.push_back(whole);
    }
  });
}

void check_fill_value(NamedArrays& arrays) {
  if (!arrays.has("fill_value")) return;
  const Description description = arrays.describe("fill_value");
  const bool is_scalar = std::ranges::all_of(description.extents, [](std::uint64_t extent) { return extent == 1; });
  double value = 1;
  if (is_scalar) {
    const std::vector<std::byte> bytes = arrays.read_small("fill_value");
    visit_number(description.type, [&](const auto& load) { value = static_cast<double>(load(bytes.data())); });
  }
  if (value != 0) {
    fail(arrays,
         "the fill value is not 0, but entries that a coordinate list leaves out are 0; subtract the fill value first");
  }
}

}  // namespace

CooLayout find_coo_layout(NamedArrays& arrays, std::size_t order) {
  refuse_other_formats(arrays);
  CooLayout layout;
  const std::string values = find_values(arrays);
  if (values.empty() && order == 0) {
    fail(arrays, "there is no array 'values' or 'data'; save the values under one of these names");
  }
  Description description;
  if (values.empty()) {
    layout.entry_count = count_coordinates(arrays, order);
  } else {
    description = arrays.describe(values);
    description.extents = list_extents(description.extents);
    if (description.extents.size() != 1) {
      fail(arrays, "the array '" + values + "' has the shape " + describe(description.extents) +
                       "; the values must be a list, one per nonzero");
    }
    layout.entry_count = description.extents[0];
  }
  add_coordinates(arrays, layout);
  const CooPart& last = layout.parts.back();
  read_shape(arrays, last.first_mode + last.modes, layout);
  check_fill_value(arrays);
  if (!values.empty()) layout.parts.push_back(make_part(arrays, values, 0, 0, description));
  return layout;
}

}  // namespace blco
