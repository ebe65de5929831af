"""The module beside packages that bring an HDF5 or a zstd of their own, whichever comes first and whoever sees whose
symbols.
"""
import pathlib
import shutil
import subprocess
import sys

import pytest

from blco import _blco

# Each does what needs its own HDF5 or zstd, and reads what another has written.
SCRIPT = """
import os, sys
if {shared}:
    sys.setdlopenflags(sys.getdlopenflags() | os.RTLD_GLOBAL)
import {imports}
import pyarrow.parquet
import numpy as np

folder = sys.argv[1]
coords = np.stack(np.unravel_index(np.arange(0, 3000, 7), (10, 20, 15)), axis=1)
values = np.arange(len(coords)) + 0.5

with h5py.File(folder + "/coo.h5", "w") as file:
    for n in range(3):
        file.create_dataset(f"coords/{{n}}", data=coords[:, n], compression="gzip")
    file.create_dataset("values", data=values, compression="gzip")
    file.create_dataset("again", data=values, **hdf5plugin.Zstd())
with h5py.File(folder + "/coo.h5") as file:
    assert (file["again"][:] == values).all()
pyarrow.parquet.write_table(pyarrow.table({{"a": coords[:, 0], "b": coords[:, 1], "n": values}}),
                            folder + "/in.parquet", compression="zstd")

tensor = blco.ingest(folder + "/coo.h5", folder + "/out.blco", compression="small")
again = blco.ingest(folder + "/in.parquet", folder + "/table.blco", modes=["a", "b"], value="n")
model = blco.fit_cpd(tensor, 2, max_sweeps=2)
model.save(folder + "/model.h5")
assert tensor.values.sum() == again.values.sum() == values.sum()

with h5py.File(folder + "/out.blco") as file:
    assert (file["value"][:] == tensor.values).all()
with h5py.File(folder + "/model.h5") as file:
    assert (file["factors/1"][:] == model.factors[1]).all()
assert (blco.load(folder + "/model.h5").factors[2] == model.factors[2]).all()
assert pyarrow.parquet.read_table(folder + "/in.parquet")["n"].to_numpy().sum() == values.sum()
print("well")
"""


@pytest.mark.parametrize("shared", [False, True], ids=["local", "global"])
@pytest.mark.parametrize("imports", ["blco, h5py, hdf5plugin, pyarrow", "pyarrow, hdf5plugin, h5py, blco"])
def test_all_work_together(imports, shared, tmp_path):
    for name in ("h5py", "hdf5plugin", "pyarrow"):
        pytest.importorskip(name)
    if shared and "libhdf5" in subprocess.check_output(["ldd", _blco.__file__], text=True):
        pytest.skip("this build shares the system's HDF5; that of tools/build_wheel.sh has its own")

    done = subprocess.run([sys.executable, "-c", SCRIPT.format(imports=imports, shared=shared), tmp_path],
                          capture_output=True, text=True)

    assert (done.returncode, done.stdout) == (0, "well\n"), done.stderr


@pytest.mark.skipif(not shutil.which("nm"), reason="no nm to look with")
def test_the_extension_shows_one_symbol():
    shown = subprocess.run(["nm", "-D", "--defined-only", _blco.__file__], check=True, capture_output=True, text=True)

    assert [line.split()[-1] for line in shown.stdout.splitlines()] == ["PyInit__blco"]
    assert pathlib.Path(_blco.__file__).name == "_blco.abi3.so"
