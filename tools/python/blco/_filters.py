"""The HDF5 filters of containers, so that h5py reads their columns."""

import os
import pathlib
import sys

FOLDER = pathlib.Path(__file__).parent / "hdf5_plugins"
# What HDF5 looks at where nothing else is named.
USUAL = "/usr/local/hdf5/lib/plugin"


def register() -> None:
    """HDF5 reads the environment when it starts; an h5py that has started is told."""
    if "h5py" in sys.modules:
        sys.modules["h5py"].h5pl.append(str(FOLDER).encode())
    else:
        os.environ["HDF5_PLUGIN_PATH"] = os.pathsep.join([os.environ.get("HDF5_PLUGIN_PATH", USUAL), str(FOLDER)])
