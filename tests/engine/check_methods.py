"""The methods of blco-cpd beside other implementations, from the same start.

usage: check_methods.py BIN_FOLDER numpy DATA_FOLDER
       check_methods.py BIN_FOLDER peers PEERS_FOLDER

`numpy`: loops in numpy, which give the same numbers; DATA_FOLDER has real tensors. `peers`: pyttb and tensorly, from
the virtual environment PEERS_FOLDER that tools/test.sh makes; skipped where there is none.
"""
import importlib
import os
import pathlib
import sys
import tempfile

from blco_commands import Commands, skip

MODULES = ("check_methods_rows", "check_methods_momentum", "check_methods_ranks", "check_methods_counts", "check_methods_gcp",
           "check_methods_tucker", "check_methods_units")


def use_environment(folder):
    """Goes on in the environment's own interpreter, which finds its packages."""
    interpreter = pathlib.Path(folder) / "bin" / "python"
    if pathlib.Path(sys.prefix).resolve() == pathlib.Path(folder).resolve():
        return
    if not interpreter.exists():
        skip(f"pyttb and tensorly are not in {folder}, because tools/test.sh has not made it or PyPI is out of reach")
    os.execv(interpreter, [str(interpreter), *sys.argv])


def main():
    if sys.argv[2] == "peers":
        use_environment(sys.argv[3])
    try:
        from method_oracles import Bench
    except ImportError as error:
        skip(f"numpy and h5py are needed: {error}")
    function = {"numpy": "checks", "peers": "peer_checks"}[sys.argv[2]]
    with tempfile.TemporaryDirectory() as temporary:
        bench = Bench(Commands(sys.argv[1]), pathlib.Path(temporary), pathlib.Path(sys.argv[3]))
        for name in MODULES:
            checks = getattr(importlib.import_module(name), function, None)
            if checks:
                checks(bench)
    sys.exit(f"{bench.failures} comparisons failed" if bench.failures else 0)


main()
