"""h5py reads the columns of containers once blco is imported, whichever comes first."""
import subprocess
import sys

import blco
import numpy as np
import pytest

READ = """
import sys
{imports}
with h5py.File(sys.argv[1]) as file:
    print(*file["{column}"][:])
"""


@pytest.mark.parametrize("imports", ["import blco, h5py", "import h5py, blco", "import h5py; h5py.h5z.filter_avail(1); import blco"])
def test_h5py_reads_a_column(tmp_path, entries, imports):
    pytest.importorskip("h5py")
    path = tmp_path / "in.blco"
    tensor = blco.ingest(entries.coords, path, values=entries.values, compression="small")
    code = READ.format(imports=imports, column="value")
    output = subprocess.run([sys.executable, "-c", code, path], check=True, capture_output=True, text=True).stdout
    np.testing.assert_array_equal(np.array(output.split(), float), tensor.values)
