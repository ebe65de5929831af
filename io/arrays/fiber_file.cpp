#include "io/arrays/fiber_file.hpp"

#include <algorithm>
#include <array>

#include "io/hdf5/hdf5_data.hpp"
#include "io/hdf5/hdf5_output.hpp"

namespace blco {
namespace {

constexpr std::uint64_t chunk_numbers = std::uint64_t{1} << 15;

// Of rows to come, `width` numbers each.
Hdf5Id create_growing(const Hdf5Place& place, hid_t root, const char* name, hid_t type, std::uint64_t width) {
  const std::array<hsize_t, 2> none{0, width};
  const std::array<hsize_t, 2> most{H5S_UNLIMITED, width};
  const std::array<hsize_t, 2> chunk{std::max<std::uint64_t>(1, chunk_numbers / width), width};
  const Hdf5Id space(checked(H5Screate_simple(2, none.data(), most.data()), place, "cannot make the space of", name),
                     H5Sclose);
  const Hdf5Id creation(checked(H5Pcreate(H5P_DATASET_CREATE), place, "cannot make the properties of", name), H5Pclose);
  checked(H5Pset_chunk(creation.get(), 2, chunk.data()), place, "cannot set the chunk size of", name);
  checked(H5Pset_obj_track_times(creation.get(), false), place, "cannot turn object times off");
  return {checked(H5Dcreate2(root, name, type, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT), place,
                  "cannot create the dataset", name),
          H5Dclose};
}

}  // namespace

struct FiberFileWriter::Impl {
  Impl(const std::filesystem::path& path, const std::vector<std::uint64_t>& shape, std::uint64_t mode,
       std::uint64_t numbers)
      : output({path, ErrorKind::io}), columns(numbers), others(shape.size() - 1) {
    const Hdf5Place& place = output.place();
    const hid_t root = output.root();
    write_text(place, root, "format", "blco-fibers");
    write_attribute(place, root, "version", std::uint32_t{1});
    write_attribute(place, root, "shape", shape);
    write_attribute(place, root, "mode", mode);
    coordinates = create_growing(place, root, "coordinates", H5T_STD_U64LE, others);
    rows = create_growing(place, root, "rows", H5T_IEEE_F64LE, columns);
  }

  template <class T>
  void append(const Hdf5Id& dataset, std::uint64_t width, std::span<const T> numbers, const char* name) {
    const Hdf5Place& place = output.place();
    const std::uint64_t count = numbers.size() / width;
    const std::array<hsize_t, 2> extent{fibers + count, width};
    output.reserve(numbers.size_bytes() + chunk_numbers * sizeof(T));
    checked(H5Dset_extent(dataset.get(), extent.data()), place, "cannot extend the dataset", name);
    const Selection part(place, dataset.get(), {fibers, 0}, {count, width}, name);
    checked(H5Dwrite(dataset.get(), number_type<T>(), part.memory.get(), part.file.get(), H5P_DEFAULT, numbers.data()),
            place, "cannot write the dataset", name);
  }

  QuietHdf5 quiet;
  Hdf5Output output;
  Hdf5Id coordinates;
  Hdf5Id rows;
  std::uint64_t columns;
  std::uint64_t others;  // modes
  std::uint64_t fibers = 0;
  std::vector<std::uint64_t> points;  // of a block, row-major
};

FiberFileWriter::FiberFileWriter(const std::filesystem::path& path, const std::vector<std::uint64_t>& shape,
                                 std::uint64_t mode, std::uint64_t columns)
    : impl_(std::make_unique<Impl>(path, shape, mode, columns)) {}

FiberFileWriter::~FiberFileWriter() {
  if (impl_->output.is_open()) impl_->output.abandon();
}

void FiberFileWriter::add(std::span<const std::span<const std::uint64_t>> coordinates, std::span<const double> rows) {
  Impl& file = *impl_;
  const std::size_t count = rows.size() / static_cast<std::size_t>(file.columns);
  if (count == 0) return;
  file.points.resize(count * coordinates.size());
  for (std::size_t n = 0; n < coordinates.size(); ++n) {
    for (std::size_t f = 0; f < count; ++f) file.points[f * coordinates.size() + n] = coordinates[n][f];
  }
  file.append<std::uint64_t>(file.coordinates, file.others, file.points, "coordinates");
  file.append<double>(file.rows, file.columns, rows, "rows");
  file.fibers += count;
}

void FiberFileWriter::publish() {
  impl_->coordinates.close(impl_->output.place(), "cannot close the dataset");
  impl_->rows.close(impl_->output.place(), "cannot close the dataset");
  impl_->output.publish();
}

}  // namespace blco
