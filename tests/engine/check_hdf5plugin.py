"""The zstd filter of PyPI's hdf5plugin serves for the zstd part of a container, beside our frame filter.

usage: check_hdf5plugin.py BIN_FOLDER PLUGIN_FOLDER
"""
import os
import pathlib
import shutil
import sys
import tempfile

from blco_commands import Commands, skip


def main():
    commands = Commands(sys.argv[1])
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        frames = folder / "plugins"
        frames.mkdir()
        shutil.copy(pathlib.Path(sys.argv[2]) / "libblco_frame_filter.so", frames)
        os.environ["HDF5_PLUGIN_PATH"] = str(frames)
        try:
            import hdf5plugin
            import h5py
            import numpy as np
        except ImportError as error:
            skip(f"hdf5plugin, h5py and numpy are needed (pip install hdf5plugin): {error}")
        commands.run("blco-gen", "--shape", "200x24x1000x1000", "--nnz", 300000, "--skew", 3, "--counts", "-o", folder / "in.tns")
        commands.run("blco-ingest", folder / "in.tns", "-o", folder / "t.blco", "--compression", "zstd:9", "--chunk-nnz", 30000)
        with h5py.File(folder / "t.blco") as file:
            compressed = (file["chunks/filter_mask"][:] == 0) & (file["chunks/stored_bytes"][:] > 0)
            index, value = file["index"][:], file["value"][:]
        if not compressed.any():
            sys.exit("no chunk is compressed, so nothing was shown")
        # blco-export reads without HDF5's filters.
        commands.run("blco-export", folder / "t.blco", "-o", folder / "out.tns")
        if not np.array_equal(value, np.loadtxt(folder / "out.tns", usecols=4)) or (index[1:] <= index[:-1]).any():
            sys.exit("hdf5plugin's zstd gives something else")
        print(f"hdf5plugin {hdf5plugin.version} reads {np.count_nonzero(compressed)} compressed columns of chunks")


main()
