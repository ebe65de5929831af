#!/usr/bin/env python3
"""The layout check finds what is planted in small trees: a mistake against each of its rules.

usage: check_planted_includes.py CHECK_LAYOUT
"""
import pathlib
import re
import subprocess
import sys
import tempfile

# Files of a tree with their text, and what the check must say of it; nothing where all is allowed. A test is added that
# includes all headers, but for public ones and those called "part".
LONG = "int x;\n" * 501
TREES = [
    ({"engine/work/a.cpp": '#include "engine/stream/b.hpp"\n', "engine/stream/b.hpp": '#include "io/file/c.hpp"\n',
      "io/file/c.hpp": '#include "blco/d.hpp"\n', "blco/d.hpp": "\n"}, None),
    ({"engine/stream/a.cpp": '#include "engine/fit/b.hpp"\n', "engine/fit/b.hpp": "\n"},
     "engine/stream/a.cpp: engine/fit/b.hpp: engine/stream/ must not know engine/fit/"),
    ({"engine/common/a.cpp": '#include "engine/ingest/b.hpp"\n', "engine/ingest/b.hpp": "\n"},
     "engine/common/ must not know engine/ingest/"),
    ({"io/text/a.cpp": '#include "io/hdf5/b.hpp"\n', "io/hdf5/b.hpp": "\n"}, "io/text/ must not know io/hdf5/"),
    ({"io/file/a.cpp": '#include "kernels/b.hpp"\n', "kernels/b.hpp": "\n"}, "io/file/ must not know kernels/"),
    ({"kernels/host/a.cpp": '#include "kernels/cuda/b.hpp"\n', "kernels/cuda/b.hpp": "\n"},
     "kernels/host/ must not know kernels/cuda/"),
    ({"engine/stream/a.cpp": '#include "kernels/host/b.hpp"\n', "kernels/host/b.hpp": "\n"},
     "engine/stream/ must not know kernels/host/"),
    ({"kernels/a.cpp": '#include "kernels/host/b.hpp"\n', "kernels/host/b.hpp": "\n"},
     "kernels/ must not know kernels/host/"),
    ({"engine/fit/methods/a.cpp": "void f(Backend& backend);\n"}, "engine/fit/methods/a.cpp: methods know a WorkerGroup"),
    ({"engine/fit/methods/a.cpp": "// no Backend\n"}, None),
    ({"tools/programs/a.cpp": '#include "engine/fit/b.hpp"\n', "engine/fit/b.hpp": "\n"},
     "tools/programs/ must not know engine/fit/"),
    ({"engine/attic/a.cpp": '#include "engine/attic/b.hpp"\n', "engine/attic/b.hpp": "\n"},
     "engine/attic: a folder that this check does not know"),
    ({"blco/a.cpp": '#include "blco/absent.hpp"\n'}, "does not exist"),
    ({"blco/a.cpp": '#include <thread>\n'}, "blco/a.cpp: thread: blco/ is pure computation"),
    ({"io/file/a.cpp": "std::jthread thread;\n"}, "io/file/a.cpp: threads live in engine/"),
    ({"engine/fit/a.cpp": "// why\nstd::exit(1);\n"}, "engine/fit/a.cpp:2: std::exit: the library does not print"),
    ({"attic/a.txt": ""}, "attic: unexpected at the top level"),
    ({"pyproject.toml": "", "tools/python/a.cpp": "#include <blco/cpd.hpp>\n", "engine/include/blco/cpd.hpp": ""}, None),
    ({"tools/python/a.cpp": '#include "engine/fit/b.hpp"\n', "engine/fit/b.hpp": ""}, "tools/python/ must not know"),
    ({"io/file/a.cpp": "", "io/text/a.cpp": ""}, "a.cpp: the name of io/file/a.cpp and io/text/a.cpp"),
    # Public headers
    ({"engine/include/blco/predict.hpp": "#include <blco/model.hpp>\n", "engine/include/blco/model.hpp": "",
      "engine/report/a.cpp": "#include <blco/predict.hpp>\n"}, None),
    ({"engine/common/a.cpp": "#include <blco/model.hpp>\n", "engine/include/blco/model.hpp": ""},
     "engine/common/a.cpp: blco/model.hpp: engine/common/ must not know engine/model/, whose public header this is"),
    # A circle: predict includes a header of model, and model a public header of predict.
    ({"engine/predict/a.cpp": '#include "engine/model/b.hpp"\n', "engine/model/b.hpp": "",
      "engine/model/c.cpp": "#include <blco/predict.hpp>\n", "engine/include/blco/predict.hpp": ""},
     "engine/model/c.cpp: blco/predict.hpp: engine/model/ must not know engine/predict/, whose public header this is"),
    # The same, from one public header to another.
    ({"engine/include/blco/predict.hpp": "#include <blco/model.hpp>\n",
      "engine/include/blco/model.hpp": "#include <blco/predict.hpp>\n"},
     "engine/include/blco/model.hpp: blco/predict.hpp: engine/model/ must not know engine/predict/"),
    ({"engine/include/blco/b.hpp": ""}, "engine/include/blco/b.hpp: a public header without a room"),
    # Names of tests
    ({"tests/io/a/test_a.cpp": "int f(int) {\n}\n", "tests/io/b/test_b.cpp": "int f(int) {\n}\n"}, "both define int f(int)"),
    ({"tests/io/test_a.cpp": "int f() {\n}\nint f(int) {\n}\n", "tests/engine/test_b.cpp": "int f() {\n}\n"}, None),
    ({"tests/engine/test_a.cpp": '#include "tests/b.hpp"\n', "tests/b.hpp": "namespace blco::testing {\n}\n"},
     "tests/engine/test_a.cpp: tests/b.hpp: opens blco::testing"),
    ({"tests/engine/test_a.cpp": '#include "tests/b.hpp"\n', "tests/b.hpp": "namespace blco {\n}\n"}, None),
    # CUDA
    ({"engine/fit/a.cpp": "#include <cuda_runtime.h>\n"}, "engine/fit/a.cpp: cuda_runtime.h: CUDA lives in kernels/cuda/"),
    ({"engine/fit/a.cpp": "cudaStream_t stream;\n"}, "engine/fit/a.cpp: CUDA lives in kernels/cuda/"),
    ({"engine/stream/a.cpp": "#ifdef BLCO_CUDA\n#endif\n"}, "engine/stream/a.cpp: CUDA lives in kernels/cuda/"),
    ({"kernels/host/a.cu": ""}, "kernels/host/a.cu: CUDA lives in kernels/cuda/"),
    ({"engine/fit/a.cpp": "// cudaMalloc\n", "kernels/cuda/a.cu": "#include <cub/cub.cuh>\n__global__ void f() {}\n"}, None),
    # Lengths
    ({"blco/b.hpp": LONG}, "blco/b.hpp: 501 lines"),
    ({"tests/tools/a.py": LONG}, "tests/tools/a.py: 501 lines"),
    ({"blco/b.hpp": "// One table.\n// Over 500 lines: its rows are generated.\n" + LONG}, None),
    ({"blco/b.hpp": "// Over 500 lines:\n" + LONG}, "blco/b.hpp: 502 lines"),
    ({"blco/b.hpp": LONG + "// Over 500 lines: too late.\n"}, "blco/b.hpp: 502 lines"),
    # Headers that are parts
    ({"io/file/a.cpp": '#include "io/file/part.hpp"\n', "io/file/part.hpp": ""},
     "io/file/part.hpp: io/file/a.cpp alone includes it"),
    ({"kernels/cuda/a.cuh": '#include "kernels/cuda/part.cuh"\n', "kernels/cuda/part.cuh": ""},
     "kernels/cuda/part.cuh: kernels/cuda/a.cuh alone includes it"),
    ({"io/file/part.hpp": ""}, "io/file/part.hpp: no source includes it"),
    ({"io/file/part.cpp": '#include "io/file/part.hpp"\n', "io/file/a.cpp": '#include "io/file/part.hpp"\n',
      "io/file/part.hpp": ""}, None),
    ({"tests/io/test_a.cpp": '#include "io/file/part.hpp"\n', "io/file/part.hpp": ""}, None),
    ({"io/file/a.cpp": '#include "io/file/part.hpp"\n' + "int x;\n" * 499, "io/file/part.hpp": "int y;\n"}, None),
    ({"engine/include/blco/cpd.hpp": "#include <vector>\n"}, None),
    # Instances
    ({"kernels/host/a.cpp": '// f\n#include "kernels/host/b.hpp"\nnamespace blco {\n\ntemplate int f<A, B>(int);\n\n}\n',
      "kernels/host/b.hpp": ""}, "kernels/host/a.cpp: it only instantiates a template"),
    ({"kernels/host/a.cpp": "template <class T>\nT f(T t) {\n  return t;\n}\ntemplate int f(int);\n"}, None),
    # Crowded folders
    ({f"blco/b{n}.hpp": "" for n in range(46)}, "note: blco: 46 source files"),
]


