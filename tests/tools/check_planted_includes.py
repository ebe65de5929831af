#!/usr/bin/env python3
"""The layout check finds what is planted in small trees: wrong includes, unknown folders, crowded ones, long files.

usage: check_planted_includes.py CHECK_LAYOUT
"""
import pathlib
import subprocess
import sys
import tempfile

# Files of a tree with their text, and what the check must say of it; nothing where all is allowed.
TREES = [
    ({"engine/fit/a.cpp": '#include "engine/stream/b.hpp"\n', "engine/stream/b.hpp": '#include "io/file/c.hpp"\n',
      "io/file/c.hpp": '#include "blco/d.hpp"\n', "blco/d.hpp": "\n"}, None),
    ({"engine/stream/a.cpp": '#include "engine/fit/b.hpp"\n', "engine/fit/b.hpp": "\n"},
     "engine/stream/a.cpp: engine/fit/b.hpp: engine/stream/ must not know engine/fit/"),
    ({"engine/common/a.cpp": '#include "engine/ingest/b.hpp"\n', "engine/ingest/b.hpp": "\n"},
     "engine/common/ must not know engine/ingest/"),
    ({"io/text/a.cpp": '#include "io/hdf5/b.hpp"\n', "io/hdf5/b.hpp": "\n"}, "io/text/ must not know io/hdf5/"),
    ({"io/file/a.cpp": '#include "kernels/b.hpp"\n', "kernels/b.hpp": "\n"}, "io/file/ must not know kernels/"),
    ({"kernels/host/a.cpp": '#include "kernels/cuda/b.hpp"\n', "kernels/cuda/b.hpp": "\n"},
     "kernels/host/ must not know kernels/cuda/"),
    ({"tools/programs/a.cpp": '#include "engine/fit/b.hpp"\n', "engine/fit/b.hpp": "\n"},
     "tools/programs/ must not know engine/fit/"),
    ({"engine/attic/a.cpp": '#include "engine/attic/b.hpp"\n', "engine/attic/b.hpp": "\n"},
     "engine/attic: a folder that this check does not know"),
    ({"blco/a.cpp": '#include "blco/absent.hpp"\n'}, "does not exist"),
    ({"blco/a.cpp": '#include "blco/b.hpp"\n', "blco/b.hpp": "\n" * 401}, "blco/b.hpp: 401 lines"),
    ({"blco/a.cpp": '#include "blco/b0.hpp"\n', **{f"blco/b{n}.hpp": "\n" for n in range(45)}}, "blco: 46 source files"),
]


def main():
    failures = 0
    for files, expected in TREES:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            result = subprocess.run([sys.executable, sys.argv[1], folder], capture_output=True, text=True, check=False)
        lines = result.stdout.splitlines()
        right = result.returncode == 0 if expected is None else (
            result.returncode == 1 and len(lines) == 1 and expected in lines[0])
        if not right:
            failures += 1
            print(f"expected {expected}, got exit {result.returncode}:\n{result.stdout}{result.stderr}")
    print(f"{len(TREES)} trees, {failures} failures")
    return 1 if failures else 0


sys.exit(main())
