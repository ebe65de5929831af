// Exports models as tables and NumPy arrays or text; export_text.hpp exports tensors.
#pragma once

#include <blco/export_text.hpp>
#include <blco/model.hpp>
#include <blco/progress.hpp>
#include <blco/tucker_model.hpp>
#include <filesystem>
#include <vector>

namespace blco {

enum class ArrayFormat { npy, text };

// Writes a model into `folder`, which is created if needed: weights (R), fit_history (one per sweep; omitted if empty),
// and per mode n its factor (I_n x R) as mode0_NAME, or mode0 for a mode without a name. Unsafe characters of a name
// become _. Beside each factor a table with the same numbers: mode0_NAME.csv, whose header has the mode's name (or
// "index"), component_0, component_1, ...; a row has the label, or else the coordinate counted from `index_base`, and
// the numbers. Labels of a mode also go to mode0_NAME.labels.txt, one per line, unless one of them has a line break.
// The arrays are .npy (NumPy, little-endian f64, row-major) or .txt (one row per line, blanks between numbers);
// numpy.loadtxt reads the latter. Numbers in text have the shortest form that reads back as the same double. Existing
// files of these names are replaced once all new ones are complete; an error before that leaves none of the new files.
// Other files in the folder stay.
// Returns the paths: arrays, tables, labels. Throws Error: invalid_argument (sizes that disagree, index_base), io,
// cancelled.
std::vector<std::filesystem::path> export_model(const CpdModel& model, const std::filesystem::path& folder,
                                                ArrayFormat format = ArrayFormat::npy,
                                                const ProgressCallback& progress = {}, int index_base = 1);
// The same of a Tucker model: core (R_1 x ... x R_N; as text a line per choice of all columns but the last mode's),
// fit_history, and per mode its matrix (I_n x R_n) and table, whose columns are column_0, column_1, ...
std::vector<std::filesystem::path> export_model(const TuckerModel& model, const std::filesystem::path& folder,
                                                ArrayFormat format = ArrayFormat::npy,
                                                const ProgressCallback& progress = {}, int index_base = 1);

}  // namespace blco