# What allows a circle if it takes the place of a text of the check, and what the check must say then.
ARROWS = [
    ('"engine/model": [', '"engine/model": ["engine/predict", ',
     "MAY_INCLUDE: a circle: engine/model -> engine/predict -> engine/model"),
    ('"engine/ingest/sort": [', '"engine/ingest/sort": ["engine/ingest", ',
     "MAY_INCLUDE: a circle: engine/ingest -> engine/ingest/input -> engine/ingest/sort -> engine/ingest"),
]


def check_arrows(check):
    """How often the check overlooks a circle that its own table allows."""
    failures = 0
    text = pathlib.Path(check).read_text(encoding="utf-8")
    for right, wrong, expected in ARROWS:
        with tempfile.TemporaryDirectory() as folder:
            planted = pathlib.Path(folder, "planted.py")
            planted.write_text(text.replace(right, wrong), encoding="utf-8")
            tree = pathlib.Path(folder, "tree")
            (tree / "blco").mkdir(parents=True)
            (tree / "blco" / "a.cpp").write_text("#include <vector>\n", encoding="utf-8")
            result = subprocess.run([sys.executable, planted, tree], capture_output=True, text=True, check=False)
        if result.returncode != 1 or result.stdout.splitlines()[:-1] != [expected]:
            failures += 1
            print(f"expected {expected}, got exit {result.returncode}:\n{result.stdout}{result.stderr}")
    return failures


def main():
    failures = check_arrows(sys.argv[1])
    for files, expected in TREES:
        with tempfile.TemporaryDirectory() as folder:
            included = "".join(f'#include "{name}"\n' for name in files
                               if re.search(r"(?<!part)\.(hpp|cuh)$", name) and not name.startswith("engine/include/"))
            for name, text in {**files, "tests/test_headers.cpp": included + "#include <vector>\n"}.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            result = subprocess.run([sys.executable, sys.argv[1], folder], capture_output=True, text=True, check=False)
        *lines, _ = result.stdout.splitlines()
        is_problem = expected is not None and not expected.startswith("note:")
        right = result.returncode == int(is_problem) and len(lines) == int(expected is not None) and all(
            expected in line for line in lines)
        if not right:
            failures += 1
            print(f"expected {expected}, got exit {result.returncode}:\n{result.stdout}{result.stderr}")
    print(f"{len(TREES)} trees, {len(ARROWS)} tables, {failures} failures")
    return 1 if failures else 0


sys.exit(main())
